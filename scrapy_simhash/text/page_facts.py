"""The facts of a page: title, heading, times, prices, codes.

They tell apart two pages of one site with similar texts, such as the minutes of two months or two
products. Values that change from one download to the next are left out: counters, ratings, relative
times, times of modification. So are values inside boilerplate and teasers of other pages.

Properties have the names of https://schema.org; microdata and `<time>` are those of the HTML
standard, properties of meta elements those of https://ogp.me.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from html import unescape
from itertools import chain, islice, takewhile
from json import JSONDecoder
from typing import Any

from lxml.html import HtmlElement

from scrapy_simhash.item.facts import ROW
from scrapy_simhash.item.numbers import amount
from scrapy_simhash.text import markup as marked
from scrapy_simhash.text.blocks import BOILERPLATE, marking_of, tree_core
from scrapy_simhash.text.markup import (
    PROPERTIES,
    Elements,
    Titles,
    agree,
    find_elements,
    find_titles,
    json_ld,
    metas,
    short,
    text_of,
)

#: Whether elements are about the page, as far as that is known.
Surroundings = dict[HtmlElement, bool]

# Limits, far above what pages for readers have.
_JSON_CHARACTERS = 1 << 18
_JSON_DEPTH = 4
_JSON_OBJECTS = 64

# Rows about the page that are read; `facts.MAX_FIELDS` of them are stored.
_READ_ROWS = 256
_LABEL_LENGTH = 40
_VALUE_LENGTH = 80
# Elements behind the heading in which a price may stand alone.
_BEHIND = 100
# Characters of such a price, with its label.
_ALONE_LENGTH = 64

_DATES = {"page:datePublished", "page:datePosted", "page:startDate"}
# Types whose properties are not those of the page: a review's date, an author's name.
_OTHER_TYPES = re.compile(
    r"Action|Breadcrumb|Comment|List|Organi[sz]ation|Person|Rating|Review|WebSite"
)
_KEYS_OF_FACTS = {*PROPERTIES, "joblocation", "offers"}
# Elements whose values belong to a teaser, not to the page.
_TEASER = {*BOILERPLATE, "a", "article", "header"}
# So is an entry of a list that has a link among its first elements. Lists may be inside each other.
_CARD = 32
_JSON_LD = JSONDecoder(strict=False)
_DIGIT = re.compile(r"\d")
_DAY = len("2024-03-05")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|2[01])\d\d(?!\d)")
_CHANGED = re.compile(r"modif|updated", re.IGNORECASE)


def page_facts(root: HtmlElement) -> dict[str, Any]:
    """The facts of a page by their names.

    Values have 1 to 256 characters, white space collapsed. Missing ones are left out:

    - "page:title", or only the heading if the title has something beside it, such as the name of
      the site, so that a page and its print view have equal titles;
    - "page:heading", the h1 with which a part of the title ends, or else the first;
    - "page:datePublished", "page:startDate", "page:price", "page:priceCurrency", "page:sku",
      "page:gtin", "page:mpn", "page:isbn", "page:productID": the first such property in JSON-LD, or
      else in microdata, or else in a meta element;
    - "page:datePosted", "page:identifier", "page:addressLocality" likewise, as of ads and events;
    - "page:time", the first time beside the heading, if none of the dates is known;
    - "page:price" otherwise: the first amount that is the whole text of one of the first hundred
      elements behind the heading, or with a label in front, which may be an element of its own;
    - "page:value.Colour" and so on: the values of rows of two short cells, in tables and in
      definition lists, by their labels; a list, if several rows have one label.

    Times that can be parsed are ISO 8601 to the minute, in UTC if they have an offset; days have no
    time. The page is not changed.
    """
    return PageFacts(root).facts


class PageFacts:
    """Reads the facts of a page, each part when it is first needed.

    The registrable domain, if it is known, tells which part of a title is the name of the site.
    """

    def __init__(self, root: HtmlElement, domain: str = "") -> None:
        self._root, self._domain = root, domain

    @cached_property
    def _elements(self) -> Elements:
        return find_elements(self._root)

    @cached_property
    def titles(self) -> Titles:
        """The names of the page."""
        return find_titles(self._elements, self._domain)

    @cached_property
    def _surroundings(self) -> Surroundings:
        """The elements around the heading, and around the article if the page has only one."""
        articles = self._elements.get("article", ())
        inner = [*articles] if len(articles) == 1 else []
        if self.titles.element is not None:
            inner.append(self.titles.element)
        return {around: True for element in inner for around in (element, *element.iterancestors())}

    @cached_property
    def rows(self) -> dict[str, str | list[str]]:
        """The values of rows by their labels, as fields with these names.

        A translated page has other labels, so no field in which it could differ.
        """
        rows: dict[str, list[str]] = {}
        for label, cells in islice(self._rows(), _READ_ROWS):
            name = _short_text(label, _LABEL_LENGTH).rstrip(" :：")
            values = [text for cell in cells if (text := _short_text(cell, _VALUE_LENGTH))]
            if name and values:
                rows.setdefault(ROW + name.replace(".", " "), []).extend(values)
        return {name: values[0] if len(values) == 1 else values for name, values in rows.items()}

    def _rows(self) -> Iterator[tuple[HtmlElement, Iterable[HtmlElement]]]:
        """Yield the label and the values of each row about the page."""
        values: Iterable[HtmlElement]
        for row in self._elements.get("row", ()):
            if row.tag == "dt":
                label, values = row, takewhile(lambda one: one.tag == "dd", row.itersiblings("*"))
            else:
                cells = list(islice(row.iterchildren("*"), 3))
                if len(cells) != 2 or cells[1].tag != "td":
                    continue
                label, values = cells[0], cells[1:]
            if _is_about_page(row, self._surroundings):
                yield label, values

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All facts; see `page_facts`."""
        (element, heading, title), elements = self.titles, self._elements
        facts = {"page:title": title, "page:heading": heading}
        facts = {name: value for name, value in facts.items() if value}
        for name, value in (
            *_json_properties(json_ld(elements), [title, heading]),
            *_microdata(elements.get("itemprop", ()), self._surroundings),
            *((marked.META[name], value) for name, value in metas(elements).items()),
        ):
            if name not in facts and (normalised := _normalised(name, value)):
                facts[name] = normalised
        is_dated = not _DATES.isdisjoint(facts)
        if not is_dated and (time := _time(elements.get("time", ()), self._surroundings)):
            facts["page:time"] = time
        if element is not None and "page:price" not in facts:
            facts |= _price(element, self._surroundings)
        return facts | self.rows


def _is_about_page(element: HtmlElement, surroundings: Surroundings) -> bool:
    """Whether an element is about the page, not about something else on it."""
    inside: list[HtmlElement] = []
    is_about = True
    for around in chain((element,), element.iterancestors()):
        if (known := surroundings.get(around)) is not None:
            is_about = known
            break
        inside.append(around)
        if around.tag == "body":
            break
        if (
            around.tag in _TEASER
            or (
                around.tag == "li"
                and any(one.tag == "a" for one in islice(around.iter("*"), _CARD))
            )
            or marking_of(around)
            or _OTHER_TYPES.search(around.get("itemtype", "")[: marked.VALUE])
        ):
            is_about = False
            break
    # Thousands of rows may be inside each other.
    surroundings.update(dict.fromkeys(inside, is_about))
    return is_about


def _time(elements: Iterable[HtmlElement], surroundings: Surroundings) -> str:
    """The first time about the page that is neither relative nor that of a change."""
    for element in elements:
        kind = f"{element.get('class', '')} {element.get('itemprop', '')}"
        if _CHANGED.search(kind) and "publish" not in kind:
            continue
        time = _moment(element.get("datetime") or text_of(element))
        if time and _is_about_page(element, surroundings):
            return time
    return ""


def _price(heading: HtmlElement, surroundings: Surroundings) -> dict[str, str]:
    """The first price that is the whole text of an element behind the heading, if any."""
    for element in _leaves(heading):
        text = element.text or ""
        if text.rstrip().endswith((":", "：")):
            text += element.tail or ""
        if not 0 < len(text) <= _ALONE_LENGTH or not _DIGIT.search(text):
            continue
        price = short(text)
        is_price = amount(price.casefold(), expected=False) is not None
        if is_price and _is_about_page(element, surroundings):
            return {"page:price": price}
    return {}


def _leaves(heading: HtmlElement) -> list[HtmlElement]:
    """The first elements behind a heading that hold no other element."""
    core = tree_core()
    if core is not None and (leaves := core.leaves(heading)) is not None:
        return [element for element in leaves if not len(element)]
    behind = (
        element
        for around in (heading, *heading.iterancestors())
        for sibling in around.itersiblings()
        for element in sibling.iter("*")
    )
    return [element for element in islice(behind, _BEHIND) if not len(element)]


def _short_text(cell: HtmlElement, most: int) -> str:
    """The text of a cell; "" if it has more than `most` characters, or more than eight parts."""
    if len(cell):
        parts = list(islice(cell.itertext(), 9))
        if len(parts) > 8 or sum(map(len, parts)) > 8 * most:
            return ""
    text = text_of(cell)
    return text if len(text) <= most else ""


def _microdata(
    elements: Iterable[HtmlElement], surroundings: Surroundings
) -> Iterator[tuple[str, str]]:
    """Yield the properties in microdata of the page."""
    for element in elements:
        names = element.get("itemprop", "")[: marked.VALUE].lower().split()
        facts = {PROPERTIES[name]: None for name in names if name in PROPERTIES}
        if facts and _is_about_page(element, surroundings):
            value = element.get("content") or element.get("datetime") or element.get("value")
            yield from dict.fromkeys(facts, value or text_of(element)).items()


def _json_properties(scripts: list[str], names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the properties in JSON-LD of objects with a headline or one of the page's names.

    One alone with such keys is that of the page: a heading may name a section or a kind of product.
    """
    nodes = [
        node
        for node in islice(_objects(scripts), _JSON_OBJECTS)
        if not _KEYS_OF_FACTS.isdisjoint(map(str.lower, node))
        and not _OTHER_TYPES.search(_scalar(node.get("@type")))
    ]
    # The next events of the calendar, the offers of the day.
    for node in [one for one in nodes if len(nodes) == 1 or not _has_other_name(one, names)]:
        place = _first(node.get("jobLocation", node.get("location")))
        address = place.get("address") if isinstance(place, dict) else None
        for part in (node, _first(node.get("offers")), address):
            if isinstance(part, dict):
                for key, value in part.items():
                    if fact := PROPERTIES.get(key.lower()):
                        # Cut first: unescape raises for a character reference of 4,300 digits.
                        yield fact, unescape(_scalar(value)[: marked.READ])


def _has_other_name(node: dict[str, Any], names: list[str]) -> bool:
    """Whether an object has a name, but none of these, and no headline."""
    lower = {key.lower(): value for key, value in node.items()}
    name, headline = (_scalar(lower.get(key))[: marked.READ] for key in ("name", "headline"))
    return bool(name) and not headline and not any(agree(name, other) for other in names)


def _objects(scripts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects in JSON-LD, without those that are values of their properties."""
    left = _JSON_CHARACTERS
    for source in scripts:
        if len(source) > left:
            continue
        left -= len(source)
        try:
            data = _JSON_LD.decode(source)
        except (ValueError, RecursionError):
            continue
        yield from _inside(data, _JSON_DEPTH)


def _inside(data: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(data, list) and depth:
        for element in data:
            yield from _inside(element, depth - 1)
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
        value = value.get("@value", value.get("value"))
    is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return str(value) if is_plain else ""


def _normalised(name: str, value: str) -> str:
    """The value of a fact in one notation."""
    return _moment(value) if name in _DATES else short(value)


def _moment(value: str) -> str:
    """A time in one notation; "" if it has no year, like "two hours ago" and "12:30"."""
    value = short(value)
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return value if _YEAR.search(value) else ""
    return str(moment.date()) if len(value) <= _DAY else moment.isoformat(timespec="minutes")
