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


def test_names_of_fields_are_limited():
    stats = CrawlStats(StatsCollector(get_crawler()))
    for number in range(400):
        for name in (f"x{number}/y{number}", "x7/y7"):
            stats.count_verdict("http://a.example/", Verdict("unique", differs=name))
    found = stats.below("kept/other_facts/")
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
