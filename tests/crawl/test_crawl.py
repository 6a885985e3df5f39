"""Real crawls of a loopback site, in this process."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import threading

import pytest
from item_kinds import kinds_of
from loopback import (
    STORES,
    Page,
    PageSpider,
    answering,
    article,
    crawl,
    critical_lines,
    path_of,
    prose,
    serve,
)
from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.test import get_crawler

from scrapy_simhash import NearDuplicateItem
from scrapy_simhash.crawl.components import (
    SimhashSpiderMiddleware,
)


@pytest.fixture
def settings(tmp_path):
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}"}


# Pages and their items


@deferred_f_from_coro_f
async def test_a_drop_has_a_reason_and_is_announced(settings):
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(
            PageSpider, settings | {"CONCURRENT_REQUESTS": 1}, [f"{site}/a", f"{site}/b"]
        )
    ((item, error),) = done.drops
    assert isinstance(error, NearDuplicateItem)
    assert done.announced == [item] == [{"url": f"{site}/b"}]
    assert (error.match.url, error.match.distance, error.match.similarity) == (f"{site}/a", 0, 1)
    assert f"near-duplicate of {site}/a" in str(error)
    assert done.crawler.stats.get_value("item_dropped_reasons_count/NearDuplicateItem") == 1
    assert done.stats["duplicates/same_site"] == 1
    assert done.errors == 0


class Unreliable:
    """Takes its time, then drops 30 % of the items and fails on 10 %; some it replaces."""

    async def process_item(self, item):
        chance = random.Random(path_of(item["url"]))
        await asyncio.sleep(chance.random() * 0.1)
        if (fate := chance.random()) < 0.3:
            raise DropItem("not wanted")
        if fate < 0.4:
            raise ValueError("an error in a pipeline")
        return dict(item) if fate < 0.7 else item

    @staticmethod
    def delivers(path):
        chance = random.Random(path)
        chance.random()
        return chance.random() >= 0.4


@deferred_f_from_coro_f
async def test_with_later_pipelines_that_drop_and_fail_nothing_is_lost_or_kept_twice(settings):
    groups = 80
    paths = [f"/{group}/{page}" for group in range(groups) for page in range(3)]
    random.Random(1).shuffle(paths)
    settings = settings | {"ITEM_PIPELINES": {Unreliable: 500}, "SIMHASH_TIMEOUT": 60}
    with serve({path: article(path.split("/")[1]) for path in paths}) as site:
        done = await crawl(PageSpider, settings, [site + path for path in paths])
    kept = sorted(path.split("/")[1] for path in done.urls)
    deliverable = sorted({path.split("/")[1] for path in paths if Unreliable.delivers(path)})
    assert kept == deliverable
    assert done.stats["checked"] == 3 * groups
    assert done.stats["claims/confirmed"] == len(kept)
    assert done.stats["claims/open"] == 0
    assert done.stats["in_flight_waits"] > 0
    dropped = done.crawler.stats.get_value("item_dropped_reasons_count/DropItem")
    # An error in a pipeline is logged by Scrapy and counted by nobody.
    assert done.stats["claims/released"] == dropped + done.errors


@deferred_f_from_coro_f
async def test_an_object_yielded_twice_has_two_outcomes(settings):
    class Spider(PageSpider):
        def parse(self, response):
            item = {"url": response.url}
            yield item
            yield item

    with serve({"/a": article(1)}) as site:
        done = await crawl(Spider, settings, [f"{site}/a"])
    assert (len(done.items), len(done.drops)) == (1, 1)
    assert done.stats["claims/confirmed"] == 1


@deferred_f_from_coro_f
async def test_what_errbacks_and_start_yield_passes(settings):
    class Spider(PageSpider):
        async def start(self):
            yield {"url": "http://start/"}
            yield Request(f"{self.urls[0]}/missing", errback=self.failed)
            yield Request("http://127.0.0.1:1/", errback=self.failed)

        def failed(self, failure):
            yield {"url": failure.request.url}

    with serve({}) as site:
        done = await crawl(Spider, settings | STORES, [site])
    assert len(done.items) == 3
    assert (done.stats["unique"], done.stats["skipped/error_page"]) == (2, 1)
    assert done.crawler.stats.get_value("log_count/WARNING", 0) == 0
    assert done.errors == 0


@deferred_f_from_coro_f
async def test_without_the_spider_middleware_items_pass_with_a_warning(settings, caplog):
    settings = settings | {"SPIDER_MIDDLEWARES": {SimhashSpiderMiddleware: None}}
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(PageSpider, settings, [f"{site}/a", f"{site}/b"])
    assert done.urls == ["/a", "/b"]
    assert done.stats["unique"] == 2
    assert caplog.text.count("enabled without SimhashSpiderMiddleware") == 1


# Actions


class Leads(PageSpider):
    """Each page has links, which it yields before or behind its item."""

    name = "leads"
    links_first = False

    def parse(self, response):
        links = response.css("nav a::attr(href)").getall()
        if self.links_first:
            yield from response.follow_all(links)
        for title in response.css("article::attr(id)").getall():
            yield {"url": response.url, "title": title}
        if not self.links_first:
            yield from response.follow_all(links)


@pytest.mark.parametrize("links_first", [False, True])
@deferred_f_from_coro_f
async def test_skip_leaves_out_the_links_of_a_copy(settings, links_first, monkeypatch):
    monkeypatch.setattr(Leads, "links_first", links_first)

    def page(seed, *links, items=1):
        listed = "".join(f"<a href='{link}'>{link}</a>" for link in links)
        entries = "".join(f"<article id='{n}'><p>{prose(seed)}</p></article>" for n in range(items))
        return f"<!DOCTYPE html><html><body><nav>{listed}</nav>{entries}</body></html>".encode()

    pages = {
        "/": page(0, "/a", "/b", "/list", items=0),
        "/a": page(1, "/of-a"),
        "/b": page(1, "/of-b"),
        "/list": page(2, "/of-list", items=2),
        "/of-a": page(3),
        "/of-b": page(4),
        "/of-list": page(5),
    }
    with serve(pages) as site:
        given = {"SIMHASH_ON_DUPLICATE": "skip", "CONCURRENT_REQUESTS": 1}
        done = await crawl(Leads, settings | given, [f"{site}/"])
    found = {*done.urls}
    assert len(found & {"/a", "/b"}) == 1
    # Those in front of the item are followed before anybody knows that it is a copy.
    assert len(found & {"/of-a", "/of-b"}) == (2 if links_first else 1)
    # The links of pages without items, and with several of them, are followed.
    assert "/of-list" in found
    assert done.stats.get("pages/skipped", 0) == (not links_first)
    assert len(done.announced) == done.stats["duplicates"]


class Fails(Leads):
    def parse(self, response):
        yield from super().parse(response)
        raise RuntimeError("behind all that it yields")


@deferred_f_from_coro_f
async def test_skip_follows_the_links_of_a_callback_that_fails(settings):
    page = b"<nav><a href='/a'>a</a></nav><article id='0'><p>%b</p></article>" % prose(1).encode()
    with serve({"/": page, "/a": article(2)}) as site:
        done = await crawl(Fails, settings | {"SIMHASH_ON_DUPLICATE": "skip"}, [f"{site}/"])
    assert done.crawler.stats.get_value("response_received_count") == 2
    assert done.errors


class DropsFirst:
    def process_item(self, item):
        raise DropItem("before it is checked")


@deferred_f_from_coro_f
async def test_skip_follows_the_links_of_items_that_nobody_checks(settings):
    pages = {"/": b"<nav><a href='/a'>a</a></nav><article id='0'></article>", "/a": article(1)}
    settings |= {"ITEM_PIPELINES": {DropsFirst: 50}, "SIMHASH_ON_DUPLICATE": "skip"}
    with serve(pages) as site:
        done = await crawl(Leads, settings, [f"{site}/"])
    assert done.stats.get("checked", 0) == 0
    assert done.crawler.stats.get_value("response_received_count") == 2


# Items compared for themselves


@pytest.mark.parametrize("kind", kinds_of("url", "text", frozen=True))
@deferred_f_from_coro_f
async def test_fields_of_every_kind_of_item_are_compared(settings, kind):
    class Spider(PageSpider):
        def parse(self, response):
            for number in (1, 2, 1):
                yield kind(url=f"{response.url}#{number}", text=prose(number))

    settings = settings | {"SIMHASH_FIELDS": ["text"]}
    with serve({"/a": b"<p>hardly anything", "/b": b"<p>nothing"}) as site:
        first = await crawl(Spider, settings, [f"{site}/a"])
        other = await crawl(Spider, settings, [f"{site}/b"])
        again = await crawl(Spider, settings, [f"{site}/a"])
    assert len(first.items) == 2, "two equal items of one visit are duplicates"
    assert all(isinstance(item, kind) for item in first.items)
    for later, status in ((other, "moved"), (again, "unchanged")):
        assert len(later.items) == later.stats[f"changes/{status}"] - (status == "unchanged") == 2
        assert later.stats["duplicates"] == 1
    assert (first.errors, other.errors, again.errors) == (0, 0, 0)


# Meta


@deferred_f_from_coro_f
async def test_meta_leaves_a_page_alone_or_puts_it_in_another_namespace(settings):
    pages = {f"/{name}": article(1) for name in "abcd"}
    with serve(pages) as site:
        done = await crawl(
            PageSpider,
            settings | {"CONCURRENT_REQUESTS": 1},
            [
                f"{site}/a",
                Request(f"{site}/b", meta={"simhash": False}),
                Request(f"{site}/c", meta={"simhash_namespace": "other"}),
                Request(f"{site}/d", meta={"simhash_namespace": "other"}),
            ],
        )
    assert done.urls == ["/a", "/b", "/c"]
    assert (done.stats["skipped/disabled"], done.stats["duplicates"]) == (1, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("namespace", value) for value in ("", "a\0b", "\ud800", "x" * 300)] + [("compare", "text")],
)
@deferred_f_from_coro_f
async def test_meta_that_can_not_be_used_is_reported_and_its_items_are_kept(
    settings, caplog, name, value
):
    pages = {f"/{path}": article(1) for path in "abc"}
    with serve(pages) as site:
        requests = [
            Request(f"{site}{path}", meta={f"simhash_{name}": value} if path != "/a" else {})
            for path in pages
        ]
        done = await crawl(PageSpider, settings, requests)
    assert done.urls == ["/a", "/b", "/c"]
    assert (done.stats["skipped/disabled"], done.stats["unique"]) == (2, 1)
    messages = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(messages) == 2
    assert all(f'meta["simhash_{name}"]' in line and line.isprintable() for line in messages)


# Hostile pages

HOSTILE = {
    "/empty": b"",
    "/marks": b"!!!",
    "/comment": b"<!-- nothing but a comment -->",
    "/blank": b"<html><body>   </body></html>",
    "/nul": b"\x00" * 5000,
    "/binary": Page(bytes(range(256)) * 40, "application/octet-stream"),
    "/json": Page(b'{"a": "%s"}' % prose(1).encode(), "application/json"),
    "/xml": Page(b"<a>%s</a>" % prose(1).encode(), "application/xml"),
    "/plain": Page(prose(1).encode(), "text/plain"),
    "/deep": b"<div>" * 300_000 + prose(1).encode(),
    "/node": b"<html><body><p>" + b"word " * 2_400_000 + b"</p></body></html>",
    "/wrong": Page(b"\xff\xfe\x80<p>\xed\xa0\x80", "text/html; charset=nonsense"),
}


@deferred_f_from_coro_f
async def test_hostile_pages_pass_uncompared_and_are_counted(settings):
    """Each is there twice: without a claim, none is another's duplicate."""
    pages = {path + again: page for path, page in HOSTILE.items() for again in ("", "2")}
    with serve(pages) as site:
        done = await crawl(PageSpider, settings, [site + path for path in pages])
    assert done.urls == sorted(pages)
    skipped = {name: count for name, count in done.stats.items() if name.startswith("skipped/")}
    assert sum(skipped.values()) == done.stats["checked"] == len(pages)
    assert skipped["skipped/not_text"] >= 8
    assert skipped["skipped/too_large"] == 2
    assert done.errors == 0


@deferred_f_from_coro_f
async def test_texts_are_counted_by_what_they_can_say(settings):
    """Of words that are all different there is one pair fewer than there are words."""
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(40)]
    counts = {"/none": 0, "/few": 8, "/short": 9, "/longer": 32, "/prose": 33}
    pages = {path: f"<p>{' '.join(words[:n])}</p>".encode() for path, n in counts.items()}
    with serve(pages) as site:
        done = await crawl(PageSpider, settings, [site + path for path in pages])
    classes = {name: count for name, count in done.stats.items() if name.startswith("text/")}
    assert classes == {"text/none": 1, "text/under_8": 1, "text/8_to_31": 2, "text/from_32": 1}


# Settings

WRONG = {
    "SIMHASH_SIMILARITY": 0.3,
    "SIMHASH_DATABASE_URL": "nosuch://user:too-short@host/db",
    "SIMHASH_SECRET": "too-short",
    "SIMHASH_TIMEOUTS": 3,
}


@pytest.mark.parametrize("name", WRONG)
@deferred_f_from_coro_f
async def test_a_wrong_setting_is_refused_by_its_name(name, caplog):
    done = await crawl(PageSpider, {name: WRONG[name]})
    assert done.reason == "simhash_misconfigured"
    (line,) = critical_lines(caplog)
    assert re.search(rf"\b{name}\b", line)
    assert "too-short" not in caplog.text, "neither a password nor a secret is repeated"


@deferred_f_from_coro_f
async def test_disabled_it_does_nothing(settings, tmp_path):
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(
            PageSpider, settings | {"SIMHASH_ENABLED": False}, [f"{site}/a", f"{site}/b"]
        )
    assert done.urls == ["/a", "/b"]
    assert done.stats == {}
    assert list(tmp_path.iterdir()) == []


@deferred_f_from_coro_f
async def test_reset_forgets_what_was_seen(settings):
    settings = settings | {"SIMHASH_KNOWN": "drop"}
    with serve({"/a": article(1), "/b": article(1)}) as site:
        await crawl(PageSpider, settings, [f"{site}/a"])
        kept = await crawl(PageSpider, settings, [f"{site}/b"])
        reset = await crawl(PageSpider, settings | {"SIMHASH_RESET": "1"}, [f"{site}/b"])
    assert [len(done.items) for done in (kept, reset)] == [0, 1]


# What is stored for later


@deferred_f_from_coro_f
async def test_two_crawls_in_one_process_keep_apart(settings):
    """Their verdicts, not their index: the same pages are stored once."""
    paths = [f"/{group}" for group in range(40)]
    begun, are_together = set(), threading.Event()

    def answer(target):
        # Nothing before both have opened the index: crawls that follow each other store it twice.
        path, _, number = target.partition("?")
        begun.add(number)
        if len(begun) == 2:
            are_together.set()
        assert are_together.wait(60)
        return article(path)

    with answering(answer) as site:
        both = await asyncio.gather(
            crawl(PageSpider, settings, [f"{site}{path}?1" for path in paths]),
            crawl(PageSpider, settings, [f"{site}{path}?2" for path in reversed(paths)]),
        )
    kept = sorted(url.partition("?")[0] for done in both for url in done.urls)
    assert kept == sorted(paths)
    assert sum(done.stats["checked"] for done in both) == 80


def test_nothing_of_a_crawl_is_kept_alive_when_it_is_over():
    """It is found by its crawler, and must not outlive it."""
    from scrapy_simhash.crawl.deduplicator import Deduplicator

    crawler = get_crawler(Spider)
    crawler._apply_settings()
    crawler.spider, crawler.crawling = None, True
    found = Deduplicator.of(crawler)
    assert Deduplicator.of(crawler) is found
    number = id(crawler)
    del found
    gc.collect()
    assert number not in Deduplicator._of
