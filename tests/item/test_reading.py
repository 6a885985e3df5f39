from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial, reduce
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from item_kinds import kinds_of
from pydantic import SecretStr

from scrapy_simhash.item.values import (
    MAX_DEPTH,
    MAX_VALUES,
    Printed,
    read_fields,
)

KINDS = kinds_of("title", "price", "body")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_item_gives_the_same_fields(kind: type[Any]) -> None:
    fields, unread = read_fields(kind(title="Ferry", price=2.5, body=["It sinks."]))
    assert fields == {"title": "Ferry", "price": 2.5, "body": ["It sinks."]}
    assert not unread


class Colour(Enum):
    RED = 1

    def __str__(self) -> str:
        return "a colour"


class Abbreviated:
    """Two of them print the same."""

    def __str__(self) -> str:
        return "a page"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3000), [*range(3000)]),
        (np.float64(1.5), 1.5),
        (np.datetime64("2024-05-01"), dt.date(2024, 5, 1)),
        (Colour.RED, Printed("Colour", "RED")),
        (UUID(int=7), Printed("UUID", str(UUID(int=7)))),
        (PurePosixPath("/a"), Printed("PurePosixPath", "/a")),
        (Fraction(1, 3), Printed("Fraction", "1/3")),
    ],
)
def test_a_value_whose_text_tells_all_is_read(value: Any, expected: Any) -> None:
    assert read_fields({"a": value}) == ({"a": expected}, set())


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


class BrokenMapping(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class BrokenClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class BrokenZone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise RuntimeError("no zone")


@dataclass
class BrokenField:
    title: str = "Ferry"

    def __getattribute__(self, name: str) -> Any:
        if name == "title":
            raise RuntimeError("no field")
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    "make",
    [
        Broken,
        BrokenMapping,
        BrokenClass,
        BrokenField,
        partial(dt.datetime, 2024, 5, 1, tzinfo=BrokenZone()),
        object,
        Abbreviated,
        partial(re.match, "a*", "a" * 99),
        partial(re.compile, "a" * 999),
        partial(SecretStr, "a"),
        partial(np.array, [Abbreviated()]),
        partial(np.arange, MAX_VALUES),
        partial(iter, "abc"),
        partial(dict, [(1, "a"), ("1", "b")]),
    ],
)
def test_a_field_that_can_not_be_read_is_named(make: Callable[[], Any]) -> None:
    fields, unread = read_fields({"title": "Ferry", "value": make()})
    assert fields["title"] == "Ferry"
    assert unread == {"value"}
    assert read_fields({"a": {"b": [make()]}, "c": 1})[1] == {"a"}


def test_an_item_that_contains_itself_ends() -> None:
    item: dict[str, Any] = {"title": "Ferry"}
    item["self"] = item
    item["list"] = [item, item]
    fields, _ = read_fields(item)
    assert fields["title"] == "Ferry"
    assert read_fields({"deep": reduce(lambda inner, _: [inner], range(10**6), [])})[1]


def test_work_is_bounded_however_much_is_nested() -> None:
    doubled: list[Any] = ["x"]
    for _ in range(MAX_DEPTH - 2):
        doubled = [doubled, doubled, doubled]
    copies = list(read_fields({"doubled": doubled})[0].values())
    count = 0
    while copies:
        count += 1
        if isinstance(one := copies.pop(), (list, dict)):
            copies += one.values() if isinstance(one, dict) else one
    assert MAX_VALUES < count < 2 * MAX_VALUES


def test_the_same_fields_of_very_many_are_read_in_any_order() -> None:
    names = [f"n{i}" for i in range(3 * MAX_VALUES)]
    one = read_fields(dict.fromkeys(names, 1))
    other = read_fields(dict.fromkeys(reversed(names), 1))
    assert one == other
    assert len(one[0]) == MAX_VALUES + 1
    assert read_fields({**dict.fromkeys(names, 1), names[-1]: 2}) != one
    sets = (read_fields({"a": {*given}}) for given in (names, reversed(names)))
    assert len({repr(fields) for fields in sets}) == 1
