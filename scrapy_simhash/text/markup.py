"""Markup that may hold facts of a page, from its head to the rows of tables; the names of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.text.blocks import CONTENT, Action, tree_core

# Limits, far above what pages for readers have.
_ELEMENTS = 16_384
_HEADINGS = 8
_MARKED_UP = 64  # times, and elements with microdata
_ROWS = 4096
VALUE = 256  # characters of a value
READ = 16 * VALUE  # characters that are read for a value
_EVENTS = 4 * VALUE  # steps of a walk for a value

#: The facts in properties, by the names of these in lower case.
PROPERTIES = {
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
#: The facts in meta elements, by their names.
META = {
    "article:published_time": "page:datePublished",
    "event:start_time": "page:startDate",
    **dict.fromkeys(("product:price:amount", "og:price:amount"), "page:price"),
    **dict.fromkeys(("product:price:currency", "og:price:currency"), "page:priceCurrency"),
    **dict.fromkeys(("product:retailer_item_id", "product:retailer_part_no"), "page:sku"),
    "book:isbn": "page:isbn",
}
_NAMES = b"".join(name.encode() + b"\0" for name in META)

# Between the parts of a title.
_SEPARATOR = re.compile(" ?[:：|｜_–—·•«»（【] ?| - ")
# Words that a site may add to its name.
_BESIDE = frozenset(("the", "forum", "mobile", "online", "news"))
_JSON_LD = "application/ld+json"
_MAY_HOLD_FACTS = etree.XPath(
    "descendant-or-self::*[self::article or self::dt or self::h1 or self::meta or self::script"
    " or self::time or self::title or self::tr or @itemprop]"
)

#: Elements in their order, by tag; also rows of tables and labels in definition lists by "row", and
#: elements with microdata by "itemprop".
Elements = Mapping[str, Sequence[HtmlElement]]


def find_elements(root: HtmlElement) -> Elements:
    """The elements that may hold facts, as many as are read."""
    found: dict[str, list[HtmlElement]] = {}
    for element in _find_elements(root):
        tag = str(element.tag)
        found.setdefault("row" if tag in ("tr", "dt") else tag, []).append(element)
        if element.get("itemprop"):
            found.setdefault("itemprop", []).append(element)
    most = {"h1": _HEADINGS, "time": _MARKED_UP, "itemprop": _MARKED_UP, "row": _ROWS}
    return {name: elements[: most.get(name)] for name, elements in found.items()}


def _find_elements(root: HtmlElement) -> list[HtmlElement]:
    core = tree_core()
    if core is not None and (found := core.elements(root, _NAMES, _ELEMENTS)) is not None:
        return found
    return list(islice(_MAY_HOLD_FACTS(root), _ELEMENTS))


def metas(elements: Elements) -> dict[str, str]:
    """The contents of meta elements by their names; the first one of each name that is known."""
    named: dict[str, str] = {}
    for element in elements.get("meta", ()):
        name, content = element.get("property") or element.get("name"), element.get("content")
        if content and name in META:
            named.setdefault(name, content[:READ])
    return named


def json_ld(elements: Elements) -> list[str]:
    """The sources of JSON-LD."""
    return [
        script.text or ""
        for script in elements.get("script", ())
        if script.get("type", "").strip().lower() == _JSON_LD
    ]


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


class Titles(NamedTuple):
    """The names of a page, "" for those that it lacks, and the element of the heading."""

    element: HtmlElement | None
    heading: str
    title: str


def find_titles(elements: Elements, domain: str = "") -> Titles:
    """The heading of the page, and its title, which is the heading if a part of it ends with that.

    Many sites put their own name, that of a section and words such as "Print" beside the heading,
    which other views lack. The heading is the first h1 with which a part of the title ends, or else
    the first h1. One that is the last of several parts is the name of the site, and stands behind
    all others. Any other title has no first or last part that is the name of the domain.
    """
    title = next(
        (short(one.text or "") for one in elements.get("title", ()) if _is_of_page(one)), ""
    )
    headings = [(one, text) for one in elements.get("h1", ()) if (text := text_of(one))]
    separators = [*_SEPARATOR.finditer(title)]
    beginnings = [f" {fold(title[: one.start()])}" for one in separators] + [f" {fold(title)}"]
    # But not behind a colon, as in "Print: Goats at sea".
    is_site = separators and separators[-1][0].strip() not in (":", "：")
    last = fold(title[separators[-1].end() :]) if is_site else ""
    own = [pair for pair in headings if fold(pair[1]) not in ("", last)]
    for element, heading in own:
        if any(one.endswith(f" {fold(heading)}") for one in beginnings):
            return Titles(element, heading, heading)
    title = _without_site(title, domain)
    found = own or headings
    return Titles(*found[0], title) if found else Titles(None, "", title)


def _without_site(title: str, domain: str) -> str:
    """A title without its last or first part, if that is the name of the site as in its domain."""
    name = domain.partition(".")[0].replace("-", "")
    separators = [*_SEPARATOR.finditer(title)] if name else []
    for one in (*separators[-1:], *separators[:1]):
        for part, rest in (
            (title[one.end() :], title[: one.start()]),
            (title[: one.start()], title[one.end() :]),
        ):
            words = fold(part).split()
            without_added = [word for word in words if word not in _BESIDE]
            if name in ("".join(words), "".join(without_added)):
                return rest
    return title


@lru_cache(maxsize=64)  # a title is compared with every heading
def fold(text: str) -> str:
    """The words of a text, in lower case."""
    return " ".join(tokens(text))


def agree(a: str, b: str) -> bool:
    """Whether two names are equal, or one of them is the other with words added."""
    return _contains(a, b) or _contains(b, a)


def _contains(text: str, part: str) -> bool:
    """Whether a text contains the words of a part, with any punctuation."""
    words = fold(part)
    return bool(words) and f" {words} " in f" {fold(text)} "
