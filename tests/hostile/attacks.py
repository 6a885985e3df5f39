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
COMPLEX = "too_complex"
SHORT = "too_short"
LARGE = "too_large"
NO_TEXT = "no_text"


class Attack(NamedTuple):
    """A page, and what is to become of it: `COMPARED`, or the reason why it is not."""

    kind: str
    size: int
    make: Callable[[int], bytes]
    outcome: str

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.size}"

    @property
    def body(self) -> bytes:
        return self.make(self.size)


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


def linked(name: str, *data: str) -> bytes:
    scripts = (f"<script type='application/ld+json'>{one}</script>" for one in data)
    return html(story(name), "".join(scripts))


def classes(size: int) -> bytes:
    boxes = (f"<div class='{number:08x} category-a'>a b</div>" for number in range(size // 43))
    return "".join(boxes).encode()


def nested_articles(size: int) -> bytes:
    """On each level an article, and beside it what takes from the score as much as it gives."""
    levels = 600
    text = b"word " * (size // levels // 12)
    part = b"<div><p>" + text + b"</p></div>"
    beside = b"<p><a href=/>" + text + b"</a></p>" + b"<ul>" + b"<li>x" * 40 + b"</ul>"
    return b"<div>" * levels + (part + beside + b"</div>") * levels


def attributes_behind_quotes(size: int) -> bytes:
    names = (b"a%x='>'" % number for number in range(size // 10))
    return b"<p " + b" ".join(names) + b">a b"


def attributes_of_many(size: int) -> bytes:
    one = b"<p " + b" ".join(b"a%x" % number for number in range(450)) + b">a b"
    return one * (size // len(one))


def long_style_around_times(size: int) -> bytes:
    style = b"<div style='" + b"display " * (size // 8) + b"'>"
    return b"<h1>x</h1>" + style + b"<time>2024-05-06</time>" * 64 + b"word " * 99


def data_addresses(size: int) -> bytes:
    image = "<img src='data:image/png;base64," + "iVBORw0KGgo" * (size // 33) + "'>"
    return html(story("images") + image * 3)


def nested_properties(size: int) -> bytes:
    names = " ".join(["price"] * 40)
    return html("<h1>x</h1>" + f'<b itemprop="{names}">' * 64 + "b " * (size // 2))


def long_names(size: int) -> bytes:
    content = "a b " * (size // 8)
    names = ("og:title", "og:site_name")
    metas = "".join(f"<meta property={name} content='{content}'>" for name in names)
    return html("<h1>a b</h1>" + story("names"), f"<title>a b</title>{metas}")


def many_headings_in_footers(size: int) -> bytes:
    footer = "<footer>" + "<div>" * 200 + "<h2>x</h2>" * (size // 10)
    return html("<h1>a</h1>" + story("footer") + footer, "<title>a - x</title>")


def inside_boxes(one: str, size: int) -> bytes:
    """So many of one thing, inside as many boxes as a page may have inside each other."""
    boxes = "<article></article><article>" + "<div>" * 1900
    return html(f"<h1>x</h1>{boxes}" + one * (size // len(one)))


def days_in_rows(size: int) -> bytes:
    rows = (
        f"<tr><td>Label {n}<td>3 March 2024 and {n} more days of it, at the most of all of them"
        for n in range(size // 90)
    )
    return html("<h1>x</h1>" + story("days") + f"<table>{''.join(rows)}</table>")


def linked_things(size: int) -> bytes:
    thing = '{"@type":"Product","name":"x","offers":[{"price":1}]}'
    return linked("things", '{"@graph":[' + ",".join([thing] * (size // 53)) + "]}")


def properties(size: int) -> bytes:
    metas = (f"<meta property='og:title{number}' content='x'>" for number in range(size // 43))
    return html(story("properties"), "".join(metas))


#: By name: what is made of about so many bytes, and what becomes of it at each size.
KINDS: dict[str, tuple[Callable[[int], bytes], dict[int, str]]] = {
    # Combining marks: to put n of them in order takes n squared steps.
    "combining_marks": (
        lambda n: html(story("marks") + f"<p>{n} {marks(n // 2)} {prose(n, 200)}"),
        {1_900_000: COMPARED, 160_000: COMPARED},
    ),
    "combining_marks_in_the_title": (
        lambda n: html(story("title"), f"<title>{marks(n // 2)}</title>"),
        {1_000_000: COMPARED},
    ),
    "decomposed_letters": (lambda n: html("<p>" + "e\u0301 " * (n // 4)), {1_300_000: SHORT}),
    # Small blocks: what is done for each is ten times what parsing it takes.
    "small_paragraphs": (lambda n: b"<p>a b" * (n // 6), {590_000: SHORT, 5_000_000: COMPLEX}),
    "small_marked_boxes": (
        lambda n: b"<div class=nav id=x>a b</div>" * (n // 29),
        {1_440_000: SHORT},
    ),
    "small_cells": (lambda n: b"<table>" + b"<tr><td>1<td>2" * (n // 14), {460_000: SHORT}),
    "line_breaks": (lambda n: b"<p>" + b"a<br>" * (n // 5), {490_000: SHORT}),
    "links": (lambda n: b"<a href=/>b</a> " * (n // 16), {790_000: SHORT}),
    "buttons": (lambda n: b"<button>a <b>b</b></button>" * (n // 27), {660_000: SHORT}),
    "navs_in_noscript": (
        lambda n: b"<noscript>" + b"<p>a b<nav>c</nav>" * (n // 18),
        {590_000: SHORT},
    ),
    "comments": (lambda n: b"<p>" + b"<!---->" * (n // 8) + b"word " * 99, {790_000: SHORT}),
    "classes": (classes, {1_000_000: SHORT}),
    # Deep trees
    "nested_boxes": (lambda n: b"<div>a b " * (n // 9), {890_000: SHORT}),
    "nested_articles": (nested_articles, {600_000: SHORT}),
    # Attributes: libxml2 goes through all that an element has for each one more.
    "attributes": (
        lambda n: b"<p " + b" ".join(b"a%x" % number for number in range(n // 6)) + b">a b",
        {500_000: COMPLEX},
    ),
    "attributes_behind_quotes": (attributes_behind_quotes, {500_000: COMPLEX}),
    "attributes_of_many": (attributes_of_many, {5_000_000: SHORT}),
    "values_inside_values": (lambda n: b"<a b='>" * (n // 7), {690_000: NO_TEXT}),
    "names_inside_values": (lambda n: b"<x=/" * (n // 4), {390_000: NO_TEXT}),
    "tags_inside_tags": (lambda n: (b"<a " * 400 + b">") * (n // 1201), {290_000: NO_TEXT}),
    # 250 tags begin before a long value, and for each of them it is one of its values.
    "values_that_go_far": (
        lambda n: (b'<a b="> " ' * 250 + b'<a b="' + b"x" * 20_000 + b'" >') * (n // 22_500),
        {4_500_000: COMPLEX},
    ),
    "long_class": (
        lambda n: b"<div class='" + b"nav-" * (n // 4) + b"'>" + b"word " * 99,
        {4_000_000: SHORT},
    ),
    "long_style_around_times": (long_style_around_times, {4_000_000: SHORT}),
    # Text
    "plain_text": (lambda n: html("<p>" + "word " * (n // 5)), {990_000: SHORT, 6_000_000: LARGE}),
    "distinct_words": (lambda n: html(f"<p>{prose('words', n // 7)}"), {990_000: COMPARED}),
    "chinese": (lambda n: html(f"<p>{ideographs(n // 3)}"), {2_900_000: COMPARED}),
    "thai": (lambda n: html(f"<p>{ideographs(n // 3, 0xE01, 0xE2E)}"), {2_900_000: COMPARED}),
    "expanding_characters": (
        lambda n: html(story("expanding") + "<p>1 ago " + "\ufdfa" * (n // 3)),
        {2_900_000: COMPARED},
    ),
    "characters_that_become_three": (
        lambda n: html(story("three") + "<p>" + "\ufb2c" * (n // 3)),
        {2_400_000: COMPARED},
    ),
    "characters_that_become_two_marks": (
        lambda n: html(story("two marks") + "<p>" + "\u0344" * (n // 2)),
        {1_900_000: COMPARED},
    ),
    # They become two marks each, of two classes, which have to be put in order.
    "marks_that_look_like_letters": (
        lambda n: html(story("letters") + "<p>" + "\u0f73" * (n // 3)),
        {1_900_000: COMPARED},
    ),
    # They are marks in NFKC only.
    "halfwidth_marks": (
        lambda n: html(story("halfwidth") + "<p>1 ago " + "\uff9e\u0334" * (n // 5)),
        {2_300_000: COMPARED},
    ),
    "digits": (lambda n: html(story("digits") + f"<p>ago {'1' * n}"), {900_000: COMPARED}),
    "numbers": (lambda n: html(story("numbers") + "<p>" + "1 2 " * (n // 4)), {900_000: COMPARED}),
    "dates": (
        lambda n: html(story("dates") + "<p>" + "2024-05-06 " * (n // 11)),
        {990_000: COMPARED},
    ),
    # They are composed to syllables.
    "hangul_letters": (
        lambda n: html(story("hangul") + "<p>" + "\u1112\u1161\u11ab" * (n // 9)),
        {2_700_000: COMPARED},
    ),
    "surrogate_references": (
        lambda n: html(story("surrogates") + "<p>" + "&#xD800;&#xDC00; " * (n // 17)),
        {3_400_000: COMPARED},
    ),
    "data_addresses": (data_addresses, {4_000_000: COMPARED}),
    "character_references": (lambda n: html("<p>" + "&#97; " * (n // 6)), {2_900_000: SHORT}),
    "navigation": (
        lambda n: html(story("navigation") + "<nav>" + prose("menu", 1000) * (n // 7100)),
        {4_900_000: LARGE},
    ),
    # What the page declares
    "nested_times": (
        lambda n: html("<h1>x</h1>" + "<time>" * 200 + "b " * (n // 2)),
        {900_000: SHORT},
    ),
    "nested_properties": (nested_properties, {900_000: SHORT}),
    "nested_headings": (
        lambda n: html("<h1>" * 100 + "b " * (n // 2), "<title>b b b b b</title>"),
        {900_000: SHORT},
    ),
    "long_names": (long_names, {4_900_000: COMPARED}),
    "many_definitions": (
        lambda n: html("<h1>a</h1>" + story("terms") + "<dl>" + "<dt>1<dd>2" * (n // 9) + "</dl>"),
        {200_000: SHORT},
    ),
    "nested_rows": (
        lambda n: html("<h1>x</h1>" + "<div><b>Label</b><div>" * (n // 22)),
        {42_000: SHORT},
    ),
    "rows_inside_boxes": (lambda n: inside_boxes("<dl><dt>Label<dd>2 m</dl>", n), {100_000: SHORT}),
    "times_inside_boxes": (
        lambda n: inside_boxes("<time datetime=2024-05-06></time>", n),
        {100_000: NO_TEXT},
    ),
    "properties_inside_boxes": (
        lambda n: inside_boxes("<i itemprop=sku>1</i>", n),
        {100_000: NO_TEXT},
    ),
    "days_in_rows": (days_in_rows, {400_000: COMPARED}),
    "many_headings_in_footers": (many_headings_in_footers, {200_000: COMPARED}),
    "linked_things": (linked_things, {490_000: COMPARED}),
    "linked_lists": (
        lambda n: linked("lists", *["[" + "[]," * 999 + "1]"] * (n // 3040)),
        {5_000_000: COMPARED},
    ),
    "linked_blocks": (
        lambda n: linked("blocks", *['{"@type":"Article","headline":"a b"}'] * (n // 80)),
        {1_600_000: COMPARED},
    ),
    "properties": (properties, {3_400_000: COMPARED}),
    "linked_depth": (
        lambda n: linked("depth", "[" * (n // 2) + "]" * (n // 2)),
        {200_000: COMPARED},
    ),
    "linked_reference": (
        lambda n: linked("reference", '{"@type":"Article","headline":"&#' + "9" * n + ';"}'),
        {200_000: COMPARED},
    ),
}
PAGES = [
    Attack(kind, size, make, outcome)
    for kind, (make, outcomes) in KINDS.items()
    for size, outcome in outcomes.items()
]


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
