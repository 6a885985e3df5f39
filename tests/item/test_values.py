from __future__ import annotations

import dataclasses
from datetime import date
from typing import Any

import attrs
import pydantic
import pytest
import scrapy

from scrapy_simhash.item.values import item_text


class ScrapyItem(scrapy.Item):
    title = scrapy.Field()
    body = scrapy.Field()
    price = scrapy.Field()


@dataclasses.dataclass(frozen=True, slots=True)
class DataItem:
    title: str
    body: str
    price: float | None = None


@attrs.frozen
class AttrsItem:
    title: str
    body: str
    price: float | None = None


class PydanticItem(pydantic.BaseModel):
    title: str
    body: str
    price: float | None = None


@pytest.mark.parametrize("kind", [dict, ScrapyItem, DataItem, AttrsItem, PydanticItem])
def test_item_text(kind: type[Any]) -> None:
    item = kind(title="Ferry", body="It sinks.", price=2.5)
    assert item_text(item, ["body", "price", "title"]) == "It sinks.\n2.5\nFerry"
    assert item_text(kind(title="Ferry", body=""), ["title", "price", "body", "no"]) == "Ferry"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        (" as it is\n", " as it is\n"),
        (0, "0"),
        (False, "False"),
        ("渡船".encode(), "渡船"),
        (b"\xff", "\ufffd"),
        (date(2024, 2, 1), "2024-02-01"),
        (["a", ("b", None, 1), [], ["c"]], "a\nb\n1\nc"),
        ({"x": "a", "y": {"z": ["b"]}}, "a\nb"),
        ({"b", "a", "c"}, "a\nb\nc"),
        ([DataItem("a", "b"), {"c": "d"}], "a\nb\nd"),
    ],
)
def test_item_value(value: Any, text: str) -> None:
    assert item_text({"field": value}, ["field"]) == text


def test_item_of_a_wrong_type_is_refused() -> None:
    with pytest.raises(TypeError, match="dataclass, attrs or pydantic object, not list"):
        item_text([("title", "x")], ["title"])


def test_fields_as_one_str_are_refused() -> None:
    with pytest.raises(TypeError, match="'title'"):
        item_text({"title": "x"}, "title")
