"""Known pages are not downloaded again, and nothing is missed."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import crawl, critical_lines, prose
from scrapy import FormRequest, Request, Spider, signals, version_info
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_f_from_coro_f
from validated_site import ValidatedSite, ValidPage, serve_validated
from visited_sites import FailsToStore

from scrapy_simhash.crawl.asked_page import is_whole
from scrapy_simhash.crawl.stored_request import ASKED, StoredRequests
from scrapy_simhash.index.pages import pack_request, unpack_request


class Follows(Spider):
    """Follows all links; an item for each page with a text."""

    name = "follows"

    def __init__(self, url: str, **kwargs):
        super().__init__(**kwargs)
        self._url = url

    async def start(self):
        yield Request(f"{self._url}/", dont_filter=True)

    def parse(self, response, **kwargs):
        yield from self.items(response)
        for link in response.css("li a::attr(href)").getall():
            yield Request(response.urljoin(link))

    def items(self, response):
        if title := response.css("h1::text").get():
            text = "\n".join(response.css("article p::text").getall())
            yield {"url": response.url, "title": title, "text": text}


@pytest.fixture
def conditional(settings):
    return {**settings, "SIMHASH_KNOWN": "drop", "SIMHASH_REVISIT": "conditional"}


@pytest.fixture
def site():
    pages = {
        "/": ValidPage(links=["/a", "/list"]),
        "/list": ValidPage(links=["/b", "/c", "/d"]),
        **{f"/{name}": ValidPage(f"text {name}") for name in "abcd"},
    }
    site = ValidatedSite(pages)
    with serve_validated(site):
        yield site


async def visit(site, settings, spider=Follows, **kwargs):
    site.forget()
    return await crawl(spider, settings, url=site.url, **kwargs)


@deferred_f_from_coro_f
async def test_what_was_not_modified_is_not_downloaded(site, conditional, caplog):
    caplog.set_level("INFO")
    first = await visit(site, conditional)
    assert first.urls == ["/a", "/b", "/c", "/d"]
    second = await visit(site, conditional)
    assert second.items == []
    assert site.asked(304) == ["/a", "/b", "/c", "/d", "/list"]
    assert site.asked(200) == ["/"]
    assert second.stats["revisit/not_modified"] == 5
    sizes = [len(page.body()) for path, page in site.pages.items() if path != "/"]
    assert second.stats["revisit/bytes_not_downloaded"] == sum(sizes)
    assert "5 of 5 known pages were not downloaded" in caplog.text
    site.change("/c", text="another text")
    site.change("/list", links=["/b", "/d", "/e"])
    site.pages["/e"] = ValidPage("text e")
    third = await visit(site, conditional)
    assert third.urls == ["/c", "/e"]
    assert site.asked(304) == ["/a", "/b", "/d"]
    # The page that nothing links to any more is still there.
    assert "changes/removed" not in third.stats
    assert (first.errors, second.errors, third.errors) == (0, 0, 0)


@deferred_f_from_coro_f
async def test_the_fragment_of_a_link_does_not_count(site, conditional):
    await visit(site, conditional)
    site.change("/list", links=["/b#top", "/c", "/d"])
    await visit(site, conditional)
    assert site.asked(304) == ["/a", "/b", "/c", "/d"]


@pytest.mark.parametrize(
    ("validator", "is_known"),
    [("weak", True), ("time", True), ("none", False), ("no-store", False), ("vary", False)],
)
@deferred_f_from_coro_f
async def test_pages_are_asked_for_as_their_server_allows(site, conditional, validator, is_known):
    site.pages["/b"].validator = validator
    for _ in range(2):
        await visit(site, conditional)
    assert ("/b" in site.asked(304)) is is_known
    site.change("/b", text="another text")
    assert (await visit(site, conditional)).urls == ["/b"]


@deferred_f_from_coro_f
async def test_a_time_that_is_not_over_identifies_nothing(site, conditional, monkeypatch):
    site.pages["/b"].validator = "time"
    monkeypatch.setattr("validated_site._EPOCH", 32_000_000_000)
    for _ in range(2):
        await visit(site, conditional)
    assert "/b" in site.asked(200)


@deferred_f_from_coro_f
async def test_a_redirect_is_followed_and_its_target_is_a_page_of_its_own(site, conditional):
    site.pages["/b"] = ValidPage(redirect="/x")
    site.pages["/x"] = ValidPage("text x")
    await visit(site, conditional)
    await visit(site, conditional)
    assert site.asked(301) == ["/b"]
    assert "/x" in site.asked(304)
    # What has turned into a redirect does not pass its validators on.
    site.pages["/c"] = ValidPage(redirect="/y")
    site.pages["/y"] = ValidPage("text y", validator="false")
    third = await visit(site, conditional)
    assert third.urls == ["/y"]
    asked = {answer.path: answer.conditions for answer in site.answers}
    assert asked["/c"]
    assert asked["/y"] == {}


@deferred_f_from_coro_f
async def test_a_server_that_is_wrong_is_found_out_at_the_tenth_visit(site, conditional, caplog):
    site.pages["/b"].validator = "false"
    await visit(site, conditional)
    site.change("/b", text="another text")
    urls = [(await visit(site, conditional)).urls for _ in range(10)]
    assert urls == [[]] * 9 + [["/b"]]
    assert "has changed that its server called unmodified" in caplog.text


@deferred_f_from_coro_f
async def test_an_answer_of_304_that_nobody_asked_for_is_a_failure(site, conditional, caplog):
    site.change("/", text="the first page")
    assert len((await visit(site, conditional)).items) == 5
    site.change("/", validator="broken")
    assert "changes/removed" not in (await visit(site, conditional)).stats
    assert "not modified, unasked" in caplog.text


@deferred_f_from_coro_f
async def test_gone_pages_are_removed_and_forgotten_by_a_visit_that_reads_all(site, conditional):
    await visit(site, conditional)
    site.change("/b", status=410)
    assert (await visit(site, conditional)).stats["changes/removed"] == 1
    site.change("/list", links=["/c", "/d"])
    for _ in range(8):
        await visit(site, conditional)
        assert "/b" in site.asked(410)
    for answers in ({200: 5}, {200: 1, 304: 4}):
        await visit(site, conditional)
        assert Counter(answer.status for answer in site.answers) == answers


@deferred_f_from_coro_f
async def test_pages_that_nothing_links_to_are_asked_for_as_long_as_they_have_items(
    site, conditional
):
    await visit(site, conditional)
    site.change("/list", links=["/c", "/d"])
    for number in range(11):
        # It fails before the visit that reads all pages.
        site.change("/b", status=503 if number == 8 else 200)
        assert "changes/removed" not in (await visit(site, conditional)).stats
        assert "/b" in site.asked()
    site.change("/b", text="another text")
    assert (await visit(site, conditional)).urls == ["/b"]


class Refuses:
    def process_item(self, item):
        if item["url"].endswith("/b"):
            raise DropItem("refused")
        return item


class Fails(Follows):
    name = "follows"

    def items(self, response):
        yield from super().items(response)
        if response.url.endswith("/b"):
            raise RuntimeError("fails after its item")


class Stops(Follows):
    name = "follows"
    after = "/list"

    def items(self, response):
        yield from super().items(response)
        if response.url.endswith(self.after):
            raise CloseSpider("stopped")


@pytest.mark.parametrize(
    ("spider", "more"), [(Follows, {"ITEM_PIPELINES": {Refuses: 900}}), (Fails, {}), (Stops, {})]
)
@deferred_f_from_coro_f
async def test_what_was_not_stored_is_read_again(site, conditional, spider, more):
    await visit(site, conditional | more, spider)
    second = await visit(site, conditional)
    # The item of a callback that failed afterwards was stored.
    assert ("/b" in second.urls) is (spider is not Fails)
    assert "/b" in site.asked(200)
    third = await visit(site, conditional)
    assert third.items == []
    assert site.asked(200) == ["/"]


# Scrapy 2.16 leaves files of its queues open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@deferred_f_from_coro_f
async def test_a_page_whose_links_were_not_followed_is_read_again(site, conditional, tmp_path):
    # Not an argument of the spider.
    later = type("Stops", (Stops,), {"after": "/b"})
    # Until Scrapy 2.18, a spider that is closed in a callback goes on for a moment.
    slow = {} if version_info >= (2, 18) else {"DOWNLOAD_DELAY": 1}
    first = await visit(site, conditional | slow, later)
    assert "/d" not in first.urls
    second = await visit(site, conditional)
    assert {"/list", "/d"} <= {*site.asked(200)}
    assert sorted(first.urls + second.urls) == ["/a", "/b", "/c", "/d"]
    # One that goes on is as one that was not stopped.
    queue = {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"}
    job = {"JOBDIR": str(tmp_path / "job"), **queue}
    site.change("/list", links=["/b", "/c", "/d", "/e"])
    site.change("/b", text="another text")
    site.pages["/e"] = ValidPage("text e")
    assert (await visit(site, conditional | job | slow, later)).urls == ["/b"]
    assert (await visit(site, conditional | job)).urls == ["/e"]
    await visit(site, conditional)
    assert site.asked(200) == ["/", "/b"]


class Swallows:
    """A spider middleware that hides errors, and may raise one itself."""

    where = "callback"

    def process_spider_input(self, response):
        if self.where == "input" and response.url.endswith("/b"):
            raise RuntimeError("fails before the callback")

    def process_spider_exception(self, response, exception):
        return []


class SwallowsInput(Swallows):
    where = "input"


class FailsFirst(Fails):
    def items(self, response):
        if response.url.endswith("/b"):
            raise RuntimeError("fails before its item")
        yield from super().items(response)


@pytest.mark.parametrize(
    ("spider", "middleware"),
    [(Fails, Swallows), (FailsFirst, Swallows), (Follows, SwallowsInput)],
)
@deferred_f_from_coro_f
async def test_a_hidden_error_is_one(site, conditional, spider, middleware):
    hides = conditional | {"SPIDER_MIDDLEWARES": {middleware: 500}}
    first = await visit(site, hides, spider)
    second = await visit(site, conditional)
    assert "/b" in site.asked(200)
    assert sorted(first.urls + second.urls) == ["/a", "/b", "/c", "/d"]


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_a_body_is_whole_if_its_compressed_form_has_an_end(compress):
    body = b"The ferry sails at nine. " * 99_999
    packed = compress(body)
    # A component may have changed the body.
    assert all(is_whole(packed, one) for one in (body, body[:-1], b""))
    assert not any(is_whole(packed[:size], body) for size in (1, 9, len(packed) // 2))
    assert is_whole(b"", body)


@pytest.mark.parametrize("cut", ["gzip", "length"])
@deferred_f_from_coro_f
async def test_a_page_that_was_cut_is_read_again(site, conditional, cut):
    site.pages["/list"].cut = cut
    await visit(site, conditional | {"DOWNLOAD_FAIL_ON_DATALOSS": False})
    site.pages["/list"].cut = ""
    await visit(site, conditional)
    assert "/list" in site.asked(200)
    for _ in range(2):
        await visit(site, conditional)
    assert site.asked(200) == ["/"]


@pytest.mark.parametrize("limit", [{"DEPTH_LIMIT": 1}, {"URLLENGTH_LIMIT": 30}])
@deferred_f_from_coro_f
async def test_what_a_limit_left_out_is_found_without_it(site, conditional, limit):
    site.change("/list", links=["/" + "long/" * 5])
    site.pages["/" + "long/" * 5] = ValidPage("long")
    for _ in range(2):
        assert "/" + "long/" * 5 not in (await visit(site, conditional | limit)).urls
    assert "/" + "long/" * 5 in (await visit(site, conditional)).urls


class Crawls(Follows):
    """Makes requests without yielding them; adds to what it was given."""

    name = "crawls"

    def parse(self, response, **kwargs):
        passed_on = response.meta.get("given", {})
        passed_on["added"] = passed_on.get("added", 0) + 1
        for item in self.items(response):
            yield {**item, "added": passed_on["added"]}
        for link in response.css("li a::attr(href)").getall():
            request = Request(response.urljoin(link), self.parse, meta={"given": {"by": 1}})
            self.crawler.engine.crawl(request)


@deferred_f_from_coro_f
async def test_requests_that_are_not_yielded_are_known(site, conditional):
    first = await visit(site, conditional, Crawls)
    assert first.urls == ["/a", "/b", "/c", "/d"]
    site.change("/b", text="another text")
    second = await visit(site, conditional, Crawls)
    assert site.asked(304) == ["/a", "/c", "/d", "/list"]
    assert [item["added"] for item in first.items + second.items] == [1] * 5


class PassesOn(Follows):
    """Items are made of a list's entry and of the page that it links to."""

    name = "passes on"
    how = "cb_kwargs"

    def parse(self, response, price="", **kwargs):
        if not response.css("h1"):
            for link in response.css("li a::attr(href)").getall():
                path, _, price = link.partition("#")
                yield self.request(response.urljoin(path), price or "1")
        elif self.how == "meta":
            yield {**next(self.items(response)), "price": response.meta["price"]}
        else:
            yield {**next(self.items(response)), "price": price}

    def request(self, url, price):
        match self.how:
            case "lambda":
                return Request(url, lambda response: self.parse(response, price))
            case "object":
                return Request(url, cb_kwargs={"price": price, "other": {1: object()}})
            case "post":
                return FormRequest(url, formdata={"price": price}, method="POST")
            case "meta":
                return Request(url, meta={"price": price})
        return Request(url, cb_kwargs={"price": price})


@pytest.mark.parametrize("how", ["cb_kwargs", "meta", "lambda", "object"])
@deferred_f_from_coro_f
async def test_a_page_with_something_else_passed_on_is_read(site, conditional, how):
    await visit(site, conditional, PassesOn, how=how)
    site.change("/list", links=["/b", "/c#2", "/d"])
    second = await visit(site, conditional, PassesOn, how=how)
    assert second.urls == ["/c"]
    is_stored = how in {"cb_kwargs", "meta"}
    assert ("/b" in site.asked(304)) is is_stored
    third = await visit(site, conditional, PassesOn, how=how)
    assert third.items == []
    # A page whose requests can't be stored is read, as nobody else makes them.
    assert ("/list" in site.asked(304)) is is_stored
    assert {"/b", "/c", "/d"} <= {*site.asked()}


@deferred_f_from_coro_f
async def test_what_is_passed_on_far_from_the_start_is_seen(site, conditional):
    """A list that only a known page leads to is asked for before the pages that it leads to."""
    site.pages |= {f"/{name}": ValidPage(links=[f"/{name}{name}"]) for name in ("hub", "hubhub")}
    site.change("/list", links=["/hub"])
    site.pages["/hubhub"].links = ["/b#1", "/c#1"]
    await visit(site, conditional, PassesOn)
    site.change("/hubhub", links=["/b#1", "/c#2"])
    second = await visit(site, conditional, PassesOn)
    assert second.urls == ["/c"]
    assert {"/hub", "/b"} <= {*site.asked(304)}


class Downloads(Follows):
    """Makes its items of two pages."""

    name = "downloads"

    async def parse(self, response, **kwargs):
        for item in self.items(response):
            known, other = [
                await self.crawler.engine.download_async(Request(f"{self._url}/{path}"))
                for path in ("list", "d")
            ]
            assert known.status == other.status == 200
            yield {**item, "other": other.css("h1::text").get()}
        for link in response.css("li a::attr(href)").getall():
            yield Request(response.urljoin(link))


@deferred_f_from_coro_f
async def test_a_page_is_read_if_its_callback_downloads_others(site, conditional):
    for _ in range(2):
        assert (await visit(site, conditional, Downloads)).errors == 0
    assert "/list" in site.asked(304)
    site.change("/d", text="another text")
    third = await visit(site, conditional, Downloads)
    assert third.urls == ["/a", "/b", "/c", "/d"]
    assert third.errors == 0


@pytest.mark.parametrize(("mode", "seconds"), [("adaptive", 3600), (600, 600)])
@deferred_f_from_coro_f
async def test_pages_with_items_are_left_out_for_a_while(
    site, conditional, mode, seconds, tmp_path
):
    given = conditional | {"SIMHASH_REVISIT": mode}
    await visit(site, given)
    second = await visit(site, given)
    assert site.asked() == ["/", "/list"]
    assert second.stats["revisit/left_out"] == 4
    assert "changes/removed" not in second.stats

    def wait(seconds: float) -> None:
        with closing(sqlite3.connect(tmp_path / "seen.db")) as index, index:
            index.execute("UPDATE simhash_pages SET seen = seen - ?", (seconds,))

    wait(seconds + 1)
    site.change("/b", text="another text")
    third = await visit(site, given)
    assert third.urls == ["/b"]
    assert site.asked(304) == ["/a", "/c", "/d", "/list"]
    wait(seconds + 1)
    await visit(site, given)
    # What stayed as it was is asked for half as often, what has changed as often as at first.
    waits = ["/b"] if mode == "adaptive" else ["/a", "/b", "/c", "/d"]
    assert site.asked(304) == [*waits, "/list"]


class SaysHow(Follows):
    name = "says how"
    meta = 600

    def parse(self, response, **kwargs):
        for request_or_item in super().parse(response):
            if isinstance(request_or_item, Request):
                request_or_item.meta["simhash_revisit"] = self.meta
            yield request_or_item


@pytest.mark.parametrize(
    ("meta", "answers"), [(600, {200: 1, 304: 1}), (None, {200: 6}), ("often", {200: 1, 304: 5})]
)
@deferred_f_from_coro_f
async def test_a_request_may_say_how(site, conditional, meta, answers, caplog):
    for _ in range(2):
        await visit(site, conditional, SaysHow, meta=meta)
    assert Counter(answer.status for answer in site.answers) == answers
    assert ('meta["simhash_revisit"]' in caplog.text) is (meta == "often")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"SIMHASH_KNOWN": "pass"}, "needs SIMHASH_KNOWN = 'drop'"),
        ({"SIMHASH_REVISIT": "often"}, "must be one of 'conditional', 'adaptive'"),
        ({"SIMHASH_REVISIT": -1}, "a number of seconds, or None"),
    ],
)
@deferred_f_from_coro_f
async def test_wrong_settings_are_refused(site, conditional, more, why, caplog):
    await visit(site, conditional | more)
    assert why in critical_lines(caplog)[0]
    assert site.asked() == []


@deferred_f_from_coro_f
async def test_after_a_visit_that_recorded_no_pages_all_are_read(site, conditional):
    """It may have been one of a spider that follows other links."""
    await visit(site, conditional)
    await visit(site, conditional | {"SIMHASH_REVISIT": ""})
    assert len(site.asked(200)) == 6
    await visit(site, conditional)
    assert len(site.asked(200)) == 6
    await visit(site, conditional)
    assert len(site.asked(304)) == 5


@deferred_f_from_coro_f
async def test_the_cache_of_scrapy_answers_first(site, conditional, tmp_path):
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        last = await visit(site, conditional | cached)
    assert site.asked() == []
    assert last.errors == 0
    site.change("/b", text="another text")
    assert (await visit(site, conditional)).urls == ["/b"]


@deferred_f_from_coro_f
async def test_the_cache_of_scrapy_gets_no_empty_answers(site, conditional, tmp_path):
    await visit(site, conditional)
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    await visit(site, conditional | cached | {"SIMHASH_REVISIT": "adaptive"})
    assert site.asked(200) == ["/", "/a", "/b", "/c", "/d", "/list"]


class OwnConditions(Follows):
    name = "own"

    def parse(self, response, **kwargs):
        for one in super().parse(response):
            if isinstance(one, Request):
                one.headers["If-None-Match"] = '"mine"'
            yield one


@deferred_f_from_coro_f
async def test_conditions_of_the_spider_are_left_alone(site, conditional):
    for _ in range(2):
        await visit(site, conditional, OwnConditions)
    asked = [answer.conditions for answer in site.answers if answer.path != "/"]
    assert asked == [{"If-None-Match": '"mine"'}] * 5


class Other(Follows):
    name = "other"


@deferred_f_from_coro_f
async def test_spiders_that_share_a_namespace_know_their_own_pages(site, conditional):
    shared = conditional | {"SIMHASH_NAMESPACE": "shared"}
    assert len((await visit(site, shared)).items) == 4
    assert (await visit(site, shared, Other)).items == []
    assert site.asked(304) == []
    for spider in (Follows, Other):
        await visit(site, shared, spider)
        assert len(site.asked(304)) == 5
    # With different arguments, a spider may follow other links.
    await visit(site, shared, Other, section="news")
    assert site.asked(304) == []


class WaitsForMore(Follows):
    """Gets requests when it is idle, as from a queue."""

    name = "waits"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.rounds = ["/b", "/c"]
        crawler.signals.connect(spider.more, signals.spider_idle)
        return spider

    def more(self):
        if self.rounds:
            self.crawler.engine.crawl(Request(self._url + self.rounds.pop()))
            raise DontCloseSpider


@deferred_f_from_coro_f
async def test_a_spider_may_wait_for_requests_when_it_is_idle(site, conditional):
    site.change("/list", links=[])
    first = await visit(site, conditional, WaitsForMore)
    assert first.urls == ["/a", "/b", "/c"]
    await visit(site, conditional, WaitsForMore)
    assert site.asked(304) == ["/a", "/b", "/c", "/list"]


class Rules(CrawlSpider):
    name = "rules"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, url: str):
        super().__init__()
        self._link = url

    async def start(self):
        yield Request(f"{self._link}/", dont_filter=True)

    def parse_page(self, response):
        yield from Follows.items(self, response)


class OfSitemap(SitemapSpider):
    name = "sitemap"

    def __init__(self, url: str):
        self.sitemap_urls = [f"{url}/sitemap.xml"]
        super().__init__()

    def parse(self, response):
        yield from Follows.items(self, response)


@pytest.mark.parametrize("spider", [Rules, OfSitemap])
@deferred_f_from_coro_f
async def test_spiders_of_scrapy(site, conditional, spider):
    urls = "".join(f"<url><loc>{site.url}/{name}</loc></url>" for name in "abcd")
    site.raw["/sitemap.xml"] = f"<urlset>{urls}</urlset>".encode()
    first = await visit(site, conditional, spider)
    assert first.urls == ["/a", "/b", "/c", "/d"]
    site.change("/b", text="another text")
    second = await visit(site, conditional, spider)
    assert second.urls == ["/b"]
    assert {"/a", "/c", "/d"} <= {*site.asked(304)}


@deferred_f_from_coro_f
async def test_a_page_that_fails_is_asked_for_again(site, conditional):
    await visit(site, conditional)
    for status in (503, 200):
        site.change("/list", status=status, links=["/b", "/e"])
        site.pages["/e"] = ValidPage("text e")
        last = await visit(site, conditional | {"RETRY_ENABLED": True, "RETRY_TIMES": 1})
        assert {"/b", "/c"} <= {*site.asked(304)}
    assert last.urls == ["/e"]


@deferred_f_from_coro_f
async def test_a_copy_of_what_was_not_modified_is_one(site, conditional):
    await visit(site, conditional)
    site.change("/list", links=["/b", "/c", "/d", "/copy"])
    site.pages["/copy"] = ValidPage("text a")
    second = await visit(site, conditional)
    assert second.items == []
    assert second.stats["duplicates"] == 1
    await visit(site, conditional)
    assert {"/a", "/copy"} <= {*site.asked(304)}
    # What the site still has in one place is not removed.
    site.change("/a", status=404)
    assert "changes/removed" not in (await visit(site, conditional)).stats
    # The copy of an original that has changed is read, and takes its place.
    site.change("/a", text="another text", status=200)
    assert (await visit(site, conditional)).urls == ["/a"]
    await visit(site, conditional)
    assert "/copy" in site.asked(200)


@deferred_f_from_coro_f
async def test_without_an_answer_of_the_index_pages_are_read(site, conditional, monkeypatch):
    await visit(site, conditional)

    async def fails(*_args):
        raise OSError("no answer")

    monkeypatch.setattr("scrapy_simhash.crawl.worker.Worker.find_page", fails)
    monkeypatch.setattr("scrapy_simhash.crawl.worker.Worker.unasked_pages", fails)
    site.change("/b", text="another text")
    site.change("/a", status=404)
    site.change("/list", links=["/b", "/d"])
    second = await visit(site, conditional)
    assert second.urls == ["/b"]
    assert site.asked(304) == []
    # Only the page that is gone: the other one was not asked for.
    assert second.stats["changes/removed"] == 1


@pytest.mark.parametrize("validator", ["etag", "none"])
@deferred_f_from_coro_f
async def test_pages_of_former_sessions_are_forgotten(conditional, validator):
    site = ValidatedSite()

    def list_all(session: int) -> None:
        """Pages keep the session that their URL has."""
        site.change("/", links=[f"/hub?s={session}"])
        names = "abcd"
        site.pages[f"/hub?s={session}"] = ValidPage(links=[f"/list?s={session}"])
        links = [f"/{name}?s={session}" for name in names]
        site.pages[f"/list?s={session}"] = ValidPage(links=links)
        site.pages |= {link: ValidPage(f"text {link[1]}") for link in links}
        for page in site.pages.values():
            page.validator = validator

    with serve_validated(site):
        asked = []
        for session in range(5):
            list_all(session)
            last = await visit(site, conditional)
            assert len(last.items) == (0 if session else 4)
            asked.append(len(site.asked()))
        # The third visit reads all pages, as they have doubled.
        assert asked == [7, 13, 7, 13, 7]
        # What the last session has is known.
        site.change("/b?s=4", text="another text")
        assert (await visit(site, conditional)).urls == ["/b?s=4"]


class CopiesMeta(Follows):
    name = "copies meta"

    def parse(self, response, **kwargs):
        for one in super().parse(response):
            yield one.replace(meta=response.meta) if isinstance(one, Request) else one


@deferred_f_from_coro_f
async def test_callbacks_may_pass_on_the_meta(site, conditional):
    for _ in range(3):
        await visit(site, conditional, CopiesMeta)
    assert site.asked(304) == ["/a", "/b", "/c", "/d", "/list"]
    site.change("/b", text="another text")
    assert (await visit(site, conditional, CopiesMeta)).urls == ["/b"]


class Entries(Follows):
    """Takes its items from lists, whose links have a session."""

    name = "entries"

    def parse(self, response, **kwargs):
        for link in response.css("li a::attr(href)").getall():
            path, _, session = link.partition("?")
            if session and path.startswith("/entry"):
                yield {"url": response.urljoin(link), "title": path, "text": prose(path)}
            else:
                yield Request(response.urljoin(link))


@deferred_f_from_coro_f
async def test_lists_of_former_sessions_are_forgotten(conditional):
    site = ValidatedSite()
    with serve_validated(site):
        asked = []
        for session in range(5):
            site.change("/", links=[f"/list?s={session}"])
            entries = [f"/entry{number}?s={session}" for number in range(5)]
            site.pages[f"/list?s={session}"] = ValidPage(links=[*entries, f"/more?s={session}"])
            site.pages[f"/more?s={session}"] = ValidPage(links=[f"/entry?s={session}"])
            last = await visit(site, conditional, Entries)
            assert len(last.items) == (0 if session else 6)
            asked.append(len(site.asked()))
        assert asked == [3, 5, 3, 5, 3]


KILLED = """
import os, signal, sys
from scrapy.crawler import CrawlerProcess
sys.path[:0] = [sys.argv[1], os.path.dirname(sys.argv[1])]
from test_revisit import Follows

class Dies(Follows):
    name = "follows"

    def items(self, response):
        yield from super().items(response)
        if response.url.endswith(sys.argv[4]):
            # The index's thread has written what came before.
            from threading import Timer
            Timer(1, os.kill, (os.getpid(), signal.SIGKILL)).start()

settings = {
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "SIMHASH_DATABASE_URL": sys.argv[3],
    "SIMHASH_KNOWN": "drop",
    "SIMHASH_REVISIT": "conditional",
    "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0.6,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
}
process = CrawlerProcess(settings)
process.crawl(Dies, url=sys.argv[2])
process.start()
"""


@deferred_f_from_coro_f
async def test_what_a_feed_has_lost_is_read_again(site, conditional):
    feeds = {"FEED_STORAGES": {"lost": FailsToStore}, "FEEDS": {"lost:": {"format": "json"}}}
    await visit(site, conditional | feeds)
    second = await visit(site, conditional)
    assert second.urls == ["/a", "/b", "/c", "/d"]
    assert site.asked(304) == []


@deferred_f_from_coro_f
async def test_what_is_stored_no_more_is_read_again(site, conditional, tmp_path):
    await visit(site, conditional)
    with closing(sqlite3.connect(tmp_path / "seen.db")) as index, index:
        index.execute("DELETE FROM simhash_claims WHERE url LIKE '%/b'")
    assert (await visit(site, conditional)).urls == ["/b"]


@pytest.mark.parametrize("path", ["/list", "/d"])
@deferred_f_from_coro_f
async def test_what_a_killed_crawl_has_met_is_read_again(site, conditional, path):
    arguments = (Path(__file__).parent, site.url, conditional["SIMHASH_DATABASE_URL"], path)
    killed = await run_in_thread(
        subprocess.run, [sys.executable, "-c", KILLED, *arguments], check=False, timeout=120
    )
    assert killed.returncode == -signal.SIGKILL
    database = str(conditional["SIMHASH_DATABASE_URL"]).removeprefix("sqlite:///")
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT count(*) FROM simhash_pages").fetchone()[0] > 0
    second = await visit(site, conditional)
    assert second.urls == ["/a", "/b", "/c", "/d"]
    assert site.asked(304) == []
    await visit(site, conditional)
    assert len(site.asked(304)) == 5


@deferred_f_from_coro_f
async def test_two_crawls_at_once_share_what_they_know(site, conditional):
    first, second = await asyncio.gather(*(visit(site, conditional) for _ in range(2)))
    assert len({*first.urls, *second.urls}) == len(first.urls + second.urls) == 4
    site.change("/b", text="another text")
    both = await asyncio.gather(*(visit(site, conditional) for _ in range(2)))
    assert [url for one in both for url in one.urls] == ["/b"]
    assert {"/a", "/c", "/d", "/list"} <= {*site.asked(304)}
    await visit(site, conditional)
    assert len(site.asked(304)) == 5


@deferred_f_from_coro_f
async def test_a_visit_with_a_job_directory_ends_when_it_has_finished(site, conditional, tmp_path):
    job = {"JOBDIR": str(tmp_path / "job")}
    await visit(site, conditional | job, Stops)
    await visit(site, conditional | job)
    third = await visit(site, conditional)
    # The callback that stopped the crawl had yielded nothing.
    assert third.urls == ["/b", "/c", "/d"]
    assert site.asked(304) == ["/a"]
    # The fourth one reads all pages, as they have doubled.
    for _ in range(2):
        await visit(site, conditional)
    assert site.asked(200) == ["/"]


@pytest.mark.parametrize("engine", ["postgresql", "mariadb"])
@deferred_f_from_coro_f
async def test_on_servers(site, conditional):
    for number in range(3):
        await visit(site, conditional)
        assert len(site.asked(304)) == (4 if number else 0)
        site.change("/b", text=f"another text {number}")


@deferred_f_from_coro_f
async def test_what_expired_is_read(site, conditional, tmp_path):
    await visit(site, conditional)
    with closing(sqlite3.connect(tmp_path / "seen.db")) as index, index:
        index.execute("UPDATE simhash_claims SET created = 1, seen = 1")
        index.execute("UPDATE simhash_runs SET heartbeat = 1")
    second = await visit(site, conditional | {"SIMHASH_EXPIRE": 1})
    assert second.urls == ["/a", "/b", "/c", "/d"]
    assert site.asked(304) == []


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
OTHER = st.tuples(st.integers()) | st.binary() | st.dictionaries(st.integers(), st.none())


class TestStoredRequests:
    spider = Follows("http://shop.example")
    stored = StoredRequests(spider)

    @given(
        meta=st.dictionaries(st.text(max_size=5), PLAIN | OTHER, max_size=3),
        cb_kwargs=st.dictionaries(st.text(max_size=5), PLAIN | OTHER, max_size=3),
        cookies=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        headers=st.dictionaries(st.sampled_from(["A", "B"]), st.binary(max_size=5)),
        body=st.binary(max_size=5),
        priority=st.integers(-5, 5),
        dont_filter=st.booleans(),
    )
    def test_a_request_is_restored_exactly_or_not_stored(self, **more):
        request = Request("http://shop.example/ä?b=1#c", self.spider.parse, **more)
        plain = self.stored.plain(request)
        assert self.stored.is_storable(request) == (plain is not None and not more["dont_filter"])
        if plain is not None:
            restored = self.stored.restore(unpack_request(pack_request(plain)), depth=0)
            assert (restored.meta.pop(ASKED), restored.meta.pop("depth")) == (plain, 0)
            assert repr(restored.to_dict(spider=self.spider)) == repr(
                request.to_dict(spider=self.spider)
            )

    @pytest.mark.parametrize(
        "packed",
        [b"", b"damaged", pack_request({}), pack_request({"url": 1})],
    )
    def test_what_is_damaged_is_no_request(self, packed):
        with pytest.raises(ValueError, match="damaged"):
            unpack_request(packed)

    @pytest.mark.parametrize(
        "plain",
        [
            {"url": "no URL"},
            {"url": "http://a.example", "callback": "unknown"},
            {"url": "http://a.example", "method": 3, "class": "subprocess.Popen"},
            {"url": "http://a.example", "headers": 3},
        ],
    )
    def test_what_does_not_fit_is_not_restored(self, plain):
        with pytest.raises(ValueError):  # noqa: PT011 - each says something else
            self.stored.restore(plain, depth=0)


@deferred_f_from_coro_f
async def test_commands_know_the_pages(site, conditional, call, tmp_path):
    for _ in range(2):
        await visit(site, conditional)
    database = ("--database", str(tmp_path / "seen.db"), "--namespace", "follows")
    shown = json.loads(call("show", f"{site.url}/list", "--json", *database)[1])
    assert [known["etag"] for known in shown["known"]] == [site.pages["/list"].tag()]
    assert "Known page" in call("show", f"{site.url}/b", *database)[1]
    reset = json.loads(call("reset", "--url", f"{site.url}/*b*", "--yes", "--json", *database)[1])
    assert reset == {"namespace": "follows", "items": 1, "pages": 1}
    third = await visit(site, conditional)
    assert third.urls == ["/b"]
    assert site.asked(200) == ["/", "/b"]
    assert "0 items and 0 pages" in call("reset", "--url", "http://x.example/*", *database)[1]
    assert json.loads(call("reset", "--url", "*", "--yes", "--json", *database)[1])["pages"] == 5
    assert len((await visit(site, conditional)).items) == 4
    assert site.asked(304) == []


@deferred_f_from_coro_f
async def test_what_robots_txt_forbids_is_asked_for_once_it_is_allowed(site, conditional):
    await visit(site, conditional)
    site.raw["/robots.txt"] = b"User-agent: *\nDisallow: /b"
    obeys = conditional | {"ROBOTSTXT_OBEY": True}
    second = await visit(site, obeys)
    assert "/b" not in site.asked()
    assert site.asked(304) == ["/a", "/c", "/d", "/list"]
    site.raw["/robots.txt"] = b""
    site.change("/b", text="another text")
    third = await visit(site, obeys)
    assert third.urls == ["/b"]
    assert (second.errors, third.errors) == (0, 0)


@deferred_f_from_coro_f
async def test_known_pages_of_other_domains_are_left_alone(site, conditional):
    await visit(site, conditional)
    elsewhere = type("Elsewhere", (Follows,), {"allowed_domains": ("shop.example",)})
    await visit(site, conditional, elsewhere)
    assert site.asked() == ["/"]
