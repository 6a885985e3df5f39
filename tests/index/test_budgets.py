"""What is kept besides the claims, and its budgets, on every engine that there is a server of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from claims import article, remember, rows
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.index.index import Index

if TYPE_CHECKING:
    from scrapy_simhash.db.transactions import Database

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_a_duplicate_is_an_orphan_once_its_claim_is_released(db: Database) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    match = index.claim(article(0), key="b").match
    remember(index, 1, match)

    def orphans() -> list[bool]:
        return db.read(
            lambda connection: list(
                connection.scalars(
                    select(schema.duplicates.c.orphaned).order_by(schema.duplicates.c.id)
                )
            )
        )

    assert orphans() == [False]
    index.release(first)
    assert orphans() == [True]
    remember(index, 2, match)
    assert orphans() == [True, True], "its claim was gone before it was remembered"


def test_kept_items_stay_within_their_budget(db: Database) -> None:
    index = Index(db, item_budget=10_000)
    match = remember(index, 0)
    for number in range(1, 40):
        remember(index, number, match)
    kept = db.read(
        lambda connection: connection.execute(
            select(schema.duplicates.c.key, schema.duplicates.c.item).order_by(
                schema.duplicates.c.id
            )
        ).all()
    )
    with_item = [row.key for row in kept if row.item is not None]
    assert len(kept) == 40, "what was dropped is known, even where the item is not kept"
    assert 5 <= len(with_item) <= 10
    assert "copy 39" in with_item
    assert "copy 0" not in with_item


def texts_kept(db: Database) -> tuple[set[int], int]:
    def look(connection: Any) -> tuple[set[int], int]:
        found = connection.execute(select(schema.texts.c.claim, schema.texts.c.text)).all()
        return {row.claim for row in found}, sum(len(row.text) for row in found)

    return db.read(look)


def test_kept_texts_stay_within_their_budget_and_those_with_duplicates_stay_longest(
    db: Database,
) -> None:
    index = Index(db, text_budget=20_000)
    explained = index.claim(article(0), key="a")
    remember(index, 1, index.claim(article(0), key="b").match)
    for number in range(1, 100):
        index.claim(article(number), key=str(number))
        assert texts_kept(db)[1] <= 20_000
    kept, size = texts_kept(db)
    assert explained.claim.id in kept
    assert len(kept) > 10
    booked = db.read(
        lambda connection: connection.execute(
            select(schema.namespaces.c.text_bytes, schema.namespaces.c.size)
        ).one()
    )
    assert booked.text_bytes == size
    assert booked.size == 100


def test_no_text_is_kept_without_a_budget(db: Database) -> None:
    index = Index(db, text_budget=0)
    index.claim(article(1), key="a")
    assert rows(db, schema.texts) == 0
