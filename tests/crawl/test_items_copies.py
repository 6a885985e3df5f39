"""Copies, on one site and on another, and what only looks like one."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import Page, PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import bare, layout, paragraphs, person, price, sentences, story, title
from visits import claims_in, crawl_twice, on_both_engines

NEWS, SHOP = "http://news-one.example", "http://shop.example"


class StorySpider(PageSpider):
    name = "stories"

    def parse(self, response):
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "author": response.css(".author::text").get(),
            "date": response.css("time::attr(datetime)").get(),
            "text": "\n".join(response.css(".body p::text").getall()),
        }


class TitleSpider(PageSpider):
    """Its items hold nothing of the page's text."""

    name = "titles"

    def parse(self, response):
        yield {"url": response.url, "title": response.css("h1::text").get()}


def report(number: int, site: str) -> bytes:
    """A story as one of two papers brings it."""
    day = 1 + number % 27 if site == "news-one" else 28
    head = (
        f"<p class='byline'><span class='author'>{person((number, site))}</span> "
        f"<time datetime='2024-05-{day:02}'>{day} May</time></p>"
    )
    body = f"<div class='body'>{paragraphs(*story(number, 240))}</div>"
    return layout(site, title((number, site), 7), head + body)


@on_both_engines
@pytest.mark.parametrize("spider", [StorySpider, TitleSpider])
@deferred_f_from_coro_f
async def test_a_story_of_two_papers_is_kept_once_under_whatever_headline(settings, spider):
    hosts = {
        f"{site}.example": {f"/{number}": report(number, site) for number in range(60)}
        for site in ("news-one", "news-two")
    }
    urls = [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]
    with serve_hosts(hosts) as through:
        done = await crawl_twice(spider, settings | through, urls, kept=60)
    assert sorted(item["url"] for item in done.items) == sorted(urls[:60])


class ProductSpider(PageSpider):
    name = "products"

    def parse(self, response):
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "price": response.css(".price::text").get(),
            "text": "\n".join(response.css(".body p::text").getall()),
        }


def product(number: int, cost: str, site: str = "shop") -> bytes:
    body = f"<div class='body'>{paragraphs(*story(f'product {number}', 180))}</div>"
    return layout(site, title(number), f"<span class='price'>{cost}</span>{body}")


@on_both_engines
@pytest.mark.parametrize("spider", [StorySpider, TitleSpider])
@deferred_f_from_coro_f
async def test_a_session_copy_and_a_print_view_are_dropped(settings, spider):
    pages = {}
    for number in range(10):
        body = f"<div class='body'>{paragraphs(*story(number, 240))}</div>"
        pages[f"/story/{number}"] = layout("news", title(number), body)
        pages[f"/s/{number * 7919}/story/{number}"] = pages[f"/story/{number}"]
        pages[f"/print/{number}"] = bare(title(number), body)
    urls = [NEWS + path for path in pages]
    urls += [f"{NEWS}/story/{number}?sid=a{number}f" for number in range(10)]
    with serve_hosts({"news-one.example": pages}) as through:
        done = await crawl_twice(spider, settings | through, urls, kept=10)
    assert {item["title"] for item in done.items} == {title(number) for number in range(10)}


@on_both_engines
@deferred_f_from_coro_f
async def test_the_same_description_for_another_price_is_another_product(settings):
    pages = {}
    for number in range(8):
        pages[f"/p/{number}"] = product(number, price(number))
        pages[f"/offer/{number}"] = product(number, price(f"offer {number}"))
    urls = [SHOP + path for path in pages] + [f"{SHOP}/p/{number}?sid=1" for number in range(8)]
    with serve_hosts({"shop.example": pages}) as through:
        await crawl_twice(ProductSpider, settings | through, urls, kept=16)


@on_both_engines
@pytest.mark.parametrize("form", ["€ {}", "{} EUR", "{}"])
@deferred_f_from_coro_f
async def test_the_text_of_a_maker_in_two_shops_for_other_prices_is_two_offers(settings, form):
    def offer(number: int, site: str) -> bytes:
        return product(number, form.format(price((number, site)).removeprefix("€ ")), site)

    hosts = {
        f"{site}.example": {f"/{number}": offer(number, site) for number in range(10)}
        for site in ("shop-one", "shop-two")
    }
    urls = [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]
    with serve_hosts(hosts) as through:
        await crawl_twice(ProductSpider, settings | through, urls, kept=20)


@deferred_f_from_coro_f
async def test_an_amount_is_the_same_however_it_is_written(settings):
    hosts = {
        "shop-one.example": {f"/{n}": product(n, f"€1{n}.99", "one") for n in range(6)},
        "shop-two.example": {f"/{n}": product(n, f"1{n},99 EUR", "two") for n in range(6)},
    }
    urls = [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]
    with serve_hosts(hosts) as through:
        await crawl_twice(ProductSpider, settings | through, urls, kept=6)


class ReleaseSpider(PageSpider):
    name = "releases"

    def parse(self, response):
        yield {
            "id": int(response.css("article::attr(data-id)").get()),
            "headline": response.css("h1::text").get(),
            "date": response.css("time::text").get(),
            "views": int(response.css(".views::text").get()),
            "reading_time": response.css(".minutes::text").get(),
            "body": response.css(".body p::text").getall(),
            "url": response.url,
        }


@on_both_engines
@deferred_f_from_coro_f
async def test_a_press_release_on_two_sites_is_kept_once_whatever_its_counters_say(settings):
    def release(number: int, site: str) -> bytes:
        at = number + (40 if site == "news-two" else 0)
        main = (
            f"<article data-id='{at * 31 + 4000}'><time>{1 + at % 28} June</time>"
            f"<span class='views'>{at * 97}</span>"
            f"<span class='minutes'>{at / 10 + 1:.1f} min</span>"
            f"<div class='body'>{paragraphs(*story(f'release {number}', 240))}</div></article>"
        )
        return layout(site, title((number, site), 6), main)

    hosts = {
        f"{site}.example": {f"/{number}": release(number, site) for number in range(10)}
        for site in ("news-one", "news-two")
    }
    urls = [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]
    with serve_hosts(hosts) as through:
        await crawl_twice(ReleaseSpider, settings | through, urls, kept=10)


class TextSpider(PageSpider):
    """Items of an address and a text."""

    name = "texts"

    def parse(self, response):
        yield {"url": response.url, "text": "\n".join(response.css("main p::text").getall())}


@on_both_engines
@deferred_f_from_coro_f
async def test_daily_notices_are_one_text_with_other_numbers(settings):
    def notice(day: int) -> bytes:
        case = (
            f"In case {4100 + day * 3}/24 the hearing of {person(day)} is set for "
            f"{1 + day % 28}.{1 + day // 28}.2024 at {9 + day % 7}:30 in room {100 + day % 40}."
        )
        return layout("court", "Public notice", paragraphs(case, *story("notice", 240)))

    pages = {f"/notices/{day}": notice(day) for day in range(60)}
    with serve_hosts({"court.example": pages}) as through:
        urls = [f"http://court.example{path}" for path in pages]
        await crawl_twice(TextSpider, settings | through, urls, kept=60)


def wall(number: int, site: str) -> bytes:
    """A page whose visitors are asked something first; what it is about is loaded later."""
    ask = paragraphs(*story("we value your privacy", 180))
    return layout(site, title((site, number)), f"<div class='dialog'>{ask}</div>")


def sorry(number: int, site: str) -> bytes:
    text = paragraphs(sentences("sorry, this is not available where you are", 70))
    return layout(site, title((site, number)), text)


@on_both_engines
@pytest.mark.parametrize("page", [wall, sorry])
@deferred_f_from_coro_f
async def test_what_every_page_of_a_site_asks_or_regrets_makes_no_copies_of_them(settings, page):
    """Nor of those of another site that asks the same, once it is known to be asked everywhere."""
    hosts = {
        f"{site}.example": {f"/{number}": page(number, site) for number in range(12)}
        for site in ("shop-one", "shop-two")
    }
    urls = [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]
    with serve_hosts(hosts) as through:
        await crawl_twice(TitleSpider, settings | through, urls, kept=24)


@pytest.mark.parametrize("status", [404, 500])
@deferred_f_from_coro_f
async def test_error_pages_are_not_compared(settings, status):
    class Spider(PageSpider):
        name = "errors"
        handle_httpstatus_list = (404, 500)

        def parse(self, response):
            yield {"url": response.url, "status": response.status}

    body = layout("news", "Not here", paragraphs(*story("we are sorry", 180)))
    pages = {f"/{number}": Page(body, status=status) for number in range(6)}
    with serve_hosts({"news-one.example": pages}) as through:
        await crawl_twice(Spider, settings | through, [NEWS + path for path in pages], kept=6)
        assert claims_in(settings) == 0
        pages["/found"] = Page(body)
        found = await crawl(Spider, settings | through, [f"{NEWS}/found"])
    assert len(found.items) == 1
