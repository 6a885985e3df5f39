"""The names of stats: a page, or foreign code, adds only so many."""

from __future__ import annotations

import pytest
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.index.verdict import Verdict

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
