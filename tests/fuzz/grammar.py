"""Strategies of texts, pages and items that nobody would write by accident."""

from __future__ import annotations

import datetime as dt
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from lxml import etree, html

PAGE = "https://shop.example/p/1"

# Texts

#: Letters of all kinds, digits, marks, what is invisible or turns a line around, lone surrogates.
characters = st.one_of(
    st.sampled_from("aA zé9_-.ß\n\t\0\r,;:€$£%/\\\"'<>&=[]{}()#"),
    st.sampled_from("中文あア한Ａ，々\u3099\u0301\u0316\u00ad\u200b\u200d\ufe0f\ufeff\u034f"),
    st.sampled_from("\U00020000😀𝐀\U000e0101\U0010ffff\u202e\u2066\u2028\x85\x1b\ufdfa\u0130ŉ"),
    st.sampled_from("กา\u0e48ລ\u0eb3ខ្မែမြ٣३½²Ⅷ★👍🏽"),
    st.characters(),
    st.characters(categories=["Cs"]),
)
pieces = st.sampled_from(
    [
        *("€19.99", "1.234,56 EUR", "19,99", "1e5", "-0", "0x10", "1_000", "9" * 400, "٣٫٥", "½"),
        *("2024-05-01", "2024-05-01T12:00:00+25:00", "0000-00-00", "12:30", "3 minutes ago"),
        *("9999-12-31T23:59:59-14:00", "Mon, 31 Feb 2024", "10000-01-01", "1715000000"),
        *("http://[", "//[", "http://a:99999/", "mailto:x", "data:;base64,AAAA", PAGE, "http://"),
        *("&#x110000;", "&#" + "9" * 5000 + ";", "&lt;script&gt;", "&amp;amp;", "&notin", "&#0;"),
        *("<p><b>x</b></p>", "<!--", "<![CDATA[", "]]>", '{"a":', "[" * 200, "{}", "null", "nan"),
        *("A" * 70, "AA-" * 40, "e\u0301" * 40, "\u0301" * 70),
        *("\u1112\u1161\u11ab", "\ud800\udc00"),
        *("a b " * 20, "ก" * 50, "中" * 50, "👍" * 9, "x" * 300, " " * 100, "\n" * 50),
    ]
)
texts = st.one_of(
    st.text(characters, max_size=40),
    pieces,
    st.lists(st.one_of(pieces, st.text(characters, max_size=8)), max_size=12).map("".join),
)


@st.composite
def prose(draw: Callable[..., Any], least: int = 40, most: int = 120) -> str:
    """Words that no text of another number has."""
    number, count = draw(st.integers(0, 99)), draw(st.integers(least, most))
    return " ".join(f"word{number}x{place * place}" for place in range(count))


#: The same, and some that are much longer.
long_texts = st.one_of(
    texts,
    st.lists(st.one_of(texts, prose(least=2)), max_size=8).map(" ".join),
    st.builds(
        lambda text, times: text * times, st.text(characters, max_size=8), st.integers(1, 5000)
    ),
)
secrets = st.one_of(st.just(b""), st.binary(min_size=1, max_size=64))


# Pages

_TAGS = (
    *("p", "div", "a", "span", "b", "article", "main", "section", "nav", "footer", "aside", "ul"),
    *("li", "table", "tr", "td", "th", "h1", "h2", "title", "time", "br", "img", "pre", "button"),
    *("form", "input", "select", "option", "textarea", "noscript", "template", "svg", "math"),
    *("iframe", "frameset", "frame", "body", "html", "head", "meta", "base", "plaintext", "x:y"),
    *("figure", "figcaption", "font", "marquee", "a-b", "ſ", "dialog", "menu", "xmp", "annotation"),
)
_NAMES = (
    *("class", "id", "lang", "xml:lang", "itemprop", "itemtype", "itemscope"),
    *("datetime", "content"),
    *("name", "property", "http-equiv", "charset", "href", "src", "style", "role"),
    *("hidden", "xmlns"),
    *("onclick", "value", "=", '"', "\0", "é", "x:y", "data-" + "x" * 50),
)
_VALUES = (
    *("nav", "content", "main article", "comment sidebar", "en", "en-US-x"),
    *("price", "datePublished"),
    *("sku gtin13 isbn", "headline", "modified", "og:title"),
    *("og:site_name", "article:published_time"),
    *("product:price:amount", "content-language", "application/ld+json", "utf-16", "none", "\0"),
    *("https://schema.org/Product", "https://schema.org/Review", "javascript:x"),
    *("refresh", "1" * 999),
)
_KEYS = (
    *("@type", "@graph", "@value", "@id", "@context", "name", "headline"),
    *("datePublished", "offers"),
    *("price", "priceCurrency", "sku", "gtin", "mainEntity", "Price", "ISBN", ""),
)

tags = st.sampled_from(_TAGS)
attributes = st.lists(
    st.tuples(
        st.sampled_from(_NAMES),
        st.sampled_from(["=", '="', "='", "", " = "]),
        st.one_of(st.sampled_from(_VALUES), texts),
    ).map(lambda parts: f" {parts[0]}{parts[1]}{parts[2]}{parts[1].strip(' =')}"),
    max_size=4,
).map("".join)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        texts,
        st.sampled_from(["Product", "Review", "€5", "5.00", 10**400, "2024-05-01T10:00:00+02:00"]),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(_KEYS) | texts, inner, max_size=5)
    ),
    max_leaves=10,
)
documents = json_values.map(
    lambda value: json.dumps(value).replace("1" + "0" * 400, "1" + "0" * 5000)
)
linked_data = st.tuples(
    documents, st.sampled_from(["", "\n\0", ",", "}", "//", "<!--", "</scr", "[" * 3000])
).map(lambda parts: f'<script type="application/ld+json">{parts[0]}{parts[1]}</script>')


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    closings = st.sampled_from(["</{tag}>", "", "</", "</{tag}", "</{tag} x=y>", "</p></div></p>"])
    one = st.tuples(tags, attributes, st.lists(inner, max_size=4).map("".join), closings)
    return one.map(lambda made: f"<{made[0]}{made[1]}>{made[2]}{made[3].format(tag=made[0])}")


def _deep(tag: str, depth: int, inner: str) -> str:
    return f"<{tag}>" * depth + inner


markup = st.recursive(
    st.one_of(
        texts,
        prose(least=5),
        linked_data,
        st.sampled_from(["<!-- x --", "<!doctype html>", "<?xml version='1.0'?>", "<![CDATA[x]]>"]),
        st.sampled_from(["<p", "<", "</", "<a href=", '<a href="', "<!", "<?", "<\0p>", "&", "&#"]),
        st.sampled_from(
            [
                *("<script>var a='</p>';", "<style>p{}", "<title>x", "<textarea>"),
                *("<!--[if IE]>", "<xmp>"),
            ]
        ),
    ),
    lambda inner: st.one_of(
        _wrapped(inner),
        st.lists(inner, max_size=5).map("".join),
        st.builds(_deep, tags, st.integers(1, 300), inner),
        st.builds(lambda part, times: part * times, inner, st.integers(2, 12)),
    ),
    max_leaves=20,
)

_ENCODINGS = (
    *("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-32", "gb18030", "shift_jis", "utf-7", "hz"),
)
_DECLARED = (
    *_ENCODINGS,
    "hex",
    "rot13",
    "undefined",
    "idna",
    "x-user-defined",
    "\0",
    "base64",
    "a" * 99,
)


@st.composite
def pages(draw: Callable[..., Any]) -> bytes:
    """A page as bytes: it may declare a wrong encoding and contain invalid bytes."""
    page = draw(markup)
    if draw(st.booleans()):
        title, declared = draw(texts), draw(st.sampled_from(_DECLARED))
        head = f"<html lang=en><meta charset={declared}><title>{title}</title>"
        page = f"{head}<body><h1>{title}</h1>{page}<p>{draw(prose())}"
    body = page.encode(draw(st.sampled_from(_ENCODINGS)), "replace")
    for place, byte in draw(
        st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(max_size=4)), max_size=4)
    ):
        at = place % (len(body) + 1)
        body = body[:at] + byte + body[at + draw(st.integers(0, 8)) :]
    return body


#: Bytes of any kind, pages most of the time.
bodies = st.one_of(pages(), pages(), pages(), st.binary(max_size=400))


@st.composite
def trees(draw: Callable[..., Any]) -> Any:
    """A tree that was built, not parsed, with names and nesting that no parser produces."""
    kinds = [
        *("p", "div", "{http://www.w3.org/1999/xhtml}p", "{x}nav", "script", "h1", "title", "meta"),
        *("time", "li", "a", "body", "html", "article", "P", "é", "button", "noscript"),
    ]
    allowed = texts.map(lambda text: "".join(one for one in text if _fits(one)))
    root = html.Element("html")
    around = [root]
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from([*kinds, "comment", "pi", "entity"]))
        if kind == "comment":
            one = etree.Comment(draw(allowed).replace("-", ""))
        elif kind == "pi":
            one = etree.ProcessingInstruction("x", draw(allowed).replace("?>", ""))
        elif kind == "entity":
            one = etree.Entity(draw(st.sampled_from(["nbsp", "x"])))
        else:
            one = draw(st.sampled_from([html.Element, etree.Element]))(kind)
            one.text = draw(allowed)
            for name in draw(st.lists(st.sampled_from(["class", "lang", "itemprop", "datetime"]))):
                one.set(name, draw(allowed))
        one.tail = draw(st.none() | allowed)
        draw(st.sampled_from(around)).append(one)
        if isinstance(one.tag, str):
            around.append(one)
    return draw(st.sampled_from(around))


def _fits(character: str) -> bool:
    """Whether XML may have a character."""
    return character >= " " and not "\ud800" <= character <= "\udfff" and character < "\ufffe"


# Items


class Mute:
    """Has no content that could be compared."""


class Failing:
    """Fails at every access but those of hypothesis."""

    def __repr__(self) -> str:
        return "Failing()"

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


class Odd:
    """Has a text, and a hash that it shares with others."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and other.text == self.text


class Wrong:
    """Its text is no text."""

    def __str__(self) -> Any:
        return 5  # noqa: PLE0307 (that is what is wrong)


class Endless(dict):  # type: ignore[type-arg]
    """A mapping that claims a greater length than it has, and whose values raise errors."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)


class Zone(dt.tzinfo):
    """A time zone that fails."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        raise RuntimeError("no offset")


@dataclass
class Product:
    """An item of a class."""

    title: Any = None
    body: Any = None


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


def _circle(value: Any) -> Any:
    circle: list[Any] = [value]
    circle.append(circle)
    return circle


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"in": value}
    return value


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, 1 << 1023, 1 << 1024, 0, 1, -1, 1715000000]),
    # Too long to be printed, by hypothesis too.
    st.builds(lambda sign: sign * 10**5000, st.sampled_from([1, -1])),
    st.floats(),
    st.decimals(),
    st.sampled_from([Decimal("sNaN"), Decimal("1E+999999"), Decimal("-0.00"), Fraction(1, 3), 1j]),
    texts,
    texts,
    texts.map(Text),
    st.binary(max_size=40),
    st.binary(max_size=9).map(bytearray),
    st.datetimes(timezones=st.timezones() | st.none()),
    st.sampled_from([dt.date.max, dt.time.max, dt.timedelta.min, dt.date.min]),
    st.builds(lambda: dt.datetime(2024, 1, 1, tzinfo=Zone())),
    st.builds(Mute),
    st.builds(Failing),
    st.builds(Wrong),
    st.builds(Odd, texts),
    st.sampled_from([dict, len, Ellipsis, NotImplemented, range(3), float("nan")]),
    prose(),
    documents,
    st.just(PAGE),
)
_names = st.one_of(
    st.sampled_from(
        [
            *("url", "title", "body", "price", "a", "a.b", "b", "sku", "id", "image"),
            *("lang", "timestamp"),
        ]
    ),
    texts,
)
_keys = _names | st.integers(0, 3) | st.none() | st.binary(max_size=3) | st.builds(Failing)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.sets(st.one_of(texts, st.integers(), st.booleans(), st.builds(Odd, texts)), max_size=4),
        st.dictionaries(_keys, inner, max_size=4),
        st.dictionaries(_names, inner, max_size=3).map(OrderedDict),
        st.dictionaries(_names, inner, max_size=3).map(Endless),
        st.builds(Product, inner, inner),
        st.builds(_circle, inner),
        st.builds(_nested, inner, st.integers(1, 40)),
        st.builds(lambda value, times: [value] * times, inner, st.sampled_from([2, 33, 10_001])),
    ),
    max_leaves=8,
)
items = st.one_of(
    st.dictionaries(_names, values, max_size=5),
    st.dictionaries(_names, values, max_size=5),
    st.builds(Product, values, values),
    st.dictionaries(_keys, values, max_size=3),
)
