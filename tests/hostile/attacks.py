"""Pages and items that are made to cost too much: each is aimed at one step of the way.

They are built rather than stored, as most of them are large. Those that shall be compared in the
end have a text of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

#: What becomes of a page that is compared like any other.
COMPARED = "compared"


class Attack(NamedTuple):
    """A page, and what is to become of it: `COMPARED`, or the reason why it is not."""

    name: str
    size: int
    make: Callable[[int], bytes]
    outcome: str

    @property
    def body(self) -> bytes:
        return self.make(self.size)


PAGES: list[Attack] = []


def page(size: int, outcome: str) -> Callable[[Callable[[int], bytes]], Callable[[int], bytes]]:
    """Enter a page of about so many bytes. One may be entered at several sizes."""

    def enter(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
        PAGES.append(Attack(f"{make.__name__}_{size}", size, make, outcome))
        return make

    return enter


def html(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def prose(seed: object, words: int = 120) -> str:
    """A text that has nothing in common with that of another seed."""
    choose = random.Random(str(seed))
    return " ".join("".join(choose.choices("abdeghiklmnoprstu", k=6)) for _ in range(words))


def story(name: str) -> str:
    return f"<p>{prose(name, 200)}</p>"


def marks(count: int) -> str:
    """A letter with so many marks, of two classes, which have to be put in order."""
    return "a" + "\u0301" * (count // 2) + "\u0316" * (count // 2)


def ideographs(count: int, first: int = 0x4E00, last: int = 0x9FD5) -> str:
    choose = random.Random(count)
    return "".join(chr(choose.randint(first, last)) for _ in range(count))


# Combining marks: to put n of them in order takes n squared steps.


@page(160_000, COMPARED)
@page(1_900_000, COMPARED)
def combining_marks(size: int) -> bytes:
    return html(story("marks") + f"<p>{size} {marks(size // 2)} {prose(size, 200)}")


@page(1_000_000, COMPARED)
def combining_marks_in_the_title(size: int) -> bytes:
    return html(story("title"), f"<title>{marks(size // 2)}</title>")


@page(1_300_000, "too_short")
def decomposed_letters(size: int) -> bytes:
    return html("<p>" + "e\u0301 " * (size // 4))


# Small blocks: what is done for each is ten times what parsing it takes.


@page(5_000_000, "too_complex")
@page(590_000, "too_short")
def small_paragraphs(size: int) -> bytes:
    return b"<p>a b" * (size // 6)


@page(5_000_000, "too_complex")
@page(1_440_000, "too_short")
def small_marked_boxes(size: int) -> bytes:
    return b"<div class=nav id=x>a b</div>" * (size // 29)


@page(5_000_000, "too_complex")
@page(460_000, "too_short")
def small_cells(size: int) -> bytes:
    return b"<table>" + b"<tr><td>1<td>2" * (size // 14)


@page(5_000_000, "too_complex")
@page(490_000, "too_short")
def line_breaks(size: int) -> bytes:
    return b"<p>" + b"a<br>" * (size // 5)


@page(5_000_000, "too_complex")
@page(790_000, "too_short")
def links(size: int) -> bytes:
    return b"<a href=/>b</a> " * (size // 16)


@page(5_000_000, "too_complex")
@page(660_000, "too_short")
def buttons(size: int) -> bytes:
    return b"<button>a <b>b</b></button>" * (size // 27)


@page(5_000_000, "too_complex")
@page(590_000, "too_short")
def navs_in_noscript(size: int) -> bytes:
    return b"<noscript>" + b"<p>a b<nav>c</nav>" * (size // 18)


@page(5_000_000, "too_complex")
@page(790_000, "too_short")
def comments(size: int) -> bytes:
    return b"<p>" + b"<!---->" * (size // 8) + b"word " * 99


@page(1_000_000, "too_short")
def classes(size: int) -> bytes:
    boxes = (f"<div class='{number:08x} category-a'>a b</div>" for number in range(size // 43))
    return "".join(boxes).encode()


# Deep trees


@page(5_000_000, "too_complex")
@page(890_000, "too_short")
def nested_boxes(size: int) -> bytes:
    return b"<div>a b " * (size // 9)


@page(600_000, "too_short")
def nested_articles(size: int) -> bytes:
    """On each level an article, and beside it what takes from the score as much as it gives."""
    levels = 600
    text = b"word " * (size // levels // 12)
    part = b"<div><p>" + text + b"</p></div>"
    beside = b"<p><a href=/>" + text + b"</a></p>" + b"<ul>" + b"<li>x" * 40 + b"</ul>"
    return b"<div>" * levels + (part + beside + b"</div>") * levels


# Attributes: libxml2 goes through all that an element has for each one more.


@page(500_000, "too_complex")
def attributes(size: int) -> bytes:
    return b"<p " + b" ".join(b"a%x" % number for number in range(size // 6)) + b">a b"


@page(500_000, "too_complex")
def attributes_behind_quotes(size: int) -> bytes:
    names = (b"a%x='>'" % number for number in range(size // 10))
    return b"<p " + b" ".join(names) + b">a b"


@page(5_000_000, "too_short")
def attributes_of_many(size: int) -> bytes:
    one = b"<p " + b" ".join(b"a%x" % number for number in range(450)) + b">a b"
    return one * (size // len(one))


@page(690_000, "no_text")
def values_inside_values(size: int) -> bytes:
    return b"<a b='>" * (size // 7)


@page(390_000, "no_text")
def names_inside_values(size: int) -> bytes:
    return b"<x=/" * (size // 4)


@page(290_000, "no_text")
def tags_inside_tags(size: int) -> bytes:
    return (b"<a " * 400 + b">") * (size // 1201)


@page(4_500_000, "too_complex")
def values_that_go_far(size: int) -> bytes:
    """250 tags begin before a long value, and for each of them it is one of its values."""
    return (b'<a b="> " ' * 250 + b'<a b="' + b"x" * 20_000 + b'" >') * (size // 22_500)


@page(4_000_000, "too_short")
def long_class(size: int) -> bytes:
    return b"<div class='" + b"nav-" * (size // 4) + b"'>" + b"word " * 99


@page(4_000_000, "too_short")
def long_style_around_times(size: int) -> bytes:
    style = b"<div style='" + b"display " * (size // 8) + b"'>"
    return b"<h1>x</h1>" + style + b"<time>2024-05-06</time>" * 64 + b"word " * 99


# Text


@page(6_000_000, "too_large")
@page(5_000_000, "too_large")
@page(990_000, "too_short")
def plain_text(size: int) -> bytes:
    return html("<p>" + "word " * (size // 5))


@page(990_000, COMPARED)
def distinct_words(size: int) -> bytes:
    return html(f"<p>{prose('words', size // 7)}")


@page(2_900_000, COMPARED)
def chinese(size: int) -> bytes:
    return html(f"<p>{ideographs(size // 3)}")


@page(2_900_000, COMPARED)
def thai(size: int) -> bytes:
    return html(f"<p>{ideographs(size // 3, 0xE01, 0xE2E)}")


@page(2_900_000, COMPARED)
def expanding_characters(size: int) -> bytes:
    return html(story("expanding") + "<p>1 ago " + "\ufdfa" * (size // 3))


@page(2_400_000, COMPARED)
def characters_that_become_three(size: int) -> bytes:
    return html(story("three") + "<p>" + "\ufb2c" * (size // 3))


@page(1_900_000, COMPARED)
def characters_that_become_two_marks(size: int) -> bytes:
    return html(story("two marks") + "<p>" + "\u0344" * (size // 2))


@page(1_900_000, COMPARED)
def marks_that_look_like_letters(size: int) -> bytes:
    """They become two marks each, of two classes, which have to be put in order."""
    return html(story("letters") + "<p>" + "\u0f73" * (size // 3))


@page(2_300_000, COMPARED)
def halfwidth_marks(size: int) -> bytes:
    """They are marks in NFKC only."""
    return html(story("halfwidth") + "<p>1 ago " + "\uff9e\u0334" * (size // 5))


@page(900_000, COMPARED)
def digits(size: int) -> bytes:
    return html(story("digits") + f"<p>ago {'1' * size}")


@page(900_000, COMPARED)
def numbers(size: int) -> bytes:
    return html(story("numbers") + "<p>" + "1 2 " * (size // 4))


@page(990_000, COMPARED)
def dates(size: int) -> bytes:
    return html(story("dates") + "<p>" + "2024-05-06 " * (size // 11))


@page(2_700_000, COMPARED)
def hangul_letters(size: int) -> bytes:
    """They are composed to syllables."""
    return html(story("hangul") + "<p>" + "\u1112\u1161\u11ab" * (size // 9))


@page(3_400_000, COMPARED)
def surrogate_references(size: int) -> bytes:
    return html(story("surrogates") + "<p>" + "&#xD800;&#xDC00; " * (size // 17))


@page(4_000_000, COMPARED)
def data_addresses(size: int) -> bytes:
    image = "<img src='data:image/png;base64," + "iVBORw0KGgo" * (size // 33) + "'>"
    return html(story("images") + image * 3)


@page(2_900_000, "too_short")
def character_references(size: int) -> bytes:
    return html("<p>" + "&#97; " * (size // 6))


@page(4_900_000, "too_large")
def navigation(size: int) -> bytes:
    return html(story("navigation") + "<nav>" + prose("menu", 1000) * (size // 7100))


# What the page declares


@page(900_000, "too_short")
def nested_times(size: int) -> bytes:
    return html("<h1>x</h1>" + "<time>" * 200 + "b " * (size // 2))


@page(900_000, "too_short")
def nested_properties(size: int) -> bytes:
    names = " ".join(["price"] * 40)
    return html("<h1>x</h1>" + f'<b itemprop="{names}">' * 64 + "b " * (size // 2))


@page(900_000, "too_short")
def nested_headings(size: int) -> bytes:
    return html("<h1>" * 100 + "b " * (size // 2), "<title>b b b b b</title>")


@page(4_900_000, COMPARED)
def long_names(size: int) -> bytes:
    content = "a b " * (size // 8)
    names = ("og:title", "og:site_name")
    metas = "".join(f"<meta property={name} content='{content}'>" for name in names)
    return html("<h1>a b</h1>" + story("names"), f"<title>a b</title>{metas}")


@page(200_000, COMPARED)
def many_definitions(size: int) -> bytes:
    return html("<h1>a</h1>" + story("terms") + "<dl>" + "<dt>1<dd>2" * (size // 9) + "</dl>")


@page(200_000, COMPARED)
def many_headings_in_footers(size: int) -> bytes:
    footer = "<footer>" + "<div>" * 200 + "<h2>x</h2>" * (size // 10)
    return html("<h1>a</h1>" + story("footer") + footer, "<title>a - x</title>")


def linked(name: str, *data: str) -> bytes:
    scripts = (f"<script type='application/ld+json'>{one}</script>" for one in data)
    return html(story(name), "".join(scripts))


@page(490_000, COMPARED)
def linked_things(size: int) -> bytes:
    thing = '{"@type":"Product","name":"x","offers":[{"price":1}]}'
    return linked("things", '{"@graph":[' + ",".join([thing] * (size // 53)) + "]}")


@page(5_000_000, COMPARED)
def linked_lists(size: int) -> bytes:
    return linked("lists", *["[" + "[]," * 999 + "1]"] * (size // 3040))


@page(1_600_000, COMPARED)
def linked_blocks(size: int) -> bytes:
    return linked("blocks", *['{"@type":"Article","headline":"a b"}'] * (size // 80))


@page(3_400_000, COMPARED)
def properties(size: int) -> bytes:
    metas = (f"<meta property='og:title{number}' content='x'>" for number in range(size // 43))
    return html(story("properties"), "".join(metas))


@page(200_000, COMPARED)
def linked_depth(size: int) -> bytes:
    return linked("depth", "[" * (size // 2) + "]" * (size // 2))


@page(200_000, COMPARED)
def linked_reference(size: int) -> bytes:
    return linked("reference", '{"@type":"Article","headline":"&#' + "9" * size + ';"}')


def same_names(left: int) -> Any:
    """All ways to nest fields whose path is so many times the same word."""
    if not left:
        return "v"
    return {".".join(["a"] * length): same_names(left - length) for length in range(1, left + 1)}


def deep(value: Any, levels: int, key: str = "") -> Any:
    for _ in range(levels):
        value = {key: value} if key else [value]
    return value


#: Items, of which each can be read to its end or is not compared; none may be lost.
ITEMS: dict[str, Callable[[], dict[str, Any]]] = {
    "combining_marks": lambda: {"title": marks(200_000)},
    "combining_marks_in_a_name": lambda: {"list": [{marks(200_000): "x"}]},
    "same_names": lambda: same_names(12),
    "long_names_in_lists": lambda: {
        "list": [deep({f"{n}".ljust(250, "x"): n for n in range(3000)}, 13, "q" * 250)]
    },
    "huge_names": lambda: {"list": [{f"{n}" * 200_000: "x"} for n in range(9)]},
    "depth": lambda: {"list": deep("x", 900)},
    "addresses": lambda: {f"a{n}": "//" + "a." * 4000 + " x" for n in range(99)},
    "hour_of_a_date": lambda: {"date": "Mon, 01 Jan 2024 99999999999:00:00"},
    "character_reference": lambda: {"body": "<p>x</p><p>&#" + "9" * 5000 + ";"},
    "character_reference_in_prose": lambda: {
        "body": f"<p>{prose(1)}</p><p>&#" + "9" * 5000 + ";</p>"
    },
    "integer": lambda: {"count": 10**100_000},
    "decimal": lambda: {"price": Decimal("9" * 100_000)},
    "expanding_characters": lambda: {"title": "\ufdfa" * 300_000},
    "values": lambda: {f"a{n}": f"word and other {n} " * 20 for n in range(3000)},
    "digits": lambda: {"text": f"{prose(2)} ago " + "1" * 200_000},
}
