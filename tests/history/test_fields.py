"""The short values of an item beside those of another one."""

from __future__ import annotations

import pytest

from scrapy_simhash.history.record import differing_values


@pytest.mark.parametrize(
    ("mine", "theirs", "first", "found"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, None, {"b": ("3", "2")}),
        ({"a": "1"}, {"b": "2"}, None, {"a": (None, "1"), "b": ("2", None)}),
        ({"a": "1", "b": "1"}, {"a": "2", "b": "2"}, "b", {"b": ("2", "1"), "a": ("2", "1")}),
        ({"a": "1"}, {}, None, {}),
        ({}, {"a": "1"}, None, {}),
    ],
    ids=["one differs", "others are missing", "the reason first", "not kept", "none"],
)
def test_what_differs_is_given_with_both_values(mine, theirs, first, found):
    assert [*differing_values(mine, theirs, first).items()] == [*found.items()]
