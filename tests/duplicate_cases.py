"""The examples of docs/duplicates.md as small sites, by the words of that page."""

from __future__ import annotations

import datetime as dt
import json
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from loopback import Page
from site_pages import bare, layout, paragraphs, sentences, story, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy.http import Response

    Item = dict[str, Any]

#: Pages by their addresses, in the order in which they are fetched.
Visit = dict[str, bytes | Page]

ONE, TWO = "http://one.example", "http://two.example"
TEXT = paragraphs(*story("a story", 240))
OTHER_TEXT = paragraphs(*story("another story", 240))
LONG_TEXT = paragraphs(*story("a long story", 960))


class Case(NamedTuple):
    """What a crawl finds, and which part of it an example is about.

    Attributes:
        visits: the crawls, one after the other. The example is about what is found after the first
            page of the first crawl.
        read: what a spider makes of a page.
        about: whether the example is about an item.
    """

    visits: list[Visit]
    read: Callable[[Response], Iterator[Item]]
    about: Callable[[Item], bool] = bool


def single(response: Response) -> Iterator[Item]:
    """The fields that are marked as such on a page, and its address."""
    for item in listed(response):
        yield item | {"url": response.url}


def listed(response: Response) -> Iterator[Item]:
    """Likewise of each thing on a page, without the address of the page."""
    for thing in response.css(".thing"):
        yield {
            field.attrib["data-name"]: "\n".join(field.css("::text").getall())
            for field in thing.css(".field")
        }


def fetched(response: Response) -> Iterator[Item]:
    """When an item was fetched, as spiders write it."""
    for item in single(response):
        now = dt.datetime.now(dt.UTC)
        yield item | {
            "fetched": now.isoformat(),
            "seen": now,
            "visited": now.timestamp(),
            "found": now.strftime("%Y-%m-%d %H:%M:%S.%f"),
        }


def unreadable(response: Response) -> Iterator[Item]:
    for item in single(response):
        yield item | {"parser": object()}


def titled(response: Response) -> Iterator[Item]:
    yield {"url": response.url, "title": response.css("h1::text").get()}


def everything(response: Response) -> Iterator[Item]:
    yield {"url": response.url, "text": " ".join(response.xpath("//body//text()").getall())}


def raw_title(response: Response) -> Iterator[Item]:
    for item in single(response):
        yield item | {"title": response.css("title::text").get()}


def stored(response: Response) -> Iterator[Item]:
    yield {"url": response.url, "html": response.text}


def answered(response: Response) -> Iterator[Item]:
    """What an API answers, and its address."""
    yield response.json() | {"url": response.url}


def api(first: Item, second: Item) -> Case:
    """Two answers of an API."""
    pages = (Page(json.dumps(item).encode(), "application/json") for item in (first, second))
    return both(*pages, read=answered)


def thing(**fields: str) -> str:
    """A thing with fields that a spider can read."""
    inside = (
        f"<div class='field' data-name='{name}'>{value}</div>" for name, value in fields.items()
    )
    return f"<div class='thing'>{''.join(inside)}</div>"


def page(*things: str, heading: str = "A heading", site: str = "a site") -> bytes:
    return layout(site, heading, "".join(things))


def beside(seed: str, views: int) -> str:
    """What changes around a text."""
    related = "".join(f"<li><a href='/{n}'>{sentences((seed, n), 8)}</a></li>" for n in range(6))
    return f"<aside><p>Read {views} times</p><ul>{related}</ul></aside>"


def tiles(seed: str) -> str:
    """Products in a list of links."""
    names = (sentences((seed, number), 6) for number in range(40))
    return f"<ul>{''.join(f'<li><a href=/{seed}/p>{name}</a></li>' for name in names)}</ul>"


def town(name: str) -> str:
    """The place of a job in JSON-LD."""
    job = {"@type": "JobPosting", "jobLocation": {"address": {"addressLocality": name}}}
    return f"<script type='application/ld+json'>{json.dumps(job)}</script>"


def chapter(site: str) -> str:
    """A text in Chinese that is the same on all sites, with lines that name this one."""
    drawn = Random("a chapter")
    sentences = [
        "".join(chr(drawn.randrange(0x4E00, 0x9000)) for _ in range(23)) for _ in range(12)
    ]
    for place in (9, 4):
        sentences.insert(place, f"一秒记住本站网址www.{site}，更新最快")
    return "。".join(sentences)


def contents(number: int, *, with_others: bool) -> str:
    """The list of what is in a part of a manual, or of all parts, of which one is in detail."""
    detail = "".join(
        f"<dt><a href='/{n}'>{title((number, n), 3)}</a> {sentences((number, n), 8)}</dt>"
        for n in range(16)
    )
    rows = (f"<dl><dt><a href='/p{n}'>{sentences(n, 12)}</a></dt></dl>" for n in range(40))
    return f"<div><dl>{detail}</dl>{''.join(rows) if with_others else ''}</div>"


def both(first: bytes, second: bytes, *, to: str = f"{ONE}/second", **more: Any) -> Case:
    """One page, and then another one."""
    return Case([{f"{ONE}/first": first, to: second}], **{"read": single} | more)


def one_site(first: Mapping[str, str], second: Mapping[str, str], **more: Any) -> Case:
    """Two pages of one site, of a thing each."""
    return both(page(thing(**first)), page(thing(**second)), **more)


def two_sites(first: Mapping[str, str], second: Mapping[str, str], **more: Any) -> Case:
    """A page of one site and one of another, of a thing each."""
    elsewhere = page(thing(**second), heading="Another heading", site="another site")
    return both(page(thing(**first)), elsewhere, to=f"{TWO}/second", **more)


def changed(every: int) -> str:
    """The text with one word in so many changed."""
    words = sentences("a text", 240).split()
    for place in range(every // 2, len(words), every):
        words[place] = words[place][::-1] + "x"
    return paragraphs(" ".join(words))


def terms_of(firm: str) -> str:
    """Paragraphs that name a firm."""
    return paragraphs(*(f"{firm} {sentences(number, 60)}" for number in range(8)))


STORY = {"title": "A flood", "author": "A. Smith", "date": "2024-05-01", "text": TEXT}
RETOLD = {"title": "The flood", "author": "B. Jones", "date": "2024-05-03", "text": TEXT}
PRODUCT = {"name": "A lamp", "price": "€19.99", "text": TEXT}
UNCHANGED = paragraphs(sentences("a text", 240))

ACROSS_SITES = {
    "A story on a second site, under its own headline, author and date": two_sites(STORY, RETOLD),
    "A story on another site under another headline, the item only a URL and a title": both(
        page(TEXT, heading="A flood"),
        page(TEXT, heading="The flood", site="another site"),
        to=f"{TWO}/second",
        read=titled,
    ),
    "A story with a long text of another site pasted below it as a comment": both(
        page(LONG_TEXT),
        page(OTHER_TEXT, f"<div class='comments'><div class='comment'>{LONG_TEXT}</div></div>"),
        to=f"{TWO}/second",
        read=stored,
    ),
    "A press release on another site, with another id, section and view counter": two_sites(
        {"id": "417", "section": "Business", "views": "1042", "text": TEXT},
        {"id": "93", "section": "News", "views": "18", "text": TEXT},
    ),
    "A copy on another site in which one word in sixty was changed": two_sites(
        {"text": UNCHANGED}, {"text": changed(60)}
    ),
    "A copy on a second site in which one word in twenty was changed": two_sites(
        {"text": UNCHANGED}, {"text": changed(20)}
    ),
    "A copy on another site with a note of twenty words above the text": two_sites(
        {"text": LONG_TEXT}, {"text": paragraphs(sentences("a note", 20)) + LONG_TEXT}
    ),
    "A tour on a second site: its own title and day, a different number in its text": two_sites(
        {"title": "Winter tour, Ash Hall", "date": "12 May", "text": TEXT + "<p>Doors at 19</p>"},
        {"title": "Birch Arena: on tour", "date": "14 May", "text": TEXT + "<p>Doors at 20</p>"},
    ),
    "A copy on a second site with a replaced passage of twenty words": two_sites(
        {"text": paragraphs(sentences("a place", 20)) + LONG_TEXT},
        {"text": paragraphs(sentences("another place", 20)) + LONG_TEXT},
    ),
    "Terms of use of a second firm, with its name in place of the first one's": two_sites(
        {"text": terms_of("Acorn")}, {"text": terms_of("Birch")}
    ),
    "A report of the same event in other words": two_sites(
        STORY, {"title": "A flood", "text": OTHER_TEXT}
    ),
    "The maker's description in a second shop, at a different price": two_sites(
        PRODUCT, PRODUCT | {"price": "€24.50"}
    ),
    "The maker's description in another shop, at another price without a currency": two_sites(
        PRODUCT | {"price": "19.99"}, PRODUCT | {"price": "24.50"}
    ),
    "The maker's description in a second shop, of a model with a different number": two_sites(
        {"name": "Lamp 3", "text": TEXT}, {"name": "Lamp 4", "text": TEXT}
    ),
    "The maker's description in another shop, at the same price written otherwise": two_sites(
        PRODUCT, PRODUCT | {"price": "19,99 EUR"}
    ),
    "The maker's page, which has no price, then a shop with one": two_sites(
        {"name": "A lamp", "text": TEXT}, PRODUCT
    ),
    "A shop with a price, then the maker's page, which has none": two_sites(
        PRODUCT, {"name": "A lamp", "text": TEXT}
    ),
    'An offer without an amount, such as "sold out", then another shop with a price': two_sites(
        PRODUCT | {"price": "sold out"}, PRODUCT
    ),
    "The maker's description in another shop, under another name": two_sites(
        {"name": "A lamp", "text": TEXT}, {"name": "A torch", "text": TEXT}
    ),
    "The maker's description in another shop, the other price a whole number called `value`": (
        two_sites({"value": "19", "text": TEXT}, {"value": "24", "text": TEXT})
    ),
    "The maker's description in another shop, the other price on the page but not in the item": (
        both(
            page("<b itemprop='price'>€19.99</b>", thing(text=TEXT)),
            page("<b itemprop='price'>€24.50</b>", thing(text=TEXT)),
            to=f"{TWO}/second",
        )
    ),
    "A story on a second site, where both items hold a summary of their own instead": both(
        page(LONG_TEXT, thing(summary=sentences("a summary", 40)), heading="A flood"),
        page(thing(summary=sentences("another", 40)), LONG_TEXT, heading="The flood", site="two"),
        to=f"{TWO}/second",
    ),
    "A chapter of a novel with lines that name its site": both(
        page(thing(text=chapter("one.example"))),
        page(thing(text=chapter("two.example")), site="two"),
        to=f"{TWO}/second",
    ),
    "A part of a manual, shown in detail in the contents of all parts": both(
        bare("All parts", contents(1, with_others=True)),
        bare("The part", contents(1, with_others=False)),
        to=f"{TWO}/second",
        read=titled,
    ),
    "A consent wall that several pages of two sites show, each under its own title": Case(
        [
            {
                f"{address}/{number}": page(
                    TEXT, heading=f"Page {number} of {address}", site=address
                )
                for address in (ONE, TWO)
                for number in "abcd"
            }
        ],
        read=titled,
    ),
}

ON_ONE_SITE = {
    "A copy with other related pages, the item all text of its page": both(
        page(TEXT, beside("one", 7)), page(TEXT, beside("two", 9)), read=everything
    ),
    "A copy with another section in its `<title>`, which the item holds": both(
        page(thing(text=TEXT)),
        page(thing(text=TEXT)).replace(b"<title>", b"<title>News: "),
        read=raw_title,
    ),
    "A category under the same title and paragraph, with other products": both(
        page(TEXT, tiles("one"), heading="Shop"),
        page(TEXT, tiles("two"), heading="Shop"),
        read=titled,
    ),
    "The same page under a session id": one_site(STORY, STORY, to=f"{ONE}/first?sid=4f2a"),
    "The same page under a session id, the item only a URL and a title": both(
        page(TEXT), page(TEXT), to=f"{ONE}/first?sid=4f2a", read=titled
    ),
    "A print view of the page": both(
        page(thing(**STORY)), bare("A heading", thing(**STORY)), to=f"{ONE}/print/1"
    ),
    "A page at a print URL with another number in its text": both(
        page(thing(title="Tariff", text=f"{TEXT}<p>Tariff 12345</p>"), heading="Tariff"),
        bare("Tariff", thing(title="Tariff", text=f"{TEXT}<p>Tariff 54321</p>")),
        to=f"{ONE}/first/print",
    ),
    "A print view, its title marked as such, of a page without a main heading": both(
        bare("A heading", TEXT).replace(b"h1>", b"h3>"),
        bare("Print: A heading", TEXT).replace(b"h1>", b"h3>"),
        to=f"{ONE}/print/1",
        read=stored,
    ),
    "The same description at a different price": one_site(PRODUCT, PRODUCT | {"price": "€24.50"}),
    "The next edition of a gazette, its text in a file": one_site(
        {"title": "The Gazette", "file_urls": "/2024/a.pdf?token=1", "text": TEXT},
        {"title": "The Gazette", "file_urls": "/2024/b.pdf?token=1", "text": TEXT},
    ),
    "The same text under a different headline": one_site(STORY, STORY | {"title": "The flood"}),
    "A meeting of another month with the same agenda": one_site(
        {"committee": "Planning", "date": "12 May", "text": TEXT},
        {"committee": "Planning", "date": "9 June", "text": TEXT},
    ),
    "Another edition of a book with the same blurb": one_site(
        {"title": "The Lamp", "isbn": "9781234500017", "text": TEXT},
        {"title": "The Lamp", "isbn": "9781234500024", "text": TEXT},
    ),
    "A job ad that is the employer's long text but for the title": one_site(
        {"title": "Driver", "text": TEXT}, {"title": "Clerk", "text": TEXT}
    ),
    "A notice in the same words with a different number": one_site(
        {"text": TEXT + "<p>The hearing is in room 117.</p>"},
        {"text": TEXT + "<p>The hearing is in room 204.</p>"},
    ),
    "A notice in the same words with a different name": one_site(
        {"text": TEXT + "<p>The hearing is that of Miller.</p>"},
        {"text": TEXT + "<p>The hearing is that of Baker.</p>"},
    ),
    "A copy in which some minutes have passed": one_site(
        {"text": TEXT + "<p>Seen 3 minutes ago.</p>"}, {"text": TEXT + "<p>Seen 5 minutes ago.</p>"}
    ),
    "A copy that says when its page was last modified": one_site(
        {"text": TEXT + "<p>This page was last modified on 3 May 2024.</p>"},
        {"text": TEXT + "<p>This page was last modified on 9 June 2024.</p>"},
    ),
    "A copy with more views and comments, counted in its text": one_site(
        {"text": TEXT + "<p>117 views</p><p>Comments (2)</p>"},
        {"text": TEXT + "<p>204 views</p><p>Comments (3)</p>"},
    ),
    "A copy from a JSON API, its text in HTML": api(
        {"title": "A flood", "content": {"rendered": TEXT}},
        {"title": "A flood", "content": {"rendered": f"<div class='wide'>{TEXT}</div>"}},
    ),
    "Another story from a JSON API under the same title, its text in HTML": api(
        {"title": "A flood", "content": {"rendered": TEXT}},
        {"title": "A flood", "content": {"rendered": OTHER_TEXT}},
    ),
    "A copy in which more readers were counted": one_site(
        {"text": TEXT + "<p>Read by 117 people.</p>"}, {"text": TEXT + "<p>Read by 204 people.</p>"}
    ),
    "A copy whose item has a field more": one_site(STORY, STORY | {"award": "first"}),
    "A copy that the site has filed elsewhere as well": one_site(
        STORY | {"category": "World"}, STORY | {"category": "Shipping"}
    ),
    "A copy whose item has a field less": one_site(STORY | {"award": "first"}, STORY),
    "A copy whose item says when it was fetched": one_site(STORY, STORY, read=fetched),
    "A copy with its date in words, without the time": one_site(
        STORY | {"date": "2024-05-01T12:30:00Z"}, STORY | {"date": "1 May 2024"}
    ),
    "The same text at another time of the day": one_site(
        STORY | {"date": "2024-05-01 12:30"}, STORY | {"date": "1 May 2024, 2:45 PM"}
    ),
    "A copy with more comments and a later date of change": one_site(
        STORY | {"commentCount": "3", "dateModified": "2024-05-01", "seen": "2 days ago"},
        STORY | {"commentCount": "7", "dateModified": "2024-05-04", "seen": "5 days ago"},
    ),
    "A copy whose item has a random id": one_site(
        STORY | {"uid": "5b1e8f0c"}, STORY | {"uid": "c07d2a94"}
    ),
    "A copy whose item has its rank in a list": one_site(
        STORY | {"rank": "1"}, STORY | {"rank": "7"}
    ),
    "A job ad of a second town, the town only in a table of the page": both(
        page("<table><tr><th>Location<td>Oakland</table>", thing(title="Driver", text=TEXT)),
        page("<table><tr><th>Location<td>Fresno</table>", thing(title="Driver", text=TEXT)),
    ),
    "A job ad of another town, the town only in the page's markup for machines": both(
        page(town("Oakland"), thing(title="Driver", text=TEXT)),
        page(town("Fresno"), thing(title="Driver", text=TEXT)),
    ),
    "A copy with another number of views in a table of the page": both(
        page("<table><tr><th>Views<td>117</table>", thing(title="Driver", text=TEXT)),
        page("<table><tr><th>Views<td>204</table>", thing(title="Driver", text=TEXT)),
    ),
    "A stored page, as markup, with another date beside its heading": both(
        page("<time datetime='2024-05-12'>May</time>", TEXT),
        page("<time datetime='2024-06-09'>June</time>", TEXT),
        read=stored,
    ),
    "A stored page, as markup, with another price in its markup for machines": both(
        page("<b itemprop='price'>19.99</b>", TEXT),
        page("<b itemprop='price'>24.50</b>", TEXT),
        read=stored,
    ),
}


def products(*numbers: int, price: str = "€19.99", **more: str) -> list[str]:
    return [
        thing(name=f"Lamp {number}", price=price, url=f"{ONE}/p/{number}", **more)
        for number in numbers
    ]


def entries(*numbers: int, query: str = "") -> list[str]:
    return [
        thing(
            sku=f"a{number}",
            url=f"{ONE}/e/{number}{query}",
            text=paragraphs(sentences(number, 60)),
        )
        for number in numbers
    ]


QUOTE = thing(author="A. Smith", text=sentences("a quote", 20))
AUTHOR = thing(name="A. Smith", profile=f"{ONE}/author/smith")
REVIEWS = [sentences(("a review", number), 20) for number in range(4)]
PERSON = thing(name="A. Smith", role="member")

LISTS = {
    "The products of a category's second page, below the same long paragraph": both(
        page(TEXT, *products(1, 2, 3)), page(TEXT, *products(4, 5, 6)), read=listed
    ),
    "The variants of a product, listed under its description, with a URL each": Case(
        [
            {
                f"{ONE}/p/1": page(
                    *(
                        thing(name="A lamp", url=f"{ONE}/p/1?colour={colour}", text=TEXT)
                        for colour in ("red", "blue", "green")
                    )
                )
            }
        ],
        read=listed,
    ),
    "A product listed again, under the same URL at the same price": both(
        page(*products(1, 2)), page(*products(1, 2), heading="Offers"), read=listed
    ),
    "A product listed again at another price": both(
        page(*products(1, 2)), page(*products(1, 2, price="€24.50"), heading="Offers"), read=listed
    ),
    "A quote found again on another page, an item without a URL": both(
        page(QUOTE, thing(author="B. Jones", text="Less is more.")),
        page(QUOTE, heading="Quotes of A. Smith"),
        read=listed,
    ),
    "An author repeated beside another article": both(
        page(thing(title="A flood", text=TEXT), AUTHOR),
        page(thing(title="A fire", text=OTHER_TEXT), AUTHOR),
        read=listed,
        about=lambda item: "name" in item,
    ),
    "A comment on a page of its own, below the article it belongs to": both(
        page(thing(title="A flood", text=TEXT)),
        page(TEXT, thing(author="B. Jones", comment="I have seen it too.")),
    ),
    "The article of a comment that was found on a page of its own": both(
        page(TEXT, thing(author="B. Jones", comment="I have seen it too.")),
        page(thing(title="A flood", text=TEXT)),
    ),
    "The reviews on a product's second page, below the same long text": both(
        page(TEXT, thing(stars="5", text=REVIEWS[0]), thing(stars="4", text=REVIEWS[1])),
        page(TEXT, thing(stars="5", text=REVIEWS[2]), thing(stars="4", text=REVIEWS[3])),
        read=listed,
    ),
    "A post repeated on the next page of its thread": both(
        page(*entries(1, 2)),
        page(*entries(1, 3)),
        read=listed,
        about=lambda item: item["sku"] == "a1",
    ),
    "Notices under the URL of their page that differ in a number": Case(
        [
            {
                f"{ONE}/notices": page(
                    *(
                        thing(url=f"{ONE}/notices", text=f"{TEXT}<p>It is case {number}.</p>")
                        for number in (12, 13, 14)
                    )
                )
            }
        ],
        read=listed,
    ),
    "A person on a second committee, a row that holds the URL of its page": both(
        page(PERSON, thing(name="B. Jones", role="chair"), heading="Planning"),
        page(PERSON, thing(name="C. Brown", role="chair"), heading="Finance"),
    ),
}

LATER = {
    "A page that did not change": Case(
        [{f"{ONE}/1": page(thing(**STORY))}, {f"{ONE}/1": page(thing(**STORY))}], single
    ),
    "A page whose text was revised a little": Case(
        [
            {f"{ONE}/1": page(thing(text=UNCHANGED))},
            {f"{ONE}/1": page(thing(text=changed(60)))},
        ],
        single,
    ),
    "A product whose price changed": Case(
        [
            {f"{ONE}/1": page(thing(**PRODUCT))},
            {f"{ONE}/1": page(thing(**PRODUCT | {"price": "€24.50"}))},
        ],
        single,
    ),
    "A copy of a page, crawled after it as in the first crawl": Case(
        [
            {f"{ONE}/1": page(thing(**STORY))},
            {f"{ONE}/1": page(thing(**STORY)), f"{ONE}/1?sid=4f2a": page(thing(**STORY))},
        ],
        single,
        about=lambda item: "sid" in item["url"],
    ),
    "The entries of a list, one place further down": Case(
        [
            {f"{ONE}/": page(*entries(1, 2, 3))},
            {f"{ONE}/": page(*entries(0, 1, 2)), f"{ONE}/?page=2": page(*entries(3))},
        ],
        listed,
    ),
    "The entries of a list, a text each, under other URLs": Case(
        [
            {f"{ONE}/": page(*entries(1, 2, 3))},
            {f"{ONE}/": page(*entries(1, 2, 3, query="?sid=4f2a"))},
        ],
        listed,
    ),
}


def contents(number: int) -> bytes:
    """A page of links, whose only text is a line on rights."""
    found = "".join(
        f"<li><a href='/{number}/{n}'>{sentences((number, n), 4)}</a></li>" for n in range(60)
    )
    rights = paragraphs(sentences("rights", 24))
    return bare(f"Contents {number}", f"<ul>{found}</ul><div>{rights}</div>")


NOT_COMPARED = {
    "A page that the server sent as an error": both(
        Page(page(thing(**STORY)), status=404), Page(page(thing(**STORY)), status=404)
    ),
    "A page that the server could not make": both(
        Page(page(thing(**STORY)), status=500), Page(page(thing(**STORY)), status=500)
    ),
    "An item with a value that can't be read": both(
        page(thing(**STORY)), page(thing(**STORY)), read=unreadable
    ),
    "A table of contents with a line of text below its links": both(
        contents(1), contents(2), read=stored
    ),
    "A page that a script fills in the browser": both(
        bare("Loading", "<div id='app'></div>"),
        bare("Loading", "<div id='app'></div>"),
        read=stored,
    ),
}

CASES: Mapping[str, Case] = ACROSS_SITES | ON_ONE_SITE | LISTS | LATER | NOT_COMPARED

#: Examples that the page leaves out: what comes, its verdict, and the reason.
MORE = [
    ("A copy whose item has its rank in a list", "dropped", "ranks and counts tell its state"),
    ("The entries of a list, one place further down", "kept", "recognised by their URLs"),
    (
        "A press release on another site, with another id, section and view counter",
        "dropped",
        "same text",
    ),
    (
        "A copy on another site with a note of twenty words above the text",
        "dropped",
        "words were added",
    ),
    ("A report of the same event in other words", "kept", "another text"),
    (
        "A print view, its title marked as such, of a page without a main heading",
        "dropped",
        "the mark is no part of the title",
    ),
    (
        "The maker's description in another shop, at the same price written otherwise",
        "dropped",
        "€19.99 is 19,99 EUR",
    ),
    ("A shop with a price, then the maker's page, which has none", "dropped", "nothing new"),
    (
        'An offer without an amount, such as "sold out", then another shop with a price',
        "kept",
        "`price`: another offer",
    ),
    (
        "The maker's description in another shop, the other price a whole number called `value`",
        "dropped",
        "[a limit](#limits)",
    ),
    (
        "The maker's description in another shop, the other price on the page but not in the item",
        "kept",
        "`page:price`",
    ),
    ("The same page under a session id", "dropped", "only the URL differs"),
    (
        "A copy with another section in its `<title>`, which the item holds",
        "dropped",
        "read without the section",
    ),
    ("Another edition of a book with the same blurb", "kept", "`isbn`"),
    (
        "A job ad that is the employer's long text but for the title",
        "kept",
        "`title`; dropped with `SIMHASH_FIELDS = ['text']`",
    ),
    ("A copy in which some minutes have passed", "dropped", '"3 minutes ago" is not a number'),
    (
        "A copy that says when its page was last modified",
        "dropped",
        "nor is the date of the last change",
    ),
    (
        "A copy in which more readers were counted",
        "kept",
        '`(numbers)`: [a limit](#limits), as "read by" is no word for counts',
    ),
    (
        "A copy that the site has filed elsewhere as well",
        "dropped",
        "no category under the same title",
    ),
    (
        "Another story from a JSON API under the same title, its text in HTML",
        "kept",
        "another text",
    ),
    (
        "A job ad of another town, the town only in the page's markup for machines",
        "kept",
        "`page:addressLocality`",
    ),
    ("A copy with another number of views in a table of the page", "dropped", "state"),
    ("A copy whose item says when it was fetched", "dropped", "times during the crawl are ignored"),
    ("A copy with its date in words, without the time", "dropped", "the same day"),
    ("The same text at another time of the day", "kept", "`date`"),
    ("A copy with more comments and a later date of change", "dropped", 'state, like "5 days ago"'),
    ("A stored page, as markup, with another date beside its heading", "kept", "`page:time`"),
    (
        "A stored page, as markup, with another price in its markup for machines",
        "kept",
        "`page:price`",
    ),
    ("A product listed again at another price", "kept", "the items differ"),
    ("A quote found again on another page, an item without a URL", "dropped", "equal items"),
    ("An author repeated beside another article", "dropped", "equal items; the article is kept"),
    ("A comment on a page of its own, below the article it belongs to", "kept", "`comment`"),
    (
        "A person on a second committee, a row that holds the URL of its page",
        "kept",
        "the URL differs",
    ),
    ("A page whose text was revised a little", "kept", "a new version"),
    ("A product whose price changed", "kept", "a new version"),
    (
        "The maker's description in another shop, under another name",
        "dropped",
        "[a limit](#limits)",
    ),
    ("A page that a script fills in the browser", "kept", "`no_text`"),
    ("A copy whose item has a field less", "dropped", "nothing is new"),
    (
        "A part of a manual, shown in detail in the contents of all parts",
        "kept",
        "the contents are more than that part",
    ),
    ("A page at a print URL with another number in its text", "kept", "`(numbers)`"),
    (
        "A chapter of a novel with lines that name its site",
        "dropped",
        "such lines are no part of the text",
    ),
    ("A copy on another site in which one word in sixty was changed", "dropped", "similarity .94"),
    (
        "A copy from a JSON API, its text in HTML",
        "dropped",
        "the text of the HTML is compared, as there is no page",
    ),
    ("An item with a value that can't be read", "kept", "`unreadable`"),
    ("A page that the server sent as an error", "kept", "`error_page`"),
    (
        "A category under the same title and paragraph, with other products",
        "kept",
        "`(rest of the page)`",
    ),
    ("A copy whose item has a field more", "kept", "`award`: a new field"),
    (
        "A copy of a page, crawled after it as in the first crawl",
        "dropped",
        "a copy in both crawls",
    ),
    ("The entries of a list, a text each, under other URLs", "kept", "[moved](recrawls.md)"),
    ("A meeting of another month with the same agenda", "kept", "`date`"),
    ("The maker's page, which has no price, then a shop with one", "kept", "`price`"),
    ("A product listed again, under the same URL at the same price", "dropped", "equal items"),
    (
        "A tour on a second site: its own title and day, a different number in its text",
        "kept",
        "`(numbers)`",
    ),
    (
        "A copy with other related pages, the item all text of its page",
        "dropped",
        "the main text is compared",
    ),
    (
        "A story on another site under another headline, the item only a URL and a title",
        "dropped",
        "the main text is compared",
    ),
    (
        "A story with a long text of another site pasted below it as a comment",
        "kept",
        "a comment is not the main text",
    ),
    (
        "The maker's description in another shop, at another price without a currency",
        "kept",
        "`price`",
    ),
    ("The article of a comment that was found on a page of its own", "kept", "another item"),
    (
        "The reviews on a product's second page, below the same long text",
        "kept",
        "not the entries' text",
    ),
    ("A post repeated on the next page of its thread", "dropped", "equal items"),
    ("Notices under the URL of their page that differ in a number", "kept", "`(numbers)`"),
    ("A page that the server could not make", "kept", "`error_page`"),
]
