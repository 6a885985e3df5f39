"""Markup that may hold facts of a page: meta elements, JSON-LD, titles, headings, microdata."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.text.blocks import CONTENT, Action, packed, tree_core

# Limits, far above what pages for readers have.
_ELEMENTS = 4096  # titles, headings and times, and meta and script elements, in their order
_HEADINGS = 8  # of either rank
_MARKED_UP = 64  # times, and elements with microdata
VALUE = 256  # characters of a value
READ = 16 * VALUE  # characters that are read for a value
_EVENTS = 4 * VALUE  # steps of a walk for a value

#: The facts in properties, by the names of these in lower case.
PROPERTIES = {
    "headline": "page:headline",
    "datepublished": "page:datePublished",
    "dateposted": "page:datePosted",
    "startdate": "page:startDate",
    "identifier": "page:identifier",
    "addresslocality": "page:addressLocality",
    "price": "page:price",
    "lowprice": "page:price",
    "pricecurrency": "page:priceCurrency",
    "sku": "page:sku",
    "mpn": "page:mpn",
    "isbn": "page:isbn",
    "productid": "page:productID",
    **dict.fromkeys(("gtin", "gtin8", "gtin12", "gtin13", "gtin14"), "page:gtin"),
}
#: The facts in meta elements, likewise.
META = {
    "article:published_time": "page:datePublished",
    "event:start_time": "page:startDate",
    **dict.fromkeys(("product:price:amount", "og:price:amount"), "page:price"),
    **dict.fromkeys(("product:price:currency", "og:price:currency"), "page:priceCurrency"),
    **dict.fromkeys(("product:retailer_item_id", "product:retailer_part_no"), "page:sku"),
    "book:isbn": "page:isbn",
    "og:title": "page:headline",
}
#: The names of all facts of a page.
PAGE_FACTS = (
    *("page:title", "page:heading", "page:time", "page:day"),
    *dict.fromkeys([*PROPERTIES.values(), *META.values()]),
)
_METAS = {*META, "og:site_name"}

_TAGS = [f"{{*}}{tag}" for tag in ("title", "h1", "h2", "time")]
_JSON_LD = "application/ld+json"
_ITEMPROPS = etree.XPath("descendant-or-self::*[@itemprop]")
# For the compiled core: whether a name is one of meta elements, of microdata, or of both.
_OF_META = 1
_OF_ITEM = 2
_PACKED = (
    packed({**dict.fromkeys(sorted(_METAS), _OF_META), **dict.fromkeys(PROPERTIES, _OF_ITEM)}),
    CONTENT.packed,
)


class Markup(NamedTuple):
    """Markup that may hold facts.

    Attributes:
        metas: the contents of meta elements by their names in lower case.
        scripts: the sources of JSON-LD.
        title: the title.
        headings: the h1 elements with their texts.
        subheadings: the texts of h2 elements; to be iterated once.
        times: the number of time elements.
        items: the elements with microdata, without some that hold no fact.
    """

    metas: dict[str, str]
    scripts: list[str]
    title: str
    headings: list[tuple[HtmlElement, str]]
    subheadings: Iterable[str]
    times: int
    items: list[HtmlElement]


def read_markup(root: HtmlElement) -> Markup:
    """Find the markup that may hold facts."""
    bounds = _ELEMENTS, _HEADINGS, _MARKED_UP, READ, _EVENTS
    core = tree_core()
    if core is None or (parts := core.markup(root, _PACKED, bounds)) is None:
        return _read_markup(root)
    metas, scripts, titles, texts, headings, subheadings, times, items = parts
    return Markup(
        _named(metas),
        _linked_data(scripts),
        short(titles[0]) if titles else "",
        list(zip(headings, map(short, texts), strict=True)),
        map(short, subheadings),
        times,
        items,
    )


def _read_markup(root: HtmlElement) -> Markup:
    """`read_markup` without the core."""
    metas, scripts = list[str](), list[str]()
    for element in islice(root.iter("{*}meta", "{*}script"), _ELEMENTS):
        if str(element.tag).endswith("script"):
            scripts += element.get("type", ""), element.text or ""
            continue
        name = element.get("property") or element.get("name") or element.get("http-equiv")
        content = element.get("content")
        if name and content:
            metas += name, content
    by_tag: dict[str, list[HtmlElement]] = {tag: [] for tag in ("title", "h1", "h2", "time")}
    for element in islice(root.iter(*_TAGS), _ELEMENTS):
        by_tag[str(element.tag).rpartition("}")[2]].append(element)
    return Markup(
        _named(metas),
        _linked_data(scripts),
        next((text_of(title) for title in by_tag["title"] if _is_of_page(title)), ""),
        [(heading, text_of(heading)) for heading in by_tag["h1"][:_HEADINGS]],
        map(text_of, by_tag["h2"][:_HEADINGS]),
        min(len(by_tag["time"]), _MARKED_UP),
        list(islice(_ITEMPROPS(root), _MARKED_UP)),
    )


def _named(metas: list[str]) -> dict[str, str]:
    """The first content of each name, given names and contents in turn."""
    named: dict[str, str] = {}
    pairs = iter(metas)
    for name, content in zip(pairs, pairs, strict=True):
        if (lower := name.lower()) in _METAS:
            named.setdefault(lower, content[:READ])
    return named


def _linked_data(scripts: list[str]) -> list[str]:
    """The sources of JSON-LD, given types and sources in turn."""
    pairs = iter(scripts)
    kinds = zip(pairs, pairs, strict=True)
    return [source for kind, source in kinds if kind.strip().lower() == _JSON_LD]


def _is_of_page(title: HtmlElement) -> bool:
    """Whether a title is that of the page, not that of a drawing in it."""
    parent = title.getparent()
    return parent is None or parent.tag in ("head", "html", "body")


def text_of(element: HtmlElement) -> str:
    """The text of an element, or the beginning of a long text."""
    if not len(element) and CONTENT[element.tag] != Action.SKIP:
        return short(element.text or "")
    parts: list[str] = []
    length = 0
    events = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, inner in islice(events, _EVENTS):
        action = CONTENT[inner.tag]
        if action >= Action.BLOCK or action == Action.SPACE:
            parts.append(" ")
        if event != "start":
            parts.append("" if inner is element else inner.tail or "")
        elif action == Action.SKIP:
            events.skip_subtree()
            continue
        else:
            parts.append(inner.text or "")
        length += len(parts[-1])
        if length >= READ:
            break
    return short("".join(parts))


def short(value: str) -> str:
    """A value with white space collapsed, cut to `VALUE` characters."""
    return " ".join(value[:READ].split())[:VALUE].rstrip()
