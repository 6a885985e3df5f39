"""Crawls whose items are dropped, fail, or are never stored."""

from __future__ import annotations

from torture.pages import DELIVERABLE, EVERY, group_of
from torture.rows import Cases
from torture.scene import UNRELIABLE


def test_a_feed_that_can_not_be_stored(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        here = scene()
        here.crawl(seed, FEEDS={"broken://feed": {"format": "jsonlines"}})
        assert here.runs[0].delivered == []
        here.crawl(seed + 100, SIMHASH_KNOWN="pass" if seed % 2 else "drop")
        cases.append(here.row("a feed whose storage fails", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_later_pipelines_that_drop_and_fail(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        here = scene()
        run = here.crawl(seed, **UNRELIABLE)
        assert set(map(group_of, run.delivered)) == DELIVERABLE
        cases.append(here.row("later pipelines drop 30 % and fail on 10 %", DELIVERABLE))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
