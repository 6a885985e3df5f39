"""What the spider middleware finds out about what callbacks yield: how much it is.

A page with one item is compared by its text, the items of a page with several by their fields: so
of two equal pages the copy's only item is dropped, while two different ones are kept.
"""

from __future__ import annotations

import asyncio

import pytest
from hosts import serve_hosts
from loopback import PageSpider, crawl, path_of
from scrapy import Request
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, story
from visits import crawl_twice

SITE = "http://site.example"
PAGE = layout("site", "One heading", paragraphs(*story("one text", 240)))
PAGES = {"/a": PAGE, "/b": PAGE}
URLS = [f"{SITE}/a", f"{SITE}/b"]


class CountedSpider(PageSpider):
    """Yields a given number of items, from callbacks of every kind."""

    name = "counted"

    def __init__(self, urls=(), count=1, kind="generator", **kwargs):
        super().__init__(urls, **kwargs)
        self.count, self.kind = count, kind

    async def start(self):
        for url in self.urls:
            yield Request(url, getattr(self, self.kind))

    def items(self, response):
        return [{"url": response.url, "part": f"part {part}"} for part in range(self.count)]

    def generator(self, response):
        for item in self.items(response):
            yield item
            yield Request(f"{SITE}/links", self.links)

    async def async_generator(self, response):
        await asyncio.sleep(0.01)
        for item in self.items(response):
            yield item

    async def waiting(self, response):
        for item in self.items(response):
            yield item
            await asyncio.sleep(0)

    def returned(self, response):
        return [*self.items(response), Request(f"{SITE}/links", self.links)]

    async def awaited(self, response):
        await asyncio.sleep(0.01)
        return self.items(response)

    def nothing_between(self, response):
        for item in self.items(response):
            yield None
            yield item
        yield None

    def links(self, response):
        pass


KINDS = ["generator", "async_generator", "returned", "awaited", "nothing_between"]


@pytest.mark.parametrize(
    ("kind", "count", "kept"),
    # Nobody knows that an item is the only one of a callback that waits.
    [
        *((kind, count, 2 * count - (count == 1)) for kind in KINDS for count in (1, 2)),
        ("waiting", 1, 2),
        ("waiting", 2, 4),
    ],
)
@deferred_f_from_coro_f
async def test_a_page_with_one_item_is_distinguished_from_one_with_several(
    settings, kind, count, kept
):
    with serve_hosts({"site.example": PAGES | {"/links": PAGE}}) as through:
        await crawl_twice(
            CountedSpider, settings | through, URLS, count=count, kind=kind, kept=kept
        )


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (2, 4)])
@deferred_f_from_coro_f
async def test_the_items_of_a_rule_are_distinguished_as_well(settings, count, kept):
    class Spider(CrawlSpider):
        name = "rules"
        start_urls = (f"{SITE}/",)
        rules = (Rule(LinkExtractor(), callback="page"),)

        def page(self, response):
            for part in range(count):
                yield {"url": response.url, "part": f"part {part}"}

    index = b"<html><body><a href='/a'>a</a> <a href='/b'>b</a></body></html>"
    with serve_hosts({"site.example": PAGES | {"/": index}}) as through:
        await crawl_twice(Spider, settings | through, kept=kept)


class FailingSpider(PageSpider):
    """Fails when it has yielded so many items."""

    name = "failing"

    def __init__(self, urls=(), count=1, **kwargs):
        super().__init__(urls, **kwargs)
        self.count = count

    def parse(self, response):
        for part in range(self.count):
            yield {"url": response.url, "part": f"part {part}"}
        raise ValueError("an error in a callback")


class AsyncFailingSpider(FailingSpider):
    async def parse(self, response):
        for part in range(self.count):
            yield {"url": response.url, "part": f"part {part}"}
            await asyncio.sleep(0)
        raise ValueError("an error in a callback")


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("spider", [FailingSpider, AsyncFailingSpider])
@deferred_f_from_coro_f
async def test_what_was_yielded_before_an_error_is_delivered_and_the_error_is_seen(
    settings, spider, count
):
    with serve_hosts({"site.example": PAGES}) as through:
        done = await crawl(spider, settings | through, URLS[:1], count=count)
    assert [item["part"] for item in done.items] == [f"part {part}" for part in range(count)]
    assert done.crawler.stats.get_value("spider_exceptions/ValueError") == 1
    assert done.errors == 1


class Recovers:
    """A spider middleware of the project that yields an item in the place of an error."""

    def process_spider_exception(self, response, exception):
        return [{"url": response.url, "part": "instead"}]


@deferred_f_from_coro_f
async def test_another_middleware_may_handle_the_error_and_what_was_held_is_not_lost(settings):
    settings = settings | {"SPIDER_MIDDLEWARES": {Recovers: 600}}
    with serve_hosts({"site.example": PAGES}) as through:
        done = await crawl(FailingSpider, settings | through, URLS[:1], count=1)
    assert sorted(item["part"] for item in done.items) == ["instead", "part 0"]
    assert done.errors == 0


class Watch:
    """Sees what callbacks yield after this package's middleware, as the engine does."""

    seen: list[str]

    def __init__(self):
        type(self).seen = []

    async def process_spider_output(self, response, result):
        async for output in result:
            what = path_of(output.url) if isinstance(output, Request) else output["part"]
            self.seen.append(what)
            yield output


@deferred_f_from_coro_f
async def test_all_that_is_yielded_passes_at_once_and_keeps_its_order(settings):
    noticed = []

    class Spider(PageSpider):
        def parse(self, response):
            for part in ("one", "/1", "/2", "two", "/3", "three", "/4"):
                is_request = part.startswith("/")
                yield Request(SITE + part, self.links) if is_request else {"part": part}
                noticed.append(Watch.seen[-1])

        def links(self, response):
            pass

    settings = settings | {"SPIDER_MIDDLEWARES": {Watch: 10}}
    pages = PAGES | {f"/{number}": b"<p>nothing" for number in range(1, 5)}
    with serve_hosts({"site.example": pages}) as through:
        done = await crawl(Spider, settings | through, URLS[:1])
    assert Watch.seen == noticed == ["one", "/1", "/2", "two", "/3", "three", "/4"]
    assert [item["part"] for item in done.items] == ["one", "two", "three"]
