"""What a crawl holds while its items wait for their verdicts."""

from __future__ import annotations

from typing import ClassVar
from weakref import ref

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy import signals
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.crawl.deduplicator import Claims


class Titles(PageSpider):
    """Items with the content of their page's tree."""

    name = "titles"
    per_page = 1

    def parse(self, response):
        for number in range(self.per_page):
            yield {
                "url": f"{response.url}#!{number}",
                "words": len(response.css("p::text").get().split()),
            }


class TitlesOfAll(Titles):
    name = "titles_of_all"
    per_page = 3


class SeesTrees:
    """Notes whether the page of an item with a verdict holds a tree, and asks for one."""

    def __init__(self, crawler):
        self.stats = crawler.stats
        crawler.signals.connect(self.scraped, signals.item_scraped)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def scraped(self, response):
        self.stats.inc_value(f"trees/{response._cached_selector is not None}")
        assert len(response.css("p::text").get().split()) == 120


@pytest.mark.parametrize("spider", [Titles, TitlesOfAll])
@deferred_f_from_coro_f
async def test_a_page_lets_go_of_its_tree_when_nobody_needs_it_any_more(settings, spider):
    extensions = {"EXTENSIONS": {SeesTrees: 1}}
    with serve({"/a": article("a"), "/b": article("b")}) as site:
        found = await crawl(spider, settings | extensions, [site + "/a", site + "/b"])
    count = found.crawler.stats.get_value
    # The tree is parsed again when it is needed again: for the first item of a page.
    assert count("trees/False") == 2
    assert count("trees/True", 0) == 2 * (spider.per_page - 1)
    assert len(found.items) == 2 * spider.per_page
    assert not found.errors


class Roots(PageSpider):
    """Items with the text of their page, which remember its tree as long as that lives."""

    name = "roots"
    alive: ClassVar = []

    def parse(self, response):
        self.alive.append(ref(response.selector.root))
        yield {"url": response.url, "words": response.css("p::text").get()}


@deferred_f_from_coro_f
async def test_the_tree_of_a_page_is_freed_before_its_item_waits(settings, monkeypatch):
    claim, seen = Claims.claim, []

    async def note_and_claim(self, tracked, document):
        seen.append([root() for root in Roots.alive])
        return await claim(self, tracked, document)

    monkeypatch.setattr(Claims, "claim", note_and_claim)
    with serve({"/a": article("a")}) as site:
        found = await crawl(Roots, settings, [site + "/a"])
    assert seen == [[None]]
    assert not found.errors


@deferred_f_from_coro_f
async def test_what_waits_counts_for_scrapy_until_it_is_through(settings, monkeypatch):
    sizes = []

    async def claim(self, subject, document):
        sizes.append(self.errors.crawler.engine.scraper.slot.active_size)
        return await really(self, subject, document)

    class Closes(Titles):
        name = "closes"

        def closed(self, reason):
            sizes.append(self.crawler.engine.scraper.slot.active_size)

    really = Claims.claim
    monkeypatch.setattr(Claims, "claim", claim)
    with serve({"/a": article("a")}) as site:
        await crawl(Closes, settings, [site + "/a"])
    assert 20_000 < sizes[0] < 30_000
    assert sizes[1:] == [0]
