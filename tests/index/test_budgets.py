"""What is kept besides the claims, and its budgets, on every engine that there is a server of."""

from __future__ import annotations

from typing import Any

import pytest
from claims import article, leave_out, remember
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import LeftOut

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_an_item_is_an_orphan_if_its_claim_was_released_before_it_was_left_out(
    db: Database,
) -> None:
    index = Index(db)
    first = index.claim(article(0), key="a")
    copy = index.claim(article(0), key="copy")
    index.release(first)
    index.execute(left_out=[LeftOut(copy, "drop", b"item", "dict")])
    kept = select(schema.sightings.c.orphaned).where(schema.sightings.c.item.is_not(None))
    assert db.read(lambda connection: connection.scalar(kept))


def texts_kept(db: Database) -> tuple[set[int], int]:
    def look(connection: Any) -> tuple[set[int], int]:
        found = connection.execute(select(schema.texts.c.id, schema.texts.c.text)).all()
        return {row.id for row in found}, sum(len(row.text) for row in found)

    return db.read(look)


def test_of_kept_texts_the_oldest_make_room(db: Database) -> None:
    index = Index(db, text_budget=20_000)
    remember(index, 1)
    claims = []
    for number in range(1, 100):
        claims.append(index.claim(article(number), key=str(number)).claim.id)
        assert texts_kept(db)[1] <= 20_000
    kept, size = texts_kept(db)
    assert kept == set(claims[-len(kept) :])
    assert len(kept) > 10
    assert booked(db) == (1000, size)


def keep(index: Index, number: int, seed: int, url: str, size: int = 1000) -> None:
    """Drop a copy of an article."""
    copy = index.document(article(seed), key=f"{url} {number}", url=url)
    assert leave_out(index, copy, b"x" * size).kind == "duplicate"


def items_kept(db: Database) -> list[str]:
    row = schema.sightings.c
    query = select(row.url).where(row.item.is_not(None)).order_by(row.id)
    return db.read(lambda connection: list(connection.scalars(query)))


def booked(db: Database) -> tuple[int, int]:
    query = select(schema.namespaces.c.item_bytes, schema.namespaces.c.text_bytes)
    return tuple(db.read(lambda connection: connection.execute(query).one()))


def test_of_quarantined_items_the_oldest_go_first_and_orphans_last(db: Database) -> None:
    index = Index(db, item_budget=10_000)
    index.confirm(index.claim(article(0), key="a"))
    lost = index.claim(article(7), key="lost")
    for number in range(3):
        keep(index, number, 7, "http://orphan.test/", size=1500)
    last = index.claim(article(7), key="last")
    index.release(lost)
    for number in range(4):
        keep(index, number, 0, f"http://near.test/{number}", size=1200)
    # 9,300 bytes; 3,000 more make 3,300 to go.
    keep(index, 4, 0, "http://near.test/4", size=3000)
    assert items_kept(db) == ["http://orphan.test/"] * 3 + [
        "http://near.test/3",
        "http://near.test/4",
    ]
    assert (
        index.lookup.counts["quarantine/pushed_out"],
        index.lookup.counts["quarantine/orphans_pushed_out"],
    ) == (3, 0)
    index.execute(left_out=[LeftOut(last, "drop", b"x" * 9000, "dict")])
    assert len(items_kept(db)) == 1
    assert index.lookup.counts["quarantine/orphans_pushed_out"] == 3
    assert booked(db)[0] == 9000


def test_a_text_is_kept_up_to_an_eighth_of_the_budget(db: Database) -> None:
    index = Index(db, text_budget=8000)
    small, large = index.claim(article(1), key="s"), index.claim(article(2, 2000), key="l")
    assert texts_kept(db)[0] == {small.claim.id}
    match = index.claim(article(2, 2000), key="copy").match
    assert match.claim == large.claim.id
    assert booked(db)[1] == texts_kept(db)[1]
