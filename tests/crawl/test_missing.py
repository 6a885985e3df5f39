"""What a crawl does not find is missing, unless it did not look because an earlier crawl has."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import crawl
from scrapy import Request, Spider, version_info
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, story, title

SITE = "http://shop.example"


class Linked(Spider):
    """Follows the links of a list, each of which it finds twice."""

    name = "linked"
    start_urls = (f"{SITE}/",)
    allowed_domains = ("shop.example",)

    def parse(self, response):
        for _ in range(2):
            for link in response.css("a.page::attr(href)").getall():
                yield Request(response.urljoin(link), self.parse_page)

    def parse_page(self, response):
        yield {"url": response.url, "text": "\n".join(response.css("main p::text").getall())}
        if self.settings.getbool("PAUSES"):
            raise CloseSpider("paused")


class Filter(RFPDupeFilter):
    """It may know the requests of all crawls, as one does that stores them in Redis."""


class Skips:
    """Ignores requests that it has seen in an earlier crawl."""

    def process_request(self, request):
        if request.url.endswith("/c"):
            raise IgnoreRequest("seen in an earlier crawl")


class SkipsInSpider:
    """Skips requests as deltafetch does."""

    def __init__(self, stats):
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.stats)

    async def process_spider_output(self, response, result):
        async for one in result:
            if isinstance(one, Request) and one.url.endswith("/c"):
                self.stats.inc_value("deltafetch/skipped")
            else:
                yield one


def site(names: str) -> dict[str, dict[str, bytes]]:
    urls = [*(f"/{name}" for name in names), "http://elsewhere.example/"]
    links = (f"<li><a class='page' href='{url}'>see</a></li>" for url in urls)
    pages = {"/": layout("shop", "All", f"<ul>{''.join(links)}</ul>")}
    for name in names:
        pages[f"/{name}"] = layout("shop", title(name), paragraphs(*story(name, 120)))
    return {"shop.example": pages | {"/robots.txt": b"User-agent: *\nDisallow: /b"}}


async def visits(settings, *crawls) -> list[int]:
    """How much each of some crawls misses, given the pages there are and its settings."""
    missing = []
    for names, more in crawls:
        with serve_hosts(site(names)) as through:
            given = settings | through | more
            middlewares = {**through["DOWNLOADER_MIDDLEWARES"], **more.get("MIDDLEWARES", {})}
            done = await crawl(Linked, given | {"DOWNLOADER_MIDDLEWARES": middlewares})
        missing.append(done.stats.get("changes/missing", 0))
    return missing


@pytest.fixture
def job(tmp_path):
    return {"JOBDIR": str(tmp_path / "job")}


@deferred_f_from_coro_f
async def test_a_job_directory_that_is_used_again_misses_nothing(settings, job):
    assert await visits(settings, ("abcd", job), ("abe", job)) == [0, 0]
    assert await visits(settings, ("ae", {})) == [3]


@deferred_f_from_coro_f
async def test_a_crawl_that_was_paused_tells_what_it_has_not_found(settings, job):
    # Until Scrapy 2.18, a spider that is closed in a callback goes on for a moment.
    paused = job | {"PAUSES": True, "DOWNLOAD_DELAY": 0 if version_info >= (2, 18) else 1}
    assert await visits(settings, ("abcd", {}), ("abc", paused), ("abc", job)) == [0, 0, 1]


@deferred_f_from_coro_f
async def test_a_filter_that_may_know_earlier_requests_misses_nothing(settings):
    given = {"DUPEFILTER_CLASS": Filter}
    assert await visits(settings, ("abcd", given), ("abe", given)) == [0, 0]


@pytest.mark.parametrize("more", [{}, {"ROBOTSTXT_OBEY": True}])
@deferred_f_from_coro_f
async def test_duplicates_other_sites_and_robots_do_not_matter(settings, more, job):
    """The requests that a crawl repeats are filtered, and it finds all that there is."""
    assert await visits(settings, ("abcd", more), ("abc", more | job)) == [0, 1]


@pytest.mark.parametrize(
    "more", [{"MIDDLEWARES": {Skips: 500}}, {"SPIDER_MIDDLEWARES": {SkipsInSpider: 100}}]
)
@deferred_f_from_coro_f
async def test_where_a_middleware_skips_requests_nothing_is_missing(settings, more):
    assert await visits(settings, ("abcd", {}), ("abc", more)) == [0, 0]


@deferred_f_from_coro_f
async def test_items_that_are_compared_with_their_own_past_only_may_be_missing(settings):
    short = {"SIMHASH_MIN_FEATURES": 10_000}
    assert await visits(settings, ("abcd", short), ("abc", short)) == [0, 1]


@deferred_f_from_coro_f
async def test_where_fields_are_misspelt_nothing_is_missing(settings):
    misspelt = {"SIMHASH_FIELDS": ["txt"]}
    assert await visits(settings, ("abcd", {}), ("abcd", misspelt), ("abc", {})) == [0, 0, 1]
