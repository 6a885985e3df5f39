"""Crawls that are killed at random but seeded moments, until one is left to end."""

from __future__ import annotations

import random

from torture.pages import DELIVERABLE, EVERY, LISTS
from torture.rows import Cases
from torture.scene import UNRELIABLE, at_a_moment

#: As many items at most are on their way at once.
IN_FLIGHT = 16


def test_killed_at_random_moments(scene, table, seeds):
    """What a killed crawl had claimed is released: not even with "drop" is it taken for stored."""
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        settings = UNRELIABLE if seed % 2 else {}
        for number in range(4):
            run = here.start(seed * 10 + number, **settings)
            at_a_moment(here, run, chance)
            run.kill()
        same = "pass" if seed % 4 == 3 else "drop"
        here.crawl(seed * 10 + 9, SIMHASH_KNOWN=same, **settings)
        cases.append(here.row("kill -9", DELIVERABLE if seed % 2 else EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_killed_where_confirmed_claims_are_kept(scene, table, seeds):
    """For pipelines that store at once: what they stored before the end is not stored again.

    What was stored when its claim was not confirmed yet is stored once more; that, too, is reported
    page by page.
    """
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        settings = {
            "SIMHASH_ON_CRASH": "keep",
            "SIMHASH_KNOWN": "drop",
            "ITEM_PIPELINES": {"torture.crawler.Durable": 500},
            "FEEDS": {},
        }
        again: dict[int, set[str]] = {}
        for number in range(2):
            run = here.start(seed * 10 + number, **settings)
            at_a_moment(here, run, chance)
            run.kill()
            again[number] = set(run.delivered) - here.claimed(run, confirmed=True)
            assert len(again[number]) <= 2 * IN_FLIGHT
        here.crawl(seed * 10 + 9, **settings)
        case = "kill -9, stored at once, SIMHASH_ON_CRASH = keep"
        cases.append(here.row(case, EVERY, excused=again, keeps=True))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_killed_and_resumed(scene, table, seeds):
    """Scrapy forgets a part of the queue then; a crawl without it gets what is missing."""
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        # Scrapy also fetches again what it has forgotten to have fetched.
        settings = {"SIMHASH_KNOWN": "drop"}
        run = here.start(seed, JOBDIR=str(here.folder / "job"), **settings)
        at_a_moment(here, run, chance)
        run.kill()
        here.crawl(seed, JOBDIR=str(here.folder / "job"), **settings)
        here.crawl(seed + 100, **settings)
        cases.append(here.row("JOBDIR, kill -9 and resumed, then without", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_four_crawls_two_of_which_are_killed(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        with here.together():
            for number in range(4):
                here.start(seed * 10 + number, query=f"?from={number}")
        crawls = here.runs[:4]
        for run in crawls[:2]:
            at_a_moment(here, run, chance)
            run.kill()
        if seed % 2:
            # The next crawl comes only when the others are done.
            for run in crawls:
                run.wait()
        again = [
            here.start(seed * 10 + 5 + number, query=f"?from={number}", SIMHASH_KNOWN="drop")
            for number in range(2)
        ]
        for run in crawls + again:
            run.wait()
        cases.append(here.row("4 crawls, 2 of them killed and started again", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_lists_killed_at_random_moments(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        settings = UNRELIABLE if seed % 2 else {}
        for number in range(3):
            run = here.start(seed * 10 + number, LISTS, **settings)
            at_a_moment(here, run, chance, LISTS)
            run.kill()
        here.start(seed * 10 + 9, LISTS, SIMHASH_KNOWN="drop", **settings).wait()
        cases.append(here.row("lists, kill -9", DELIVERABLE if seed % 2 else EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_four_crawls_of_lists_two_of_which_are_killed(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        with here.together():
            for number in range(4):
                here.start(seed * 10 + number, LISTS, query=f"?from={number}")
        crawls = here.runs[:4]
        for run in crawls[:2]:
            at_a_moment(here, run, chance, LISTS)
            run.kill()
        again = [
            here.start(seed * 10 + 5 + number, LISTS, query=f"?from={number}", SIMHASH_KNOWN="drop")
            for number in range(2)
        ]
        for run in crawls + again:
            run.wait()
        cases.append(here.row("lists, 4 crawls, 2 of them killed and started again", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
