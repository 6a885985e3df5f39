"""Generated sites of one template, whose pages are different things with much text in common.

Beside the things there are true copies of some of them, under a session id, in another category or
as a print view. Everything else that is dropped is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Any, NamedTuple

from benchmarks.accuracy_parts.visits import Visit, half_of
from benchmarks.accuracy_parts.wording import Writer

__all__ = ["GENERATED", "Thing", "generate"]

COPIES = 20  # one thing of so many has a copy


class Thing(NamedTuple):
    """A page of a generated site: what it is about, as markup and as an item."""

    title: str
    markup: str
    item: dict[str, Any]


def product(writer: Writer, common: str) -> Thing:
    """A product: a few words of its own, a table, a price, and a text that all products have."""
    title = writer.name(3)
    price = f"{writer.random.randint(3, 900)}.{writer.random.randint(0, 99):02}"
    own = writer.prose(writer.random.randint(12, 30))
    sku = f"{writer.random.getrandbits(32):08X}"
    rows = [(writer.name(1), writer.name(1)) for _ in range(4)]
    table = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    return Thing(
        title,
        f"<h1>{title}</h1><div class='price'>€ {price}</div><p>{own}</p>"
        f"<table>{table}</table><p>{common}</p><p>Item {sku}</p>",
        {
            "name": title,
            "price": f"€ {price}",
            "sku": sku,
            "description": f"{own} {common}".strip(),
        },
    )


def job(writer: Writer, common: str) -> Thing:
    """A job ad: who the firm is and what it offers are the same in all of its ads."""
    title, place = writer.name(2), writer.name(1)
    half = common.index(". ", len(common) // 2) + 2
    about, offers = common[:half], common[half:]
    duties = [" ".join(writer.words(writer.random.randint(6, 12))) for _ in range(4)]
    listed = "".join(f"<li>{duty}</li>" for duty in duties)
    return Thing(
        title,
        f"<h1>{title}</h1><p>{place}, full time</p><h2>About us</h2><p>{about}</p>"
        f"<h2>What you do</h2><ul>{listed}</ul><h2>What we offer</h2><p>{offers}</p>",
        {"title": title, "place": place, "text": " ".join([about, *duties, offers])},
    )


def thread(writer: Writer, common: str) -> Thing:
    """A page of a forum: posts, the rules of the house above, a notice in each of them."""
    title = writer.name(4)
    posts = [
        (writer.name(1), writer.prose(writer.random.randint(15, 60)))
        for _ in range(writer.random.randint(2, 6))
    ]
    markup = "".join(
        f"<div class='post'><div class='author'>{name}</div><div class='body'><p>{text}</p></div>"
        f"<div class='signature'>{name} writes from here.</div></div>"
        for name, text in posts
    )
    return Thing(
        title,
        f"<h1>{title}</h1><p>{common}</p>{markup}",
        {"title": title, "posts": [text for _, text in posts]},
    )


def weather(writer: Writer, common: str) -> Thing:
    """The weather of a place: one text, other numbers and another name."""
    place = writer.name(2)
    low, high = writer.random.randint(-9, 15), writer.random.randint(16, 34)
    wind, rain = writer.random.randint(1, 60), writer.random.randint(0, 100)
    report = (
        f"Today in {place} it stays between {low} and {high} degrees, with wind of {wind} km/h. "
        f"The chance of rain is {rain} percent."
    )
    return Thing(
        f"Weather in {place}",
        f"<h1>Weather in {place}</h1><p>{report}</p><p>{common}</p>",
        {"place": place, "text": f"{report} {common}"},
    )


class Kind(NamedTuple):
    """A generated site: how its pages are made, how many, how many words they have in common."""

    name: str
    make: Callable[[Writer, str], Thing]
    things: int
    common: int


GENERATED = (
    *(
        Kind(f"products, {words} words in common", product, 2000, words)
        for words in (0, 40, 80, 160)
    ),
    Kind("job ads, 400 words in common", job, 1000, 400),
    Kind("forum threads, 30 words in common", thread, 1000, 30),
    Kind("weather, 200 words in common", weather, 1000, 200),
)


def generate(kind: Kind, things: int | None = None) -> list[Visit]:
    """The visits of a generated site; its copies come last."""
    writer = Writer(kind.name)
    common = writer.prose(kind.common)
    menu = "".join(f"<li><a href='/{word}'>{word}</a></li>" for word in writer.words(12))
    foot = writer.prose(30)
    made = [kind.make(writer, common) for _ in range(kind.things if things is None else things)]

    def visit(number: int, form: str) -> Visit:
        thing = made[number]
        url = f"https://generated.example/{number}.html"
        page = thing.markup
        if form != "print":
            more = "".join(
                f"<li><a href='/{other.title}'>{other.title}</a></li>"
                for other in writer.random.sample(made, min(6, len(made)))
            )
            page = (
                f"<header><a href='/'>The house</a><ul>{menu}</ul></header>"
                f"<div id='content'>{page}</div>"
                f"<div class='more'><h3>More</h3><ul>{more}</ul></div>"
                f"<div id='bottom'><p>{foot}</p></div>"
            )
        page = f"<html><head><title>{escape(thing.title)}</title></head><body>{page}</body></html>"
        address = url if form == "thing" else f"{url}?{form}=1"
        item = {**thing.item, "url": address}
        return Visit(address, url, form, half_of(url), page.encode(), thing.markup, item)

    def copies() -> Iterator[Visit]:
        for number in range(0, len(made), COPIES):
            yield visit(number, ("session", "category", "print")[number // COPIES % 3])

    return [*(visit(number, "thing") for number in range(len(made))), *copies()]
