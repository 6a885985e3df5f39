"""The names of stats are limited, and the line of a drop is harmless."""

from __future__ import annotations

import pytest
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.deduplicator import _message
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.index.verdict import ClaimRow, Document, Match, Verdict
from scrapy_simhash.simhash.scheme import Sketch

HOSTILE = "http://ann:hush-hush@a.test/\x1b[2J\r\nCRITICAL: all is lost\u202e"

COUNTS = {
    "kept/other_facts/": lambda stats, name: stats.count_verdict(
        "http://a.example/", Verdict("unique", differs=name)
    ),
    "index/errors/": lambda stats, name: stats.count_error(type(name, (Exception,), {})()),
}


@pytest.mark.parametrize("kind", COUNTS)
def test_names_that_are_chosen_elsewhere_are_limited(kind):
    stats = CrawlStats(StatsCollector(get_crawler()))
    for number in range(400):
        COUNTS[kind](stats, f"x{number}/y{number}")
        COUNTS[kind](stats, "x7/y7")
    found = stats.below(kind)
    assert found["x7/y7"] == 401
    assert found["(others)"] == 300
    assert (len(found), sum(found.values())) == (101, 800)


@pytest.mark.parametrize("exact", [False, True])
def test_a_drop_is_logged_in_one_harmless_line(exact):
    document = Document(Sketch(1, 9, None), HOSTILE, HOSTILE, exact=exact)
    match = Match(ClaimRow(key=HOSTILE, url=HOSTILE), 0, 1.0)
    message = _message("duplicate", document, match)
    assert message.isprintable()
    assert message.count("http://ann:***@a.test/\\u001b[2J") == 2
    assert "hush" not in message
