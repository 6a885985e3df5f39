"""No item causes an error, and an item is dropped only for an equal one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from fuzz.grammar import PAGE, Product, bodies, items, prose, values
from fuzz.target import target
from hypothesis import example
from hypothesis import strategies as st
from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse
from scrapy.settings import Settings as ScrapySettings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler
from tracked import document_of, tracked

from scrapy_simhash import Index
from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.index.verdict import Document, LeftOut, Verdict

SETTINGS = Settings.read(ScrapySettings())
STATS = CrawlStats(StatsCollector(get_crawler()))
SECRET = b"0123456789abcdef"
REASONS = {"unreadable", "no_text", "too_short", "too_large", "no_main_text", "too_complex"}


def decide_in_turn(
    *asked: tuple[Any, bool, bytes | None],
) -> list[tuple[Document | str, Verdict | None]]:
    """Decide on items in turn; each with whether it is alone on its page, and the page if any."""
    maker = DocumentMaker(SETTINGS, STATS, lambda: SECRET)
    found: list[tuple[Document | str, Verdict | None]] = []
    with Index("sqlite://") as index:
        for number, (item, is_alone, body) in enumerate(asked, 1):
            response = None if body is None else HtmlResponse(PAGE, body=body)
            page = tracked(response, is_alone=is_alone, key=f"page {number}", download=number)
            document = document_of(maker, page, item)
            if isinstance(document, str):
                assert document in REASONS
                found.append((document, None))
                continue
            (verdict,) = index.execute(claims=[document])
            if verdict.kind == "duplicate":
                packed = pack(item)
                index.execute(left_out=[LeftOut(verdict, "drop", *packed)])
            elif verdict.claim:
                index.confirm(verdict)
            found.append((document, verdict))
    return found


def content_of(value: Any, depth: int = 60) -> Any:
    """The content of a value, extracted independently; other content gives another result."""
    if not depth:  # it contains itself
        return ("deep", repr(value))
    content = partial(content_of, depth=depth - 1)
    if isinstance(value, Mapping):
        fields = ((str(key), content(inner)) for key, inner in value.items())
        return ("d", frozenset((key, inner) for key, inner in fields if inner is not None))
    if isinstance(value, (list, tuple, set, frozenset)):
        inside = frozenset(one for inner in value if (one := content(inner)) is not None)
        return ("l", inside) if inside else None
    if isinstance(value, str):
        text = str.__str__(value)
        return ("str", text) if text and text.strip() != PAGE else None
    if isinstance(value, (bytes, bytearray)):
        return ("bytes", bytes(value)) if value else None
    if value is None:
        return None
    if type(value) is int:
        return ("int", hex(value))
    if isinstance(value, (bool, float, Decimal, dt.date, dt.time, dt.timedelta)):
        return (type(value).__name__, str(value))
    if isinstance(value, Product):
        return content(dict(ItemAdapter(value)))
    return (type(value).__name__, text_of(value))


def text_of(value: Any) -> str:
    """The text of an object; its repr, if it fails where values are no longer read."""
    try:
        return str(value)
    except (RuntimeError, TypeError):
        return repr(value)


def fields_of(item: Any) -> Any:
    """The content of an item by the paths of its fields; dots and nesting are equivalent."""
    paths: dict[str, set[Any]] = {}

    def collect(path: str, fields: Any) -> None:
        for key, inner in fields:
            if inner[0] == "d":
                collect(f"{path}{key}.", inner[1])
            elif inner[0] == "l":
                paths.setdefault(path + key, set()).update(inner[1])
            else:
                paths.setdefault(path + key, set()).add(inner)

    collect("", content_of(dict(ItemAdapter(item)))[1])
    return type(item).__name__, {path: frozenset(one) for path, one in paths.items()}


@st.composite
def followed(draw: Callable[..., Any]) -> tuple[Any, Any]:
    """An item, and one that is nearly the same or not at all."""
    first = draw(items)
    if isinstance(first, Product) or draw(st.booleans()):
        return first, draw(items)
    second = dict(first)
    for name in draw(st.lists(st.sampled_from(list(first) or ["a"]), max_size=2)):
        second[name] = draw(values)
    return first, second


@target(followed(), st.booleans(), bodies | st.none(), examples=150)
@example(({"a": 1}, {"a": True}), False, None)
@example(({"a": "1"}, {"a": b"1"}), False, None)
@example(({"a": [1, 2]}, {"a": [1, 2, 3]}), False, None)
def test_items_that_follow_each_other(
    pair: tuple[Any, Any], is_alone: bool, body: bytes | None
) -> None:
    first, second = pair
    (one, _), (two, verdict) = decide_in_turn((first, is_alone, body), (second, is_alone, body))
    if verdict is None or verdict.kind != "duplicate":
        return
    assert isinstance(one, Document)
    assert isinstance(two, Document)
    assert one.exact == two.exact
    if two.exact:
        assert fields_of(first) == fields_of(second)


PLAIN = st.recursive(
    st.one_of(
        st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=9)
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def turned_around(value: Any) -> Any:
    """A copy with the fields in another order, at all levels."""
    if isinstance(value, dict):
        return {key: turned_around(inner) for key, inner in reversed(value.items())}
    return [*map(turned_around, reversed(value))] if isinstance(value, list) else value


@target(st.dictionaries(st.text(max_size=8), PLAIN, min_size=1, max_size=4), examples=80)
def test_an_item_that_comes_again(item: dict[str, Any]) -> None:
    again = turned_around(item)
    (one, _), (_, verdict) = decide_in_turn((item, False, None), (again, False, None))
    if isinstance(one, Document):
        assert verdict is not None
        assert verdict.kind in {"duplicate", "same"}


NAMES = st.sampled_from(["title", "sku", "n", "price", "date", "isbn", "note"])
SHORT = st.one_of(
    st.integers(0, 99), st.sampled_from(["a", "b", "A", "€1", "1.00", "1", "2024-05-01"]), st.none()
)
FACTS = st.dictionaries(NAMES, SHORT, max_size=4)


@target(prose(), FACTS, FACTS, st.booleans(), examples=80)
def test_items_of_one_text(text: str, first: Any, second: Any, is_alone: bool) -> None:
    """On one site, that of the page: the first has all the content of the second."""
    body = f"<p>{text}".encode()
    (_, _), (two, verdict) = decide_in_turn(
        ({"body": text, **first}, is_alone, body), ({"body": text, **second}, is_alone, body)
    )
    assert isinstance(two, Document)
    assert verdict is not None
    if verdict.kind == "duplicate":
        for name, value in second.items():
            assert value is None or number_or_text(first[name]) == number_or_text(value)


def number_or_text(value: Any) -> Any:
    text = str(value).casefold().strip("€")
    try:
        return float(text)
    except ValueError:
        return text


def test_what_is_compared_with_is_written_exactly() -> None:
    """The check is useless if different values look equal to it."""
    different: Iterable[Any] = (1, True, 1.0, "1", b"1", Decimal(1), [1], [1, 2], {"a": 1})
    assert len({str(content_of(value)) for value in different}) == 9
