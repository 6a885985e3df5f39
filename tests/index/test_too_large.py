"""What is larger than the database takes costs itself alone."""

from __future__ import annotations

import pytest
from claims import article
from servers import ENGINES
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import LeftOut
from scrapy_simhash.text.packed import TooLarge


def left_out(index: Index, number: int, item: bytes) -> LeftOut:
    index.claim(article(0), key="a")
    verdict = index.claim(article(0), key=f"copy {number}")
    assert verdict.kind == "duplicate"
    return LeftOut(verdict, "drop", item, "dict")


def items_of(db: Database) -> int:
    row = schema.sightings.c
    query = select(func.count()).where(row.item.is_not(None))
    return db.read(lambda connection: connection.scalar(query))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_document_that_is_too_large_is_skipped_alone(db: Database) -> None:
    db.connections.largest_row = 5000
    with Index(db) as index:
        long = f"https://example.com/{'x' * 5000}"
        texts = [{"text": article(n), "key": str(n)} for n in range(3)]
        verdicts = index.claim_many([*texts[:2], {"text": article(9), "key": long}, texts[2]])
        assert [(verdict.kind, verdict.reason) for verdict in verdicts] == [
            ("unique", None),
            ("unique", None),
            ("skipped", "too_large"),
            ("unique", None),
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_items_that_are_too_large_one_by_one_or_together_are_refused(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(db) as index:
        copies = [left_out(index, number, b"x" * 1100) for number in range(3)]
        monkeypatch.setattr("scrapy_simhash.index.claiming.LARGEST_ROW", 5000)
        with pytest.raises(TooLarge):
            index.execute(left_out=copies)
        index.execute(left_out=copies[:2])
        db.connections.largest_row = 2000
        with pytest.raises(TooLarge):
            index.execute(left_out=copies[2:])
        assert items_of(db) == 2
