"""Pages of one site that share most of their text, while their items are all different."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import PageSpider, crawl
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, links, paragraphs, person, price, sentences, story, title
from visits import IN_ORDER, claims_in, crawl_twice, on_both_engines

SHOP, COUNCIL, BOOKS = "http://shop.example", "http://council.example", "http://books.example"


class TileSpider(PageSpider):
    name = "tiles"

    def parse(self, response):
        for tile in response.css(".tile"):
            yield {
                "name": tile.css("h2 a::text").get(),
                "price": tile.css(".price::text").get(),
                "url": response.urljoin(tile.css("h2 a::attr(href)").get()),
            }


def category(number: int, words: int, place: str) -> bytes:
    products = range(number * 24, number * 24 + 24)
    tiles = "".join(
        f"<div class='tile'><img src='/i/{n}.jpg' alt=''>"
        f"<h2><a href='/p/{n}'>{title(n, 3)}</a></h2>"
        f"<span class='price'>{price(n)}</span><button>Add to basket</button></div>"
        for n in products
    )
    about = paragraphs(sentences("about the category", words))
    main = about + tiles if place == "above" else tiles + about
    facets = links([f"/c?colour={n}" for n in range(6)], "facets")
    return layout("shop", "Garden chairs", main, aside=facets)


@on_both_engines
@pytest.mark.parametrize(("words", "place"), [(80, "above"), (160, "below")])
@deferred_f_from_coro_f
async def test_products_of_a_category_outlive_the_paragraph_on_each_of_its_pages(
    settings, words, place
):
    pages = {f"/c?page={n}": category(n, words, place) for n in range(8)}
    with serve_hosts({"shop.example": pages}) as through:
        await crawl_twice(TileSpider, settings | through, [SHOP + p for p in pages], kept=192)


class PositionSpider(PageSpider):
    name = "positions"

    def parse(self, response):
        for row in response.css("table.jobs tr.job"):
            role, place, hours = row.css("td ::text").getall()
            url = response.urljoin(row.css("a::attr(href)").get())
            yield {"role": role, "place": place, "hours": hours, "url": url}


@on_both_engines
@deferred_f_from_coro_f
async def test_open_positions_outlive_the_employers_text_about_itself(settings):
    def listed(page: int) -> bytes:
        rows = "".join(
            f"<tr class='job'><td><a href='/jobs/{n}'>{title(n, 3)}</a></td>"
            f"<td>{title(f'town {n % 9}', 1)}</td><td>{'full' if n % 3 else 'part'} time</td></tr>"
            for n in range(page * 20, page * 20 + 20)
        )
        about = paragraphs(sentences("about us", 120))
        return layout("employer", "Open positions", f"{about}<table class='jobs'>{rows}</table>")

    pages = {f"/jobs?page={n}": listed(n) for n in range(5)}
    with serve_hosts({"jobs.example": pages}) as through:
        urls = [f"http://jobs.example{path}" for path in pages]
        await crawl_twice(PositionSpider, settings | through, urls, kept=100)


def meeting(month: int, year: int = 2024) -> bytes:
    """The date stands in a `<time>` above what is the same each month."""
    date = f"{year}-{month:02}-12"
    when = f"<div class='meta'><time datetime='{date}T18:30'>12/{month:02}/{year}</time></div>"
    return layout("council", "Planning committee", when + paragraphs(*story("agenda", 180)))


class MeetingSpider(PageSpider):
    name = "meetings"

    def parse(self, response):
        yield {
            "committee": response.css("h1::text").get(),
            "date": response.css("time::attr(datetime)").get(),
            "agenda": "\n".join(response.css("main p::text").getall()),
            "url": response.url,
        }


class StoredPageSpider(PageSpider):
    """Stores pages; what they are about is left for later."""

    name = "stored"

    def parse(self, response):
        yield {"url": response.url, "html": response.text}


@on_both_engines
@pytest.mark.parametrize("spider", [MeetingSpider, StoredPageSpider])
@deferred_f_from_coro_f
async def test_monthly_meetings_differ_by_their_date_alone(settings, spider):
    pages = {f"/meetings/{month}": meeting(month) for month in range(1, 8)}
    with serve_hosts({"council.example": pages}) as through:
        await crawl_twice(spider, settings | through, [COUNCIL + p for p in pages], kept=7)


@on_both_engines
@pytest.mark.parametrize("words", [900, 3480])
@deferred_f_from_coro_f
async def test_stories_outlive_a_long_text_that_was_pasted_below_each_as_a_comment(settings, words):
    essay = paragraphs(*story("essay", words))
    comments = f"<div class='comments'><div class='comment'><b>{person(1)}</b>{essay}</div></div>"
    stories = {
        f"/{n}": layout("news", title(n), paragraphs(*story(n, 180)) + comments) for n in range(6)
    }
    blog = {"/essay": layout("blog", title("essay"), essay)}
    urls = ["http://blog.example/essay", *(f"http://news.example{path}" for path in stories)]
    with serve_hosts({"blog.example": blog, "news.example": stories}) as through:
        await crawl_twice(StoredPageSpider, settings | IN_ORDER | through, urls, kept=7)


class EventSpider(PageSpider):
    name = "events"

    def parse(self, response):
        yield {
            "title": response.css("h1::text").get(),
            "starts": response.css(".when::text").get(),
            "place": response.css(".where::text").get(),
            "description": " ".join(response.css(".description p::text").getall()),
            "url": response.url,
        }


@on_both_engines
@deferred_f_from_coro_f
async def test_recurring_events_differ_by_when_they_start(settings):
    def event(week: int) -> bytes:
        day, month = 1 + week * 7 % 28, 3 + week * 7 // 28
        main = (
            f"<p class='when'>2024-{month:02}-{day:02} 10:00</p><p class='where'>Town hall</p>"
            f"<div class='description'>{paragraphs(*story('walking group', 180))}</div>"
        )
        return layout("events", "Walking group", main)

    pages = {f"/events/{week}": event(week) for week in range(12)}
    with serve_hosts({"council.example": pages}) as through:
        await crawl_twice(EventSpider, settings | through, [COUNCIL + p for p in pages], kept=12)


class BookSpider(PageSpider):
    name = "books"

    def parse(self, response):
        yield {
            "title": response.css("h1::text").get(),
            "isbn": response.css(".isbn::text").get(),
            "price": response.css(".price::text").get(),
            "blurb": "\n".join(response.css(".blurb p::text").getall()),
            "url": response.url,
        }


@on_both_engines
@deferred_f_from_coro_f
async def test_editions_of_a_book_have_one_blurb_and_are_different(settings):
    editions = ("Hardcover", "Paperback", "E-book", "Large print", "Audiobook")

    def edition(work: int, number: int) -> bytes:
        name = f"{title(work, 4)} ({editions[number]})"
        facts = (
            f"<span class='price'>{price((work, number))}</span>"
            f"<span class='isbn'>97812345{work}{number}017</span>"
        )
        blurb = f"<div class='blurb'>{paragraphs(*story(f'blurb {work}', 180))}</div>"
        return layout("books", name, facts + blurb)

    pages = {f"/book/{w}-{n}": edition(w, n) for w in range(3) for n in range(len(editions))}
    with serve_hosts({"books.example": pages}) as through:
        await crawl_twice(BookSpider, settings | through, [BOOKS + p for p in pages], kept=15)


class JobSpider(PageSpider):
    name = "ads"

    def parse(self, response):
        yield {
            "title": response.css("h1::text").get(),
            "text": "\n".join(response.css("main p::text").getall()),
            "url": response.url,
        }


@on_both_engines
@deferred_f_from_coro_f
async def test_job_ads_share_most_of_their_text_and_are_different(settings):
    def ad(number: int) -> bytes:
        about, benefits = story("about us", 300), story("benefits", 300)
        return layout(
            "employer", title(number), paragraphs(*about, sentences(number, 14), *benefits)
        )

    pages = {f"/ad/{number}": ad(number) for number in range(12)}
    with serve_hosts({"jobs.example": pages}) as through:
        urls = [f"http://jobs.example{path}" for path in pages]
        await crawl_twice(JobSpider, settings | through, urls, kept=12)


class GroupSpider(PageSpider):
    """Twenty groups of five on one page, each of which differs by a word from the others."""

    name = "groups"

    def parse(self, response):
        for text in response.css("main li::text").getall():
            yield {"text": text}


@on_both_engines
@deferred_f_from_coro_f
async def test_equal_entries_listed_on_one_page_are_recognised_again_by_their_fields(settings):
    def entry(group: int, number: int) -> str:
        words = sentences(f"group {group}", 220).split()
        words[number * 40] = f"other{'abcde'[number]}"
        return " ".join(words)

    listed = "".join(f"<li>{entry(group, n)}</li>" for n in range(5) for group in range(20))
    settings = settings | {"SIMHASH_FIELDS": ["text"]}
    with serve_hosts({"shop.example": {"/": layout("shop", "List", listed)}}) as through:
        await crawl_twice(GroupSpider, settings | through, [f"{SHOP}/"], kept=20)
        third = await crawl(GroupSpider, settings | through, [f"{SHOP}/"])
    assert len(third.items) == 20
    assert claims_in(settings) == 20
