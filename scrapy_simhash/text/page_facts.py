"""What a page says about itself beside its text: title, heading, language, times, prices, codes.

On one site two pages whose texts are near may still be different things: the minutes of two months,
a product and its neighbour. These few values tell them apart. What changes when a page is fetched
twice is left out: counters, ratings, relative times, when it was modified, and whatever is marked
up inside boilerplate or inside a teaser of another page.

Property names are those of https://schema.org, microdata and `<time>` those of the HTML standard,
meta properties those of https://ogp.me.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.text import compiled
from scrapy_simhash.text.blocks import BLOCK, BOILERPLATE, CONTENT, SKIP, SPACE, is_marked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    _Pairs = list[tuple[str, str]]

__all__ = ["page_facts"]

# The bounds of what is looked at, far above what a page made for readers holds.
_ELEMENTS = 4096  # of all tags below, and of meta and script, in the order of the page
_HEADINGS = 8
_MARKED_UP = 64  # times and microdata whose surroundings are looked at
_VALUE = 256  # the length of a value
_READ = 16 * _VALUE  # what is read to find one
_EVENTS = 4 * _VALUE  # of a walk that looks for one
_JSON = 1 << 18  # characters of JSON-LD
_JSON_DEPTH, _JSON_THINGS = 4, 64

_PROPERTIES = {
    "headline": "page:headline",
    "datepublished": "page:datePublished",
    "startdate": "page:startDate",
    "price": "page:price",
    "lowprice": "page:price",
    "pricecurrency": "page:priceCurrency",
    "sku": "page:sku",
    "mpn": "page:mpn",
    "isbn": "page:isbn",
    "productid": "page:productID",
    **dict.fromkeys(("gtin", "gtin8", "gtin12", "gtin13", "gtin14"), "page:gtin"),
}
_META = {
    "article:published_time": "page:datePublished",
    "event:start_time": "page:startDate",
    **dict.fromkeys(("product:price:amount", "og:price:amount"), "page:price"),
    **dict.fromkeys(("product:price:currency", "og:price:currency"), "page:priceCurrency"),
    **dict.fromkeys(("product:retailer_item_id", "product:retailer_part_no"), "page:sku"),
    "book:isbn": "page:isbn",
    "og:title": "page:headline",
}
_DATES = {"page:datePublished", "page:startDate"}
# What these say about themselves is not about the page: a review's date, an author's name.
_OTHERS = re.compile(r"Action|Breadcrumb|Comment|List|Organi[sz]ation|Person|Rating|Review|WebSite")
# Between a value and the heading of the page, the marks of another thing.
_TEASER = {*BOILERPLATE, "a", "article", "header", "li"}

_TAGS = [f"{{*}}{tag}" for tag in ("title", "h1", "h2", "time")]
_JSON_LD = "application/ld+json"
_ITEMPROPS = etree.XPath("descendant-or-self::*[@itemprop]")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|2[01])\d\d(?!\d)")
_FRACTION = re.compile(r"\d+\.\d+")
_CHANGED = re.compile(r"modif|updated", re.IGNORECASE)
_SUBTAG = re.compile(r"\s*([a-zA-Z]{2,3})(?![^\W_])")


def page_facts(root: HtmlElement) -> dict[str, str]:
    """Return what a page says it is, by the name of the fact.

    Args:
        root: The page as an lxml tree, which is left unchanged.

    Returns:
        Non-empty values of at most 256 characters, white space collapsed. What a page does not
        say is left out:

        - "page:title", the heading alone where the title is the heading with something added, as
          the name of the site, so that a print view and its page have equal titles;
        - "page:heading", the heading of the first rank that the title holds, or "og:title", or the
          first;
        - "page:headline", one that the page gives to other sites, where it is another;
        - "page:language", its first subtag, in lower case;
        - "page:datePublished", "page:startDate", "page:price", "page:priceCurrency", "page:sku",
          "page:gtin", "page:mpn", "page:isbn", "page:productID": the first such property in
          JSON-LD, or else in microdata, or else in a meta element;
        - "page:time", the first time beside the heading, where neither of the two dates is known.

        Times are ISO 8601 to the minute, in UTC where they have an offset, if they can be read
        as such.
    """
    markup = _markup(root)
    elements, metas = markup.elements, markup.metas
    titles = _titles(elements, metas)
    surroundings = _ancestors(titles.element)
    names = [titles.title, titles.heading, metas.get("og:title", "")]
    facts: dict[str, str] = {}
    for name, value in (
        ("page:title", titles.title),
        ("page:heading", titles.heading),
        ("page:language", _language(root, metas)),
        *_json_properties(markup.scripts, names),
        *_microdata(markup.items, surroundings),
        *((_META[name], value) for name, value in metas.items() if name in _META),
    ):
        if usual := _usual(name, value):
            facts.setdefault(name, usual)
    if not _DATES & facts.keys() and (time := _time(elements["time"], surroundings)):
        facts["page:time"] = time
    if any(_agree(facts.get("page:headline", ""), name) for name in (titles.title, titles.heading)):
        del facts["page:headline"]
    return facts


class _Markup(NamedTuple):
    """What may hold a fact.

    Attributes:
        metas: What meta elements say, by their names.
        scripts: The sources of JSON-LD.
        elements: Titles, headings and times by their tags.
        items: The elements with microdata.
    """

    metas: dict[str, str]
    scripts: list[str]
    elements: defaultdict[str, list[HtmlElement]]
    items: list[HtmlElement]


def _markup(root: HtmlElement) -> _Markup:
    made = compiled.markup(root, _ELEMENTS, _MARKED_UP)
    metas, scripts, written, items = _marked_up(root) if made is None else made
    named: dict[str, str] = {}
    for name, content in metas:
        named.setdefault(name.lower(), content[:_READ])
    sources = [source for kind, source in scripts if kind.strip().lower() == _JSON_LD]
    elements: defaultdict[str, list[HtmlElement]] = defaultdict(list)
    for element in written:
        elements[str(element.tag).rpartition("}")[2]].append(element)
    return _Markup(named, sources, elements, items)


def _marked_up(root: HtmlElement) -> tuple[_Pairs, _Pairs, list[HtmlElement], list[HtmlElement]]:
    """Return what `_Markup` is made of: meta elements, scripts by their types, elements, items."""
    metas, scripts = [], []
    for element in islice(root.iter("{*}meta", "{*}script"), _ELEMENTS):
        if str(element.tag).endswith("script"):
            scripts.append((element.get("type", ""), element.text or ""))
            continue
        name = element.get("property") or element.get("name") or element.get("http-equiv")
        content = element.get("content")
        if name and content:
            metas.append((name, content))
    items = list(islice(_ITEMPROPS(root), _MARKED_UP))
    return metas, scripts, list(islice(root.iter(*_TAGS), _ELEMENTS)), items


class _Titles(NamedTuple):
    element: HtmlElement | None  # the heading
    heading: str
    title: str


def _titles(elements: dict[str, list[HtmlElement]], metas: dict[str, str]) -> _Titles:
    """Return the heading of the page and its title, which becomes the heading if it holds it.

    Many sites put their own name into the title, and some into a heading above that of the page,
    which a print view lacks. The heading is the last of the first rank that the title holds, or
    else the first that the page has for other sites, or else the first; a logo only where there is
    no other.
    """
    title = next((_said(t) for t in elements["title"] if _is_of_page(t)), "")
    headings = [(h, said) for h in elements["h1"][:_HEADINGS] if (said := _said(h))]
    if not headings:
        return _Titles(None, "", title)
    headings = [(h, said) for h, said in headings if not _is_logo(h, said, title)] or headings
    if inside := [(h, said) for h, said in headings if _contains(title, said)]:
        element, heading = inside[-1]
        if not _is_site_name(element, heading, title, elements["h2"], metas):
            title = heading
    else:
        elsewhere = metas.get("og:title", "")
        shared = ((h, said) for h, said in headings if _contains(elsewhere, said))
        element, heading = next(shared, headings[0])
    return _Titles(element, heading, title)


def _is_of_page(title: HtmlElement) -> bool:
    """Tell the title of a page from that of a drawing in it."""
    parent = title.getparent()
    return parent is None or parent.tag in ("head", "html", "body")


def _is_site_name(
    element: HtmlElement, said: str, title: str, others: list[HtmlElement], metas: dict[str, str]
) -> bool:
    """Tell whether a heading inside the title is the part of it that all pages of a site share."""
    heading, title = _fold(said), _fold(title)
    if heading == _fold(metas.get("og:site_name", "")) or _is_logo(element, heading, title):
        return True
    if not _contains(metas.get("og:title", heading), heading):
        return True
    # The title may hold another heading, which is then the one that only this page has.
    rest = title.replace(heading, " ", 1)
    return any(_contains(rest, _said(other)) for other in others[:_HEADINGS])


def _is_logo(element: HtmlElement, heading: str, title: str) -> bool:
    """Tell whether a heading is a link whose words the title ends with, as with a site's name."""
    heading, title = _fold(heading), _fold(title)
    # Most titles begin with the heading.
    if title.startswith(heading) or not _contains(title, heading):
        return False
    link = next(element.iterdescendants("a"), None)
    return link is not None and _fold(_said(link)) == heading


def _language(root: HtmlElement, metas: dict[str, str]) -> str:
    declared = root.get("lang") or root.get("xml:lang") or metas.get("content-language", "")
    found = _SUBTAG.match(declared)
    return found[1].lower() if found else ""


def _ancestors(element: HtmlElement | None) -> set[HtmlElement]:
    return set() if element is None else {element, *element.iterancestors()}


def _is_beside(element: HtmlElement, surroundings: set[HtmlElement]) -> bool:
    """Tell whether what an element says is about the page and not about something else on it."""
    for around in (element, *element.iterancestors()):
        if around in surroundings or around.tag == "body":
            return True
        if around.tag in _TEASER or is_marked(around):
            return False
        if _OTHERS.search(around.get("itemtype", "")[:_VALUE]):
            return False
    return True


def _time(elements: list[HtmlElement], surroundings: set[HtmlElement]) -> str:
    """Return the first time beside the heading, but neither a relative one nor a change's."""
    for element in elements[:_MARKED_UP]:
        kind = f"{element.get('class', '')} {element.get('itemprop', '')}"
        if _CHANGED.search(kind) and "publish" not in kind:
            continue
        time = _moment(element.get("datetime") or _said(element))
        if time and _is_beside(element, surroundings):
            return time
    return ""


def _microdata(
    elements: list[HtmlElement], surroundings: set[HtmlElement]
) -> Iterator[tuple[str, str]]:
    for element in elements:
        names = element.get("itemprop", "")[:_VALUE].lower().split()
        facts = {_PROPERTIES[name]: None for name in names if name in _PROPERTIES}
        if facts and _is_beside(element, surroundings):
            value = element.get("content") or element.get("datetime") or element.get("value")
            yield from dict.fromkeys(facts, value or _said(element)).items()


def _json_properties(scripts: list[str], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what JSON-LD says about the page, known by its headline or by one of its names."""
    for thing in islice(_things(scripts), _JSON_THINGS):
        if _OTHERS.search(_scalar(thing.get("@type"))):
            continue
        properties = {key.lower(): _scalar(value)[:_READ] for key, value in thing.items()}
        name = properties.get("name")
        if name and not properties.get("headline") and not any(_agree(name, n) for n in names):
            continue  # the next event of the calendar, the offer of the day
        for offer in (thing, _first(thing.get("offers"))):
            if isinstance(offer, dict):
                for key, value in offer.items():
                    if fact := _PROPERTIES.get(key.lower()):
                        # Python refuses to read the number of a character of 4,300 digits.
                        yield fact, unescape(_scalar(value)[:_READ])


def _things(scripts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the things that JSON-LD is about, without those that they refer to."""
    left = _JSON
    for source in scripts:
        if len(source) > left:
            continue
        left -= len(source)
        try:
            data = json.loads(source, strict=False)
        except (ValueError, RecursionError):
            continue
        yield from _inside(data, _JSON_DEPTH)


def _inside(data: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(data, list) and depth:
        for thing in data:
            yield from _inside(thing, depth - 1)
    elif isinstance(data, dict):
        yield data
        for name in ("@graph", "mainEntity"):
            if depth and name in data:
                yield from _inside(data[name], depth - 1)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _scalar(value: Any) -> str:
    value = _first(value)
    if isinstance(value, dict):
        value = value.get("@value")
    is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return str(value) if is_plain else ""


def _usual(name: str, value: str) -> str:
    """Return the value of a fact in the form that makes equal values equal texts."""
    if name in _DATES:
        return _moment(value)
    value = _short(value)
    if name == "page:price" and _FRACTION.fullmatch(value):
        return value.rstrip("0").rstrip(".")
    return value


def _moment(value: str) -> str:
    """Return a time in its usual form, or "" where it has no year: "two hours ago", "12:30"."""
    value = _short(value)
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return value if _YEAR.search(value) else ""
    return moment.isoformat(timespec="minutes")


def _said(element: HtmlElement) -> str:
    """Return what is written in an element, of a large one the beginning."""
    if not len(element) and CONTENT[element.tag] != SKIP:
        return _short(element.text or "")
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
        if length >= _READ:
            break
    return _short("".join(parts))


def _short(value: str) -> str:
    return " ".join(value[:_READ].split())[:_VALUE].rstrip()


@lru_cache(maxsize=64)  # a title is held against every heading
def _fold(text: str) -> str:
    return " ".join(tokens(text))


def _contains(text: str, part: str) -> bool:
    """Tell whether a text holds the words of another, whatever stands between them."""
    folded = _fold(part)
    return bool(folded) and f" {folded} " in f" {_fold(text)} "


def _agree(a: str, b: str) -> bool:
    """Tell whether one of two names is the other with something added."""
    return _contains(a, b) or _contains(b, a)
