"""What an item held when it came, and whether it was changed since."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from item_kinds import kinds_of
from itemadapter import ItemAdapter
from zyte_common_items import Article

from scrapy_simhash.crawl.tracking import Page, TrackedItem


def kept(item):
    tracked = TrackedItem(Page("n"))
    tracked.keep(item)
    return tracked


@dataclasses.dataclass
class Record:
    name: str
    parts: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    parts: Any


class Parts(dict):
    """With attributes of its own."""

    origin = None


class Pair(NamedTuple):
    one: Any
    other: Any


KINDS = [*kinds_of("name", "parts"), OrderedDict, Parts, Record, Frozen]
#: Values with something in them that can be changed, and how.
VALUES = {
    "list": (lambda: ["a"], lambda parts: parts.append("b")),
    "set": (lambda: {"a"}, lambda parts: parts.add("b")),
    "dict": (lambda: {"a": 1}, lambda parts: parts.update(a=2)),
    "defaultdict": (lambda: defaultdict(list), lambda parts: parts["a"]),
    "a list in a tuple": (lambda: (1, ["a"]), lambda parts: parts[1].clear()),
    "a list in a named tuple": (lambda: Pair(1, ["a"]), lambda parts: parts.other.clear()),
    "a list in a dict in a list": (lambda: [{"a": ["b"]}], lambda parts: parts[0]["a"].pop()),
    "an item": (lambda: Record("inner", 1), lambda parts: setattr(parts, "parts", 2)),
    "a list in a frozen item": (lambda: Frozen("i", ["a"]), lambda parts: parts.parts.pop()),
}


@pytest.mark.parametrize(("make", "change"), VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_item_has_a_copy_with_what_it_held(kind, make, change):
    item = kind(name="one", parts=make())
    snapshot = kept(item)
    assert snapshot.take() is item
    change(ItemAdapter(item)["parts"])
    copied = snapshot.take()
    assert copied is not item
    assert type(copied) is kind
    assert dict(ItemAdapter(copied)) == {"name": "one", "parts": make()}
    assert copied is snapshot.take()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Frozen])
def test_a_field_that_is_set_is_a_change_unless_its_value_is_equal(kind):
    item = kind(name="one", parts=1000)
    snapshot = kept(item)
    ItemAdapter(item)["parts"] = int("1000")
    assert snapshot.take() is item
    ItemAdapter(item)["parts"] = 1001
    assert ItemAdapter(snapshot.take())["parts"] == 1000


class Strange:
    def __eq__(self, other):
        raise ValueError("not comparable")

    __hash__ = None


class CanNotBeCopied(dict):
    def __reduce_ex__(self, protocol):
        raise TypeError("not to be copied")


class CopiesToItself(dict):
    def __copy__(self):
        return self


cyclic: dict[str, Any] = {"parts": []}
cyclic["parts"] += [cyclic] * 20
deep: list[Any] = []
for _ in range(5000):
    deep = [deep]


@pytest.mark.parametrize(
    "item",
    [
        {"parts": np.arange(9)},
        {"parts": [Strange(), float("nan"), (part for part in "ab"), lambda: None]},
        cyclic,
        {"parts": deep},
        CanNotBeCopied(parts=["a"]),
        CopiesToItself(parts=["a"]),
        Article(url="http://a.example/"),
        Strange(),
        None,
        "a text",
    ],
    ids=lambda item: type(item).__name__,
)
def test_whatever_an_item_is_it_is_the_same_while_nobody_changes_it(item):
    snapshot = kept(item)
    assert snapshot.take() is item
    assert not snapshot.is_changed
