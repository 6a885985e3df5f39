"""Pages that give several items, and items without an address."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import PageSpider
from scrapy.utils.defer import deferred_f_from_coro_f
from site_pages import layout, paragraphs, person, sentences, story, title
from visits import crawl_twice, on_both_engines

SHOP, NEWS, QUOTES = "http://shop.example", "http://news.example", "http://quotes.example"


class VariantSpider(PageSpider):
    name = "variants"

    def parse(self, response):
        for variant in response.css(".variant"):
            yield {
                "name": response.css("h1::text").get(),
                "description": "\n".join(response.css(".description p::text").getall()),
                "url": response.urljoin(variant.attrib["href"]),
            }


@on_both_engines
@deferred_f_from_coro_f
async def test_variants_that_are_listed_together_differ_by_their_addresses(settings):
    def product(number: int) -> bytes:
        variants = "".join(
            f"<a class='variant' href='/p/{number}?colour={colour}'>{title(colour, 1)}</a> "
            for colour in range(10)
        )
        text = f"<div class='description'>{paragraphs(*story(number, 120))}</div>"
        return layout("shop", title(number), text + variants)

    pages = {f"/p/{number}": product(number) for number in range(3)}
    with serve_hosts({"shop.example": pages}) as through:
        await crawl_twice(VariantSpider, settings | through, [SHOP + p for p in pages], kept=30)


class CommentSpider(PageSpider):
    """An article and its comments, or one comment below the article that it belongs to."""

    name = "comments"

    def parse(self, response):
        if "/comment/" not in response.url:
            yield {
                "url": response.url,
                "title": response.css("h1::text").get(),
                "text": "\n".join(response.css("article p::text").getall()),
            }
        for comment in response.css(".comment"):
            yield {
                "author": comment.css("b::text").get(),
                "text": comment.css("p::text").get(),
                "page": response.url,
            }


@on_both_engines
@pytest.mark.parametrize("order", [1, -1])
@deferred_f_from_coro_f
async def test_a_comment_on_a_page_of_its_own_is_not_the_article_beside_it(settings, order):
    def page(number: int, comment: str = "") -> bytes:
        article = f"<article>{paragraphs(*story(number, 240))}</article>"
        return layout("news", title(number), article + comment)

    comment_html = (
        f"<div class='comment'><b>{person('who')}</b><p>{sentences('comment', 14)}</p></div>"
    )
    pages = {f"/{number}": page(number) for number in range(4)}
    pages |= {f"/{number}/comment/1": page(number, comment_html) for number in range(4)}
    with serve_hosts({"news.example": pages}) as through:
        urls = [NEWS + path for path in pages][::order]
        await crawl_twice(CommentSpider, settings | through, urls, kept=8)


@on_both_engines
@deferred_f_from_coro_f
async def test_reviews_on_five_pages_below_one_text_are_all_kept(settings):
    class Spider(PageSpider):
        name = "reviews"

        def parse(self, response):
            for review in response.css(".review"):
                yield {
                    "author": review.css("b::text").get(),
                    "stars": int(review.css("i::text").get()),
                    "text": review.css("p::text").get(),
                }

    def page(number: int) -> bytes:
        reviews = "".join(
            f"<div class='review'><b>{person(n)}</b><i>{n % 5 + 1}</i>"
            f"<p>{sentences(f'review {n}', 5 + n % 4 * 5)}</p></div>"
            for n in range(number * 10, number * 10 + 10)
        )
        text = paragraphs(*story("lamp", 420))
        return layout("shop", title("lamp"), f"{text}<div class='comments'>{reviews}</div>")

    pages = {f"/lamp/reviews?page={number}": page(number) for number in range(5)}
    with serve_hosts({"shop.example": pages}) as through:
        await crawl_twice(Spider, settings | through, [SHOP + path for path in pages], kept=50)


@on_both_engines
@deferred_f_from_coro_f
async def test_a_thread_of_five_pages_keeps_every_post_and_its_repeated_opening_once(settings):
    class Spider(PageSpider):
        name = "thread"

        def parse(self, response):
            for post in response.css(".post"):
                yield {
                    "url": response.urljoin(post.css("a::attr(href)").get()),
                    "author": post.css("b::text").get(),
                    "text": post.css("p::text").get(),
                }

    def post(number: int, words: int) -> str:
        return (
            f"<div class='post'><a href='/thread/1#p{number}'>#{number}</a>"
            f"<b>{person(number % 7)}</b>"
            f"<p>{sentences(f'post {number}', words)}</p></div>"
        )

    opening = post(0, 240)
    pages = {
        f"/thread/1?page={page}": layout(
            "forum",
            "How long does it take?",
            opening + "".join(post(page * 10 + n + 1, 6 + n * 5) for n in range(10)),
        )
        for page in range(5)
    }
    with serve_hosts({"forum.example": pages}) as through:
        urls = [f"http://forum.example{path}" for path in pages]
        await crawl_twice(Spider, settings | through, urls, kept=51)


class QuoteSpider(PageSpider):
    name = "quotes"

    def parse(self, response):
        for quote in response.css(".quote"):
            yield {
                "text": quote.css("p::text").get(),
                "author": quote.css("b::text").get(),
                "tags": quote.css("a::text").getall(),
            }


def quote(number: int, turned: bool) -> str:
    tags = [f"<a href='/tag/{tag}'>{tag}</a>" for tag in (number % 6, 6 + number % 4)]
    return (
        f"<div class='quote'><p>{sentences(number, 9 + number % 6 * 11)}</p>"
        f"<b>{person(number % 8)}</b>{''.join(tags[::-1] if turned else tags)}</div>"
    )


@on_both_engines
@deferred_f_from_coro_f
async def test_quotes_that_appear_again_on_the_pages_of_their_tags_are_dropped(settings):
    """They have no address; and the order of a list of tags does not matter."""
    pages = {
        f"/page/{page}": layout(
            "quotes", "Quotes", "".join(quote(n, turned=False) for n in range(page, 60, 6))
        )
        for page in range(6)
    }
    pages |= {
        f"/tag/{tag}": layout(
            "quotes",
            f"Quotes on {title(tag, 1)}",
            "".join(quote(n, turned=True) for n in range(60) if tag in (n % 6, 6 + n % 4)),
        )
        for tag in range(10)
    }
    with serve_hosts({"quotes.example": pages}) as through:
        urls = [QUOTES + path for path in pages]
        done = await crawl_twice(QuoteSpider, settings | through, urls, kept=60)
    assert {item["text"] for item in done.items} == {
        sentences(n, 9 + n % 6 * 11) for n in range(60)
    }


class RowSpider(PageSpider):
    name = "rows"

    def parse(self, response):
        for row in response.css("tr"):
            name, role = row.css("td::text").getall()
            item = {"name": name, "role": role}
            yield item | {"page": response.url} if "committee" in response.url else item


def table(rows: list[tuple[str, str]], heading: str = "Staff") -> bytes:
    lines = "".join(f"<tr><td>{name}</td><td>{role}</td></tr>" for name, role in rows)
    return layout("town", heading, f"{paragraphs(story('about', 120)[0])}<table>{lines}</table>")


@on_both_engines
@deferred_f_from_coro_f
async def test_equal_rows_are_dropped_wherever_they_appear(settings):
    """One of them on the page of another, and on a page of its own."""
    people = [(person(n), "clerk" if n % 2 else "driver") for n in range(8)]
    pages = {
        "/all": table([*people, people[0]]),
        "/clerks": table(people[1::2]),
        "/one": table([people[2]]),
    }
    with serve_hosts({"town.example": pages}) as through:
        urls = [f"http://town.example{path}" for path in pages]
        await crawl_twice(RowSpider, settings | through, urls, kept=8)


@deferred_f_from_coro_f
async def test_a_person_on_two_committees_is_two_rows_where_rows_name_their_page(settings):
    people = [(person(n), "member") for n in range(6)]
    pages = {
        "/committee/1": table(people[:4], "Planning"),
        "/committee/2": table(people[2:], "Finance"),
    }
    with serve_hosts({"town.example": pages}) as through:
        urls = [f"http://town.example{path}" for path in pages]
        await crawl_twice(RowSpider, settings | through, urls, kept=8)


class ArticleAndAuthorSpider(PageSpider):
    name = "articles"

    def parse(self, response):
        yield {
            "title": response.css("h1::text").get(),
            "text": "\n".join(response.css("article p::text").getall()),
            "url": response.url,
        }
        author = response.css(".author")
        yield {
            "name": author.css("b::text").get(),
            "town": author.css("i::text").get(),
            "profile": response.urljoin(author.css("a::attr(href)").get()),
        }


@on_both_engines
@deferred_f_from_coro_f
async def test_an_article_and_its_author_are_judged_each_for_itself(settings):
    """A copy brings neither again; another article of the author brings itself."""

    def page(number: int) -> bytes:
        author = number % 3
        about = (
            f"<div class='author'><b>{person(author)}</b><i>{title(author, 1)}</i>"
            f"<a href='/author/{author}'>more</a></div>"
        )
        article = f"<article>{paragraphs(*story(number, 240))}</article>"
        return layout("news", title(number), article + about)

    pages = {f"/{number}": page(number) for number in range(6)}
    urls = [NEWS + path for path in pages] + [f"{NEWS}{path}?sid=4f2" for path in pages]
    with serve_hosts({"news.example": pages}) as through:
        done = await crawl_twice(ArticleAndAuthorSpider, settings | through, urls, kept=9)
    assert {item["title"] for item in done.items if "title" in item} == {
        title(number) for number in range(6)
    }
    assert {item["name"] for item in done.items if "name" in item} == {person(n) for n in range(3)}


class NoticeSpider(PageSpider):
    """Notices of one page, whose only URL is that of the page, or of the office."""

    name = "notices"

    def parse(self, response):
        for notice in response.css("main p::text").getall():
            key = "link" if "office" in response.url else "url"
            url = "http://town.example/contact" if key == "link" else response.url
            yield {key: url, "text": notice}


@on_both_engines
@pytest.mark.parametrize("path", ["/notices", "/office"])
@deferred_f_from_coro_f
async def test_notices_under_one_url_that_differ_in_a_number_are_all_kept(settings, path):
    words = sentences("a notice", 80)
    notices = [f"{words} Case {number} of the office. {words}" for number in (12, 13, 14)]
    page = layout("town", "Notices", paragraphs(*notices))
    with serve_hosts({"town.example": {path: page}}) as through:
        await crawl_twice(NoticeSpider, settings | through, [f"http://town.example{path}"], kept=3)
