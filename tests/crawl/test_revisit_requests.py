"""Known pages are asked for with the requests that the spider makes now, not with older ones."""

from __future__ import annotations

import pytest
from loopback import crawl
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.defer import deferred_f_from_coro_f
from validated_site import ValidatedSite, ValidPage, serve_validated

from scrapy_simhash.crawl.asked_page import AskedPage, is_fresh
from scrapy_simhash.crawl.stored_request import StoredRequests
from scrapy_simhash.index.pages import KnownPage, PageRow

MODIFIED = "Fri, 27 Nov 2026 08:00:00 GMT"


class Shop(Spider):
    """Pages link to lists, and to products with the prices that stand behind their links."""

    name = "shop"

    def __init__(self, url: str, **kwargs):
        super().__init__(**kwargs)
        self._url = url

    async def start(self):
        yield Request(f"{self._url}/")

    def parse(self, response):
        for link in response.css("li a::attr(href)").getall():
            path, _, price = link.partition("#")
            url = response.urljoin(path)
            if path.startswith("/p"):
                yield Request(url, self.product, cb_kwargs={"price": price} if price else {})
            else:
                yield Request(url)

    def product(self, response, price=""):
        title = response.css("h1::text").get()
        text = response.css("article p::text").get()
        yield {"url": response.url, "title": title, "text": text, "price": price}


class Currencies(Shop):
    """Asks for each product in two currencies."""

    name = "currencies"

    def parse(self, response):
        for link in response.css("li a::attr(href)").getall():
            for currency in ("EUR", "USD"):
                yield Request(
                    response.urljoin(link),
                    self.product if link.startswith("/p") else self.parse,
                    cookies={"currency": currency},
                    cb_kwargs={"price": f"7 {currency}"} if link.startswith("/p") else {},
                    dont_filter=link.startswith("/p"),
                )


@pytest.fixture
def conditional(settings):
    return {**settings, "SIMHASH_KNOWN": "drop", "SIMHASH_REVISIT": "conditional"}


async def visit(site, settings, spider=Shop):
    site.forget()
    found = await crawl(spider, settings, url=site.url)
    assert found.errors == 0
    return sorted((item["url"].removeprefix(site.url), item["price"]) for item in found.items)


@deferred_f_from_coro_f
async def test_a_page_is_asked_for_again_if_a_list_passes_something_else_on(conditional):
    """The nearer way to a product is gone: its known request is made before the list is read."""
    site = ValidatedSite(
        {
            "/": ValidPage(links=["/hub", "/p1#10"]),
            "/hub": ValidPage(links=["/list"]),
            "/list": ValidPage(links=["/p1#10", "/p2#10"]),
            "/p1": ValidPage("a kettle"),
            "/p2": ValidPage("a lamp"),
        }
    )
    with serve_validated(site):
        assert await visit(site, conditional) == [("/p1", "10"), ("/p2", "10")]
        site.change("/", links=["/hub"])
        for price in "789":
            site.change("/list", links=[f"/p1#{price}", f"/p2#{price}"])
            assert await visit(site, conditional) == [("/p1", price), ("/p2", price)]
        assert await visit(site, conditional) == []
        assert site.asked(304) == ["/hub", "/list", "/p1", "/p2"]


@deferred_f_from_coro_f
async def test_a_product_that_leads_to_its_category_takes_nothing_from_it(conditional):
    site = ValidatedSite(
        {
            "/": ValidPage(links=["/hub", "/p9"]),
            "/hub": ValidPage(links=["/category"]),
            "/category": ValidPage(links=["/p1"]),
            "/p1": ValidPage("a kettle"),
            "/p2": ValidPage("a lamp"),
            "/p3": ValidPage("a chair"),
            "/p9": ValidPage("a table"),
        }
    )
    with serve_validated(site):
        assert await visit(site, conditional) == [("/p1", ""), ("/p9", "")]
        site.change("/", links=["/hub"])
        site.change("/p9", redirect="/category")
        site.change("/category", text="all that is for sale")
        await visit(site, conditional)
        for number in (2, 3):
            site.change("/category", links=["/p1", f"/p{number}"])
            assert (f"/p{number}", "") in await visit(site, conditional)


@deferred_f_from_coro_f
async def test_a_page_behind_a_redirect_is_asked_for_once_with_what_is_passed_on(conditional):
    """Its list is read at each visit, or none of its pages was modified."""
    pages = {f"/p{number}/": ValidPage(f"text {number}") for number in range(2)}
    moved = {f"/p{number}": ValidPage(redirect=f"/p{number}/") for number in range(2)}
    site = ValidatedSite({"/": ValidPage(links=["/list"]), **pages, **moved})
    with serve_validated(site):
        for price in (10, 20):
            site.change("/list", links=[f"/p{number}#{price}" for number in range(2)])
            stored = [(path, str(price)) for path in pages]
            assert await visit(site, conditional) == stored
            for _ in range(2):
                assert await visit(site, conditional) == []
                assert site.asked(304) == ["/list", *pages]
                assert site.asked(200) == ["/"]
        for page in pages.values():
            page.validator = "none"
        for price in (30, 40):
            site.change("/list", links=[f"/p{number}#{price}" for number in range(2)])
            assert (await visit(site, conditional))[-2:] == [(path, str(price)) for path in pages]
            for _ in range(2):
                assert await visit(site, conditional) == []


@deferred_f_from_coro_f
async def test_pages_that_ask_twice_for_a_page_are_read(conditional):
    site = ValidatedSite(
        {
            "/": ValidPage(links=["/list"]),
            "/list": ValidPage(links=["/p1"]),
            "/p1": ValidPage("a kettle"),
        }
    )
    both = [("/p1", "7 EUR"), ("/p1", "7 USD")]
    with serve_validated(site):
        assert await visit(site, conditional, Currencies) == both
        site.change("/p1", text="a better kettle")
        assert await visit(site, conditional, Currencies) == both
        assert "/list" in site.asked(200)


@deferred_f_from_coro_f
async def test_pages_of_one_language_are_not_known_in_another(conditional):
    """Where a time of modification is all that identifies a page, each language has the same."""
    pages = {"/": ["/list"], "/list": ["/p1"], "/p1": []}
    site = ValidatedSite(
        {path: ValidPage(links=links, validator="time") for path, links in pages.items()}
    )
    german, again = (
        conditional | {"DEFAULT_REQUEST_HEADERS": {b"X-Token": token, "accept-language": "de"}}
        for token in "ab"
    )
    with serve_validated(site):
        for given, modified in ((conditional, []), (german, []), (again, ["/list", "/p1"])):
            await visit(site, given)
            assert site.asked(304) == modified


def validators(**headers: str) -> tuple[str | None, str | None]:
    """The validators that are kept of a response with these headers."""
    spider = Shop("http://shop.example")
    request = Request("http://shop.example/")
    asked = AskedPage(1, {"url": request.url}, 0, StoredRequests(spider), None)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    response = HtmlResponse(request.url, headers=given, request=request)
    asked.read(request, response)
    assert asked.end(response, well=True)
    row = asked.visit().row
    return row.etag, row.modified


@pytest.mark.parametrize(
    ("etag", "date", "kept"),
    [
        # Of the same second, there may be two versions of one size.
        ('"6b093880-1c"', MODIFIED, (None, None)),
        ('W/"6b093880-1c"', MODIFIED, (None, None)),
        ('"6b093880-1c"', "Fri, 27 Nov 2026 08:00:01 GMT", ('"6b093880-1c"', MODIFIED)),
        # A hash tells both apart, and so does a time in microseconds.
        ('"5d41402abc4b2a76"', MODIFIED, ('"5d41402abc4b2a76"', None)),
        ('"1c-64a91c80e4000"', MODIFIED, ('"1c-64a91c80e4000"', None)),
    ],
)
def test_a_time_within_the_second_of_the_answer_identifies_nothing(etag, date, kept):
    assert validators(ETag=etag, Last_Modified=MODIFIED, Date=date) == kept


@pytest.mark.parametrize(
    ("age", "fresh"), [(0.0, True), (59.0, True), (60.0, False), (-1.0, False)]
)
@pytest.mark.parametrize("mode", [60, "adaptive"])
def test_a_page_that_was_answered_in_the_future_is_not_fresh(age, fresh, mode):
    row = PageRow(interval=60, claims=b"12345678")
    known = KnownPage(row, True, False, False, age, "")
    assert is_fresh(known, mode) == fresh
