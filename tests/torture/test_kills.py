"""Crawls that are killed at random but seeded moments, until one is left to end."""

from __future__ import annotations

import random

import pytest
from torture.pages import DELIVERABLE, EVERY, LISTS, PATHS
from torture.rows import Cases
from torture.scene import UNRELIABLE, at_a_moment

#: As many items at most are on their way at once.
IN_FLIGHT = 16


#: Pages, or lists of entries.
on_each_site = pytest.mark.parametrize(("kind", "paths"), [("", PATHS), ("lists, ", LISTS)])


@on_each_site
def test_killed_at_random_moments(scene, table, seeds, kind, paths):
    """What a killed crawl had claimed is released: not even with "drop" is it taken for stored."""
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        settings = UNRELIABLE if seed % 2 else {}
        for number in range(4):
            run = here.start(seed * 10 + number, paths, **settings)
            at_a_moment(here, run, chance, paths)
            run.kill()
            if here.settled():
                # It ended before. A second crawl to the end is a visit of its own.
                break
        same = "pass" if seed % 4 == 3 and paths is PATHS else "drop"
        here.start(seed * 10 + 9, paths, SIMHASH_KNOWN=same, **settings).wait()
        cases.append(here.row(f"{kind}kill -9", DELIVERABLE if seed % 2 else EVERY))
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


@on_each_site
def test_four_crawls_two_of_which_are_killed(scene, table, seeds, kind, paths):
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        with here.together():
            for number in range(4):
                here.start(seed * 10 + number, paths, query=f"?from={number}")
        crawls = here.runs[:4]
        for run in crawls[:2]:
            at_a_moment(here, run, chance, paths)
            run.kill()
        if seed % 2:
            # The next crawl comes only when the others are done.
            for run in crawls:
                run.wait()
        again = [
            here.start(seed * 10 + 5 + number, paths, query=f"?from={number}", SIMHASH_KNOWN="drop")
            for number in range(2)
        ]
        for run in crawls + again:
            run.wait()
        cases.append(here.row(f"{kind}4 crawls, 2 of them killed and started again", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
