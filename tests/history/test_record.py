"""The record of a decision: its URLs, its reason in words, and the values that differ."""

from __future__ import annotations

import pytest

from scrapy_simhash.history.record import Content, Record, differing_values

LISTED = {"page": "http://list.test/", "key": "list.test http://a.test/1"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"page": "http://a.test/"}, ("http://a.test/", None, None)),
        (LISTED, ("http://a.test/1", None, "list.test")),
        (
            {"page": "p", "original_page": "http://b.test/", "original_key": "5f"},
            ("p", "http://b.test/", None),
        ),
        (
            {"page": "p", "original_page": "q", "original_key": "http://b.test/2"},
            ("p", "http://b.test/2", None),
        ),
    ],
    ids=["a page", "listed by another site", "its original", "a listed original"],
)
def test_an_item_goes_by_its_own_url(given, shown):
    told = Record("dropped", **given).as_json()
    assert (told["url"], told["original"], told["listed_by"]) == shown


def test_of_a_change_the_noted_values_are_given_and_that_the_text_changed():
    both = {"own": Content("new", {"seen": "2"}), "stored": Content("old", {"seen": "1"})}
    noted = {"price": ["1", "2"], "page:price": ["1", "2"]}
    change = Record("changed", "http://a.test/", similarity=0.9, noted=noted, **both)
    assert change.fields == {"price": ("1", "2"), "(text)": (None, None)}
    assert change._replace(status="moved", noted={}).fields == {"seen": ("1", "2")}


@pytest.mark.parametrize(
    ("own", "stored", "first", "found"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, None, {"b": ("3", "2")}),
        ({"a": "1"}, {"b": "2"}, None, {"a": (None, "1"), "b": ("2", None)}),
        ({"a": "1", "b": "1"}, {"a": "2", "b": "2"}, "b", {"b": ("2", "1"), "a": ("2", "1")}),
        ({"a": "1"}, {}, None, {}),
        ({}, {"a": "1"}, None, {}),
    ],
    ids=["one differs", "others are missing", "the reason first", "not kept", "none"],
)
def test_what_differs_is_given_with_both_values(own, stored, first, found):
    assert [*differing_values(own, stored, first).items()] == [*found.items()]
