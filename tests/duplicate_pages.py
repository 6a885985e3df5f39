"""Pages of the examples of docs/duplicates.md, and what spiders read from them."""

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


def reviewed(seed: str) -> bytes:
    """A product with its maker's description, and what a shop thinks of it."""
    verdict = f"<h3>Our verdict</h3><p class='field' data-name='verdict'>{sentences(seed, 40)}</p>"
    return page(thing(text=f"{LONG_TEXT}</div><div>{verdict}"))


def tiles(seed: str) -> str:
    """Products in a list of links."""
    names = (sentences((seed, number), 6) for number in range(40))
    return f"<ul>{''.join(f'<li><a href=/{seed}/p>{name}</a></li>' for name in names)}</ul>"


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


def products(*numbers: int) -> list[str]:
    return [thing(name=f"Lamp {n}", price="€19.99", url=f"{ONE}/p/{n}") for n in numbers]


def entries(*numbers: int) -> list[str]:
    texts = {number: paragraphs(sentences(number, 60)) for number in numbers}
    return [thing(sku=f"a{n}", url=f"{ONE}/e/{n}", text=text) for n, text in texts.items()]


def links_of(number: int) -> bytes:
    """A page of links, whose only text is a line on rights."""
    found = "".join(
        f"<li><a href='/{number}/{n}'>{sentences((number, n), 4)}</a></li>" for n in range(60)
    )
    rights = paragraphs(sentences("rights", 24))
    return bare(f"Contents {number}", f"<ul>{found}</ul><div>{rights}</div>")


STORY = {"title": "A flood", "author": "A. Smith", "date": "2024-05-01", "text": TEXT}
RETOLD = {"title": "The flood", "author": "B. Jones", "date": "2024-05-03", "text": TEXT}
PRODUCT = {"name": "A lamp", "price": "€19.99", "text": TEXT}
UNCHANGED = paragraphs(sentences("a text", 240))
