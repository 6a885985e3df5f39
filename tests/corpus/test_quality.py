"""What an item says of itself that may make it the better copy; `test_dedupe_corpus` prefers it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest

from scrapy_simhash.item.content import ItemContent, read_item

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
