"""What is used of Scrapy without being documented: without it a feature is lost, and no item."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy import Request, Spider
from scrapy.extensions.feedexport import FeedSlot
from scrapy.http import Response, TextResponse
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.crawl import scrapy_internals
from scrapy_simhash.crawl.scrapy_internals import (
    callback_name,
    close_crawl,
    closed_feed,
    counted_as_load,
    feeds_written,
    has_tree,
    keep_old_feeds,
    may_know_requests,
    release_tree,
    watch_closing,
    watch_items,
)


@pytest.fixture
def lost(monkeypatch, caplog):
    """The features reported as lost; each test starts with none."""
    monkeypatch.setattr(scrapy_internals, "_lost", set())
    caplog.set_level(logging.WARNING)

    def lines():
        return [line for line in caplog.messages if "differs from what this plugin" in line]

    return lines


def crawler_with(**parts):
    return SimpleNamespace(
        engine=SimpleNamespace(**parts), get_extension=lambda kind: SimpleNamespace()
    )


class Bare(TextResponse):
    """As if Scrapy kept the tree elsewhere."""

    def __getattribute__(self, name):
        if name.startswith("_cached"):
            raise AttributeError(name)
        return super().__getattribute__(name)


def use_tree():
    response = Bare("http://a.example/", body=b"<p>", encoding="utf-8")
    assert not has_tree(response)
    release_tree(response)


def use_load():
    slot = SimpleNamespace()
    with counted_as_load(crawler_with(scraper=SimpleNamespace(slot=slot))):
        pass
    assert vars(slot) == {}


def use_closing():
    watch_closing(crawler_with(scraper=SimpleNamespace(itemproc=SimpleNamespace())), print)


def use_items():
    watch_items(crawler_with(scraper=SimpleNamespace()), print)


def use_feeds():
    bare = SimpleNamespace(slots=[SimpleNamespace()])
    assert feeds_written(bare) is closed_feed(SimpleNamespace()) is None


@pytest.mark.parametrize(
    ("use", "feature"),
    [
        (use_tree, "parsed pages stay in memory"),
        (use_load, "do not slow down fetching"),
        (lambda: close_crawl(crawler_with(), "reason"), "is not closed when its index fails"),
        (use_closing, "although an item pipeline failed"),
        (use_items, "items are compared without their pages"),
        (lambda: callback_name(Response("http://a.example/"), SimpleNamespace()), "not name"),
        (use_feeds, "items count as stored"),
        (lambda: keep_old_feeds(crawler_with()), "may replace earlier feeds"),
        (lambda: may_know_requests(crawler_with()), "leaves out counts as removed"),
    ],
)
def test_what_is_missing_costs_one_feature_and_one_warning(use, feature, lost):
    for _ in range(2):
        use()
    (line,) = lost()
    assert feature in line


class NamesItsCallback(PageSpider):
    async def start(self):
        for url in self.urls:
            yield Request(url, self.parse)


@deferred_f_from_coro_f
async def test_without_it_a_crawl_checks_and_stores(settings, tmp_path, monkeypatch, lost):
    def fail(*given):
        raise AttributeError("another Scrapy")

    feed = {"FEEDS": {str(tmp_path / "f.jl"): {"format": "jsonlines"}}}
    settings |= feed | {"SIMHASH_ON_DUPLICATE": "skip", "CONCURRENT_REQUESTS": 1}
    unreadable = property(fail, lambda *given: None)
    monkeypatch.setattr(FeedSlot, "batch_id", unreadable, raising=False)
    monkeypatch.delattr(Spider, "_parse")
    with serve({"/a": article("a"), "/b": article("a"), "/c": article("b")}) as site:
        urls = [f"{site}/{name}" for name in "abc"]
        done = await crawl(NamesItsCallback, settings, urls)
        assert (done.stats["unique"], done.stats["duplicates"]) == (2, 1)
        again = await crawl(NamesItsCallback, settings | {"SIMHASH_KNOWN": "drop"}, urls)
    assert again.items == [], "the run was settled, and its claims confirmed"
    assert len(lost()) == 1
