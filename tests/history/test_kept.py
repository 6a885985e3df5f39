"""What was kept although a text was near, and with what similarity others were dropped."""

from __future__ import annotations

import pytest
from decided import facts_of
from loopback import prose
from stored import store

from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.history.decisions import count, read_newest
from scrapy_simhash.history.documents import read_documents, read_stored
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.batch import how_compared
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.simhash.scheme import Sketch


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


def test_documents_have_what_decides_on_them(index) -> None:
    facts = facts_of({"price": "1 EUR"})
    url, page = "http://a.test/0", {"page_sketch": b"rest"}
    index.confirm(
        *index.execute(claims=[index.document(prose(1), key=url, url=url, facts=facts, **page)])
    )
    claim(index, 1, price="1 EUR")
    exact = Document(Sketch(5, 1, None), "2", "http://a.test/2", exact=True)
    index.execute(claims=[exact])
    rows = read_stored(chosen(index))
    assert [row.is_claim for row in rows] == [True, False, True]
    (found,) = read_documents(chosen(index), rows, index.scheme)
    assert [document.url[-1] for document in found] == ["0", "1", "2"]
    assert [how_compared(document) for document in found] == [
        ComparedBy.PAGE,
        ComparedBy.TEXT,
        ComparedBy.EXACT,
    ]
    assert [document.facts for document in found] == [facts, facts, None]
    assert found[0].page_sketch == b"rest"
    assert [document.sketch.fingerprint for document in found] == [
        *(index.scheme.sketch(prose(1)).fingerprint for _ in range(2)),
        5,
    ]
