"""What may make a copy the better one, and by what it is preferred."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.item.content import ItemContent, read_item
from scrapy_simhash.item.quality import QualitySignals, better_by, criteria_of, item_url, ranks_of

ADDRESS = "https://news.test/a"


def read(item: Any) -> ItemContent:
    return read_item(item, page_url=ADDRESS, since=0.0, now=0.0)


@dataclass
class Story:
    datePublished: Any = None  # noqa: N815 - as schema.org has it
    canonicalUrl: Any = None  # noqa: N815


MOMENT = int(datetime(2030, 3, 1, 10, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2030-03-01T10:00:00Z", MOMENT),
        ("2030-03-01T12:00:00+02:00", MOMENT),
        (" 2030-03-01 10:00 ", MOMENT),
        (["2030-03-01 10:00"], MOMENT),
        (datetime(2030, 3, 1, 10, tzinfo=UTC), MOMENT),
        (date(2030, 3, 1), MOMENT - 10 * 3600),
        ("2030-03-01", MOMENT - 10 * 3600),
        ("the first of March", None),
        ("1 March 2030, 10:00", MOMENT),
        (MOMENT, MOMENT),
        ("03/04/2030", None),
        ("", None),
        (object(), None),
    ],
)
def test_when_something_was_published_is_read_of_items_of_any_kind(value, moment):
    for item in ({"published": value}, {"date_posted": value, "n": 1}, Story(value)):
        assert read(item).published == moment


def test_the_first_of_several_dates_counts_and_those_of_what_is_nested_do_not():
    item = {"published": "2030-03-02", "datePosted": "2030-03-01", "title": "2029-01-01"}
    item["comment"] = {"published": "2020-01-01"}
    assert read(item).published == MOMENT - 10 * 3600


@pytest.mark.parametrize(
    ("item", "canonical"),
    [
        ({"canonical": ADDRESS}, True),
        ({"canonical_url": ["/a"]}, True),
        (Story(canonicalUrl="http://news.test/a#top"), True),
        ({"canonicalUrl": "https://news.test/b"}, False),
        ({"canonical": "https://news.test/b", "url": "https://news.test/b"}, True),
        ({"canonical": 7}, False),
        ({"url": ADDRESS}, False),
    ],
)
def test_items_that_declare_their_address_canonical(item, canonical):
    assert read(item).canonical is canonical


@given(
    st.builds(
        QualitySignals,
        st.text(),
        st.integers(0, 1 << 31),
        st.none() | st.integers(-62_135_596_800, 253_402_300_799),
        st.booleans(),
    )
)
def test_quality_is_unpacked_as_it_was_packed(quality):
    assert QualitySignals.unpack(quality.packed(), quality.url) == quality


def test_what_can_not_be_unpacked_speaks_for_nothing():
    assert QualitySignals.unpack(b"x", "u") == QualitySignals("u")


def test_an_identity_key_that_is_an_address_is_recognised():
    assert item_url("https://a.test/1", "http://list.test/") == "https://a.test/1"
    assert item_url("5f2e", "http://page.test/") == "http://page.test/"


@pytest.mark.parametrize(
    ("names", "one", "other", "by"),
    [
        ("https", QualitySignals("https://a.test/"), QualitySignals("http://a.test/"), "https"),
        (
            "https,longest",
            QualitySignals("http://a.test/", 9),
            QualitySignals("http://b.test/", 8),
            "longest",
        ),
        (
            "https,longest",
            QualitySignals("http://a.test/", 9),
            QualitySignals("https://b.test/", 8),
            None,
        ),
        ("own-site=a.com", QualitySignals("http://www.a.com/"), QualitySignals(), "own-site=a.com"),
        ("canonical", QualitySignals(canonical=True), QualitySignals(), "canonical"),
        ("earliest", QualitySignals(published=5), QualitySignals(), "earliest"),
        ("earliest", QualitySignals(published=5), QualitySignals(published=4), None),
        ("shortest-url", QualitySignals("a"), QualitySignals(), "shortest-url"),
        ("shortest-url", QualitySignals("ab"), QualitySignals("xy"), None),
    ],
)
def test_the_first_criterion_that_differs_decides(names, one, other, by):
    criteria = criteria_of(names.split(","))
    assert better_by(criteria, one, other) == by
    assert (ranks_of(criteria, one) < ranks_of(criteria, other)) is (by is not None)


def test_an_unknown_criterion_is_refused():
    for name in ("newest", "own-site=", ""):
        with pytest.raises(ValueError, match=r"allowed are own-site=example\.com, https"):
            criteria_of(["https", name])
