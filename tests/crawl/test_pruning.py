"""Requests that only repeat what is known are left out, and nothing else is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

import pytest
from loopback import Page, PageSpider, answering, article, crawl
from repeating_site import EverythingSpider, RepeatingSite
from scrapy import Request
from scrapy.utils.defer import deferred_f_from_coro_f

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

SITE = RepeatingSite(products=48, sessions=12, months=60, per_page=8, pages=2)


class OneByOne:
    """Has each page wait for the verdict on the one before it."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._pages = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        while (
            "simhash_via" in request.meta
            and self._stats.get_value("simhash/checked", 0) < self._pages
        ):
            await asyncio.sleep(0.001)

    def process_response(self, request: Request, response: Response) -> Response:
        self._pages += "simhash_via" in request.meta
        return response


class VersionsSpider(PageSpider):
    """Fetches the addresses that the first page lists, one after the other."""

    links: tuple[str, ...] = ()
    meta: dict[str, object] = {}  # noqa: RUF012 - tests replace it

    def parse(self, response):
        if response.url.endswith("/start"):
            for link in self.links:
                yield Request(response.urljoin(link), meta=dict(self.meta))
        else:
            yield {"url": response.url}


def versions(news: dict[int, str] | None = None):
    """What is served under /start and /p?v=…: one article, but for some that are another."""

    def find(target: str) -> bytes | None:
        if target == "/start":
            return article("start")
        if not target.startswith("/p"):
            return None
        return article((news or {}).get(int(target.partition("=")[2] or 0), "p"))

    return find


#: A crawl as people have it, where verdicts come when other requests were made already.
AT_ONCE = {"DOWNLOADER_MIDDLEWARES": {}, "CONCURRENT_REQUESTS": 16}


@pytest.fixture
def settings(settings):
    return settings | {"SIMHASH_PRUNE": 5, "DOWNLOADER_MIDDLEWARES": {OneByOne: 50}}


@pytest.fixture
def fetch(settings):
    """Crawl /start and sixty versions; gives the crawl."""

    async def fetch(site: str, **given: object):
        spider = type("Spider", (VersionsSpider,), {"links": [f"/p?v={n}" for n in range(60)]})
        return await crawl(spider, settings | given, [f"{site}/start"])

    return fetch


@deferred_f_from_coro_f
async def test_sessions_calendars_and_facets_are_left_out_and_nothing_is_lost(settings):
    asked: list[str] = []

    def find(target: str) -> bytes | None:
        asked.append(target)
        return SITE.find(target)

    downloads = []
    with answering(find) as site:
        for prune, name in ((False, "all"), (True, "pruned")):
            asked.clear()
            given = {"SIMHASH_NAMESPACE": name, "SIMHASH_PRUNE": prune, **AT_ONCE}
            done = await crawl(EverythingSpider, settings | given, site=site)
            assert {item["thing"] for item in done.items} == SITE.things()
            assert done.errors == 0
            downloads.append(len(asked))
    useless = downloads[0] - len(SITE.needed())
    assert (downloads[0] - downloads[1]) / useless > 0.6
    assert done.stats["prune/dropped"] > 0
    assert done.stats["prune/tested"] > 0


@deferred_f_from_coro_f
async def test_it_is_off_by_default(fetch):
    with answering(versions()) as site:
        done = await fetch(site, SIMHASH_PRUNE=False)
    assert done.stats["duplicates"] == 59
    assert not any(name.startswith("prune/") for name in done.stats)
    middlewares = done.crawler.engine.downloader.middleware.middlewares
    assert not any("Simhash" in type(one).__name__ for one in middlewares)


@deferred_f_from_coro_f
async def test_after_the_budget_one_in_twenty_is_made(fetch, caplog):
    caplog.set_level("INFO")
    with answering(versions()) as site:
        done = await fetch(site)
        asked = f"{site.removeprefix('http://')}/p?v"
    # One that is stored, five that repeat it, and of 54 the 20th and the 40th.
    assert (done.stats["unique"], done.stats["duplicates"]) == (1, 7)
    assert (done.stats["prune/dropped"], done.stats["prune/tested"]) == (52, 2)
    (line,) = [one.getMessage() for one in caplog.records if "left out, as" in one.getMessage()]
    assert "what is known: 52. " in line
    assert f"52 for {asked}" in line


@deferred_f_from_coro_f
async def test_the_first_new_page_ends_it_and_brings_back_what_was_left_out(fetch):
    # The 20th that would have been left out is tested.
    with answering(versions({25: "other", 12: "earlier", 58: "later"})) as site:
        done = await fetch(site)
    assert done.urls == ["/p?v=0", "/p?v=12", "/p?v=25", "/p?v=58"]
    assert done.stats["prune/put_back"] == done.stats["prune/dropped"] == 19
    assert done.stats["prune/given_up"] == 1
    assert done.errors == 0


@deferred_f_from_coro_f
async def test_one_page_that_differs_before_the_budget_is_enough(fetch):
    with answering(versions({4: "other"})) as site:
        done = await fetch(site)
    assert len(done.items) == 2
    assert "prune/dropped" not in done.stats


@deferred_f_from_coro_f
async def test_an_item_whose_other_facts_differ_is_new(settings):
    class Spider(VersionsSpider):
        links = [f"/p?v={n}" for n in range(30)]  # noqa: RUF012

        def parse(self, response):
            for output in super().parse(response):
                if isinstance(output, dict):
                    output["size"] = response.url.partition("=")[2]
                yield output

    with answering(versions()) as site:
        done = await crawl(Spider, settings, [f"{site}/start"])
    assert done.stats["kept/other_facts/size"] == 29
    assert "prune/dropped" not in done.stats


@deferred_f_from_coro_f
async def test_a_part_can_be_left_alone(fetch):
    with answering(versions()) as site:
        part = f"{site.removeprefix('http://')}/p?v"
        done = await fetch(site, SIMHASH_PRUNE_NEVER=[part])
    assert done.stats["duplicates"] == 59
    assert "prune/dropped" not in done.stats


@deferred_f_from_coro_f
async def test_what_a_request_or_start_asks_for_is_fetched(settings):
    class Spider(VersionsSpider):
        links = [f"/p?v={n}" for n in range(30)]  # noqa: RUF012
        meta = {"simhash_prune": False}  # noqa: RUF012

    with answering(versions()) as site:
        meant = await crawl(Spider, settings, [f"{site}/start"])
        first = await crawl(PageSpider, settings, [f"{site}/p?v={n}" for n in range(30)])
    for done in (meant, first):
        assert done.stats["checked"] == 30
        assert "prune/dropped" not in done.stats


@deferred_f_from_coro_f
async def test_only_what_an_address_leads_to_without_its_part_is_left_out(settings):
    # Ten pages under sessions show that these say nothing; the eleventh has no other address.
    class Spider(VersionsSpider):
        links = [f"/{n}?sid={s}" for n in range(10) for s in range(2)] + ["/new?sid=9"]

    with answering(lambda target: article(target.partition("?")[0])) as site:
        done = await crawl(Spider, settings, [f"{site}/start"])
    assert "/new?sid=9" in done.urls
    assert len(done.items) == 11


class Fails:
    """Stores all but what one address gave."""

    async def process_item(self, item):
        if item["url"].endswith("/6?sid=0"):
            await asyncio.sleep(0.2)
            raise ValueError("an error in a pipeline")
        return item


@deferred_f_from_coro_f
async def test_what_would_repeat_something_that_is_not_stored_is_fetched(settings):
    class Spider(VersionsSpider):
        links = [f"/{n}?sid={s}" for n in range(7) for s in range(2)]  # noqa: RUF012

    given = settings | {"ITEM_PIPELINES": {Fails: 500}}
    with answering(lambda target: article(target.partition("?")[0])) as site:
        done = await crawl(Spider, given | {"SIMHASH_PRUNE": 2}, [f"{site}/start"])
    # It was left out while the first one was on its way.
    assert done.stats["prune/put_back"] == 1
    assert "/6?sid=1" in done.urls


@deferred_f_from_coro_f
async def test_what_is_found_only_behind_a_page_that_repeats_is_found(settings):
    class Spider(VersionsSpider):
        links = [f"/p?v={n}" for n in range(60)]  # noqa: RUF012

        def parse(self, response):
            yield from super().parse(response)
            # The 20th that would be left out, which is tested.
            if response.url.endswith("/p?v=25"):
                yield Request(response.urljoin("/hidden"))

    def find(target: str) -> bytes | None:
        return article("hidden") if target == "/hidden" else versions()(target)

    with answering(find) as site:
        done = await crawl(Spider, settings, [f"{site}/start"])
    assert "/hidden" in done.urls
    assert done.stats["prune/put_back"] > 0


@deferred_f_from_coro_f
async def test_a_mirror_repeats_another_site_and_not_itself(settings):
    pages = {f"/{host}/{n}": article(n) for n in range(30) for host in "ab"}

    class Spider(VersionsSpider):
        def parse(self, response):
            if response.url.endswith("/start"):
                yield from (Request(f"{response.urljoin(f'/a/{n}')}") for n in range(30))
                mirror = response.url.replace("127.0.0.1", "localhost")
                yield from (Request(f"{mirror[:-6]}/p?id={n}") for n in range(30))
            else:
                yield {"url": response.url}

    def find(target: str) -> bytes | None:
        return pages.get(target.replace("/p?id=", "/b/")) or article("start")

    with answering(find) as site:
        done = await crawl(Spider, settings, [f"{site}/start"])
    assert done.stats["duplicates/other_site"] == 30
    assert "prune/dropped" not in done.stats


@deferred_f_from_coro_f
async def test_a_crawl_begins_with_what_the_index_knows(fetch):
    with answering(versions()) as site:
        await fetch(site, SIMHASH_PRUNE=False)
        again = await fetch(site)
    # Its own page is the same thing again; whatever would repeat it is left out at once.
    assert again.urls == ["/p?v=0"]
    assert again.stats["same"] == 1
    assert again.stats["prune/dropped"] + again.stats["prune/tested"] == 59


@deferred_f_from_coro_f
async def test_what_the_index_contradicts_is_never_left_out(fetch):
    with answering(versions({58: "other"})) as site:
        await fetch(site, SIMHASH_PRUNE=False)
        again = await fetch(site)
    assert again.urls == ["/p?v=0", "/p?v=58"]
    assert "prune/dropped" not in again.stats


@deferred_f_from_coro_f
async def test_where_an_earlier_crawl_stored_something_is_fetched_again(settings, fetch):
    class Backwards(VersionsSpider):
        links = [f"/p?v={n}" for n in reversed(range(60))]  # noqa: RUF012

    with answering(versions()) as site:
        await fetch(site, SIMHASH_PRUNE=False)
        again = await crawl(Backwards, settings, [f"{site}/start"])
    assert again.urls == ["/p?v=0"]
    assert again.stats["prune/dropped"] > 50


@deferred_f_from_coro_f
async def test_pages_that_are_skipped_count_as_well(fetch):
    with answering(versions()) as site:
        done = await fetch(site, SIMHASH_ON_DUPLICATE="skip")
    assert done.stats["prune/dropped"] == 52
    assert done.stats["pages/skipped"] == 7


def not_found(target: str) -> Page:
    return Page(article("not found", extra=target))


@deferred_f_from_coro_f
async def test_what_a_host_says_to_any_address_is_no_page(settings):
    asked: list[str] = []
    pages = {"/a": article("a"), "/b": article("a")}

    def find(target: str) -> bytes | Page:
        asked.append(target)
        return pages.get(target) or not_found(target)

    with answering(find) as site:
        urls = [site + path for path in ("/a", "/b", "/gone/1", "/gone/2")]
        done = await crawl(PageSpider, settings, urls)
        plain = await crawl(PageSpider, settings | {"SIMHASH_PRUNE": False}, urls)
    assert done.urls == ["/a", "/gone/1", "/gone/2"]
    assert done.stats["skipped/soft_404"] == 2
    assert done.stats["prune/probes"] == 1
    # One request, whose answer no callback sees.
    assert len(asked) == 5 + 4
    assert (plain.stats.get("prune/probes"), plain.stats.get("skipped/soft_404")) == (None, None)


@pytest.mark.parametrize("answer", [404, 503, "forbidden"])
@deferred_f_from_coro_f
async def test_where_a_host_says_that_nothing_is_there_all_is_compared(settings, answer):
    asked: list[str] = []

    def find(target: str) -> bytes | Page | None:
        asked.append(target)
        if target == "/robots.txt":
            return Page(b"User-agent: *\nDisallow: /\nAllow: /page", "text/plain")
        return article("a") if target.startswith("/page") else Page(b"", status=int(answer))

    with answering(find) as site:
        obeys = {"ROBOTSTXT_OBEY": answer == "forbidden"}
        done = await crawl(PageSpider, settings | obeys, [f"{site}/page1", f"{site}/page2"])
    assert (done.stats["unique"], done.stats["duplicates"]) == (1, 1)
    probes = [target for target in asked if not target.startswith(("/page", "/robots"))]
    assert len(probes) == (answer != "forbidden")
    assert done.errors == 0
