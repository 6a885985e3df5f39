"""The same things seen again: elsewhere, in another order, beside new ones, at another price."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, story

SHOP, TOWN = "http://shop.example", "http://town.example"


class MonitorSpider(PageSpider):
    """What a price monitor stores of a page, with or without its URL."""

    name = "monitor"

    def parse(self, response):
        found = {name: response.css(f".{name}::text").get() for name in ("name", "price", "views")}
        yield found | ({"url": response.url} if "url" in response.url else {})


@pytest.mark.parametrize("page", ["by-url", "by-fields"])
@pytest.mark.parametrize(("price", "status"), [("€5.00", "unchanged"), ("€5.50", "changed")])
@deferred_f_from_coro_f
async def test_a_box_beside_the_values_of_an_item_makes_no_version(settings, page, price, status):
    """Its page has a short description, so what else the shop recommends is the main text."""

    def lamp(visit: int, price: str) -> dict[str, bytes]:
        values = {"name": "A lamp", "price": price, "views": f"{visit * 7} views"}
        fields = "".join(f"<p class='{name}'>{value}</p>" for name, value in values.items())
        return {f"/{page}": layout("shop", "A lamp", fields + paragraphs(*story(visit, 180)))}

    hosts = {"shop.example": lamp(1, "€5.00")}
    settings |= {"SIMHASH_KNOWN": "drop", "SIMHASH_CHANGE_FIELD": "change"}
    with serve_hosts(hosts) as through:
        await crawl(MonitorSpider, settings | through, [f"{SHOP}/{page}"])
        hosts["shop.example"] = lamp(2, price)
        again = await crawl(MonitorSpider, settings | through, [f"{SHOP}/{page}"])
    assert again.stats[f"changes/{status}"] == 1


class TitleSpider(PageSpider):
    """The URL and the title of a page, as in the first steps."""

    name = "titles"

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("It costs £12.50.", "It costs £13.50.", "changed"),
        ("Doors are open.", "Doors are not open.", "changed"),
        ("12 comments. Updated 3 hours ago", "15 comments. Updated 5 hours ago", "unchanged"),
    ],
)
@deferred_f_from_coro_f
async def test_an_item_of_url_and_title_stands_for_the_text_of_its_page(settings, old, new, status):
    def page(words: str) -> dict[str, bytes]:
        return {"/p": layout("shop", "A lamp", paragraphs(*story(1, 180), words))}

    hosts = {"shop.example": page(old)}
    settings |= {"SIMHASH_KNOWN": "drop"}
    with serve_hosts(hosts) as through:
        await crawl(TitleSpider, settings | through, [f"{SHOP}/p"])
        hosts["shop.example"] = page(new)
        again = await crawl(TitleSpider, settings | through, [f"{SHOP}/p"])
    assert again.stats[f"changes/{status}"] == 1


class ArchiveSpider(PageSpider):
    """An author, and what an item holds of a page's text in another form."""

    name = "archive"

    def __init__(self, urls, form):
        super().__init__(urls)
        self.form = form

    def parse(self, response):
        yield {"url": response.url, "author": "Ann Lee", "held": self.form(response)}


@pytest.mark.parametrize(
    "form",
    [
        lambda response: response.css("main").get(),
        lambda response: response.body,
        lambda response: [{"part": part} for part in response.css("main p").getall()],
        lambda response: [
            response.urljoin(to) for to in response.css("main a::attr(href)").getall()
        ],
    ],
    ids=["markup", "bytes", "parts", "links"],
)
@deferred_f_from_coro_f
async def test_an_item_that_holds_more_than_facts_changes_with_its_page(settings, form):
    def archived(visit: int) -> bytes:
        links = f"<p><a href='/{visit}'>More of it</a></p>"
        return layout("archive", "A story", paragraphs(*story(visit, 180)) + links)

    settings |= {"SIMHASH_KNOWN": "drop"}
    for visit in range(2):
        with serve_hosts({"shop.example": {"/a": archived(visit)}}) as through:
            done = await crawl(ArchiveSpider, settings | through, [f"{SHOP}/a"], form)
        assert len(done.items) == 1


class ShopSpider(PageSpider):
    """A product and its reviews; `url_of` gives reviews a URL, if they have one."""

    name = "shop"

    def __init__(self, urls, url_of):
        super().__init__(urls)
        self.url_of = url_of

    def parse(self, response):
        price = response.css(".price::text").get()
        yield {"url": response.url, "name": response.css("h1::text").get(), "price": price}
        for number, text in enumerate(response.css(".review::text").getall()):
            yield {"text": text} | self.url_of(response.url, number)


@pytest.mark.parametrize(
    ("url_of", "found"),
    [
        (lambda *_: {}, {"changed": 1, "unchanged": 2, "new": 1}),
        (lambda url, n: {"url": f"{url}#review-{n}"}, {"changed": 1, "unchanged": 2, "new": 1}),
        # Rows of a list, which come and go.
        (lambda url, _: {"url": url}, {"new": 2, "unchanged": 2, "missing": 1}),
    ],
    ids=["none", "own", "page"],
)
@deferred_f_from_coro_f
async def test_the_item_of_a_page_is_known_beside_its_other_items(settings, url_of, found):
    def lamp(price: str, *reviews: str) -> dict[str, bytes]:
        shown = "".join(f"<p class='review'>{review}</p>" for review in reviews)
        return {"/lamp": layout("shop", "<h1>A lamp</h1>", f"<p class='price'>{price}</p>{shown}")}

    hosts = {"shop.example": lamp("€5.00", "Fine", "It broke")}
    settings |= {"SIMHASH_KNOWN": "drop"}
    with serve_hosts(hosts) as through:
        await crawl(ShopSpider, settings | through, [f"{SHOP}/lamp"], url_of)
        hosts["shop.example"] = lamp("€5.50", "Fine", "It broke", "Too dark")
        again = await crawl(ShopSpider, settings | through, [f"{SHOP}/lamp"], url_of)
    shown = {name: again.stats.get(f"changes/{name}", 0) for name in found}
    assert shown == found


class StorySpider(PageSpider):
    """Stores the paragraphs of a page, or all its text."""

    name = "stories"

    def parse(self, response):
        path = "//body//text()" if "all" in response.url else "//main//p//text()"
        yield {"url": response.url, "text": " ".join(response.xpath(path).getall())}


@deferred_f_from_coro_f
async def test_equal_items_are_compared_by_equal_texts_wherever_in_the_crawl_they_are(settings):
    """Where many items have no boilerplate, few are read beside their pages."""
    pages = {f"/{number}": paragraphs(*story(number)) for number in range(16)}
    pages |= {f"/{number}/all": paragraphs(*story("one")) for number in range(9)}
    hosts = {"shop.example": {path: layout("shop", "Now", text) for path, text in pages.items()}}
    settings |= {"CONCURRENT_REQUESTS": 1}
    with serve_hosts(hosts) as through:
        done = await crawl(StorySpider, settings | through, [f"{SHOP}{path}" for path in pages])
    assert len(done.items) == 17
