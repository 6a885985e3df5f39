"""What was kept although a text was near, and with what similarity others were dropped."""

from __future__ import annotations

import pytest
from loopback import prose
from stored import store

from scrapy_simhash.history.decisions import count, read_newest
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.index import Index


@pytest.fixture
def index():
    with Index("sqlite://") as index:
        yield index


def claim(index: Index, number: int, **values: str) -> None:
    store(index, prose(1), f"http://a.test/{number}", values)


def chosen(index: Index) -> NamespaceRow:
    return choose_namespace(index.database, None)


def test_what_was_kept_is_counted_by_what_differs(index) -> None:
    claim(index, 0, price="1 EUR", title="a")
    for number in (1, 2):
        claim(index, number, price=f"{number + 1} EUR", title="a")
    claim(index, 3, price="1 EUR", title="b")
    counts = count(chosen(index), "differs")
    assert counts == {index.run.id: {"price": 2, "title": 1}}
    kept = read_newest(chosen(index), kept=True)
    assert [(pair.url, pair.differs) for pair in kept] == [
        ("http://a.test/1", "price"),
        ("http://a.test/2", "price"),
        ("http://a.test/3", "title"),
    ]
    assert kept[0].original == "http://a.test/0"
    assert kept[0].run == index.run.id
    assert (kept[0].similarity, kept[0].estimated) == (1.0, False), "by the digest of the text"
