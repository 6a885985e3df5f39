"""Markup that may hold facts of a page: meta elements, JSON-LD, titles, headings, microdata."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.text.blocks import BLOCK, CONTENT, SKIP, SPACE, packed, tree_core

# Limits, far above what pages for readers have.
_ELEMENTS = 4096  # of the tags below, and of meta and script, in the order of the page
_HEADINGS = 8  # of either rank
_MARKED_UP = 64  # times, and elements with microdata
VALUE = 256  # the length of a value
READ = 16 * VALUE  # characters that are read for one
_EVENTS = 4 * VALUE  # steps of a walk for one

#: The facts in properties and meta elements, by their names in lower case.
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
# For the compiled core: whether a name is that of a meta element or of microdata.
_OF_META = 1
_OF_ITEM = 2
_PACKED = (
    packed({**dict.fromkeys(sorted(_METAS), _OF_META), **dict.fromkeys(PROPERTIES, _OF_ITEM)}),
    CONTENT.packed,
)


class Markup(NamedTuple):
    """Markup that may hold facts.

    That are contents of meta elements by name in lower case, sources of JSON-LD, the title, h1
    elements with their texts, texts of h2 elements (to be iterated once), the number of time
    elements, and elements with microdata, without some that can give no fact.
    """

    metas: dict[str, str]
    scripts: list[str]
    title: str
    headings: list[tuple[HtmlElement, str]]
    others: Iterable[str]
    times: int
    items: list[HtmlElement]


def read_markup(root: HtmlElement) -> Markup:
    """Find the markup that may hold facts."""
    bounds = _ELEMENTS, _HEADINGS, _MARKED_UP, READ, _EVENTS
    core = tree_core()
    if core is None or (made := core.markup(root, _PACKED, bounds)) is None:
        return _marked_up(root)
    metas, scripts, titles, written, headings, others, times, items = made
    return Markup(
        _named(metas),
        _linked_data(scripts),
        short(titles[0]) if titles else "",
        list(zip(headings, map(short, written), strict=True)),
        map(short, others),
        times,
        items,
    )


def _marked_up(root: HtmlElement) -> Markup:
    """The same without the core."""
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
    """The first content of each name, from names and contents in turn."""
    named: dict[str, str] = {}
    pairs = iter(metas)
    for name, content in zip(pairs, pairs, strict=True):
        if (lower := name.lower()) in _METAS:
            named.setdefault(lower, content[:READ])
    return named


def _linked_data(scripts: list[str]) -> list[str]:
    """The sources of JSON-LD, from types and sources in turn."""
    pairs = iter(scripts)
    kinds = zip(pairs, pairs, strict=True)
    return [source for kind, source in kinds if kind.strip().lower() == _JSON_LD]


def _is_of_page(title: HtmlElement) -> bool:
    """Whether a title is that of the page, not of a drawing in it."""
    parent = title.getparent()
    return parent is None or parent.tag in ("head", "html", "body")


def text_of(element: HtmlElement) -> str:
    """The text of an element, of a long one the beginning."""
    if not len(element) and CONTENT[element.tag] != SKIP:
        return short(element.text or "")
    parts: list[str] = []
    length = 0
    events = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, inner in islice(events, _EVENTS):
        action = CONTENT[inner.tag]
        if action >= BLOCK or action == SPACE:
            parts.append(" ")
        if event != "start":
            parts.append("" if inner is element else inner.tail or "")
        elif action == SKIP:
            events.skip_subtree()
            continue
        else:
            parts.append(inner.text or "")
        length += len(parts[-1])
        if length >= READ:
            break
    return short("".join(parts))


def short(value: str) -> str:
    """A value cut to its length, with white space collapsed."""
    return " ".join(value[:READ].split())[:VALUE].rstrip()
