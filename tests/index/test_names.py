"""Names that no database can store as they are, on every engine that there is a server of."""

from __future__ import annotations

from typing import Any

import pytest
from claims import article, leave_out
from decided import facts_of
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import TEXT_LENGTH, storable
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.runs import Run

pytestmark = pytest.mark.parametrize("engine", ENGINES)

ODD = pytest.mark.parametrize(
    "odd", ["a\0b", "a\ud800b", "é" * 70_000], ids=["nul", "surrogate", "long"]
)


@ODD
def test_what_strangers_name_is_claimed_dropped_and_kept_like_anything(
    db: Database, odd: str
) -> None:
    index = Index(db)

    def claimed(key: str, value: str) -> Any:
        url, facts = f"https://example.com/{odd}", facts_of({odd: value})
        return index.document(f"{article(1)} {odd}", key=f"{key} {odd}", url=url, facts=facts)

    first, copy, kept = claimed("first", "1"), claimed("copy", "1"), claimed("kept", "2")
    index.confirm(*index.execute(claims=[first]))
    assert leave_out(index, copy, item_type=odd).kind == "duplicate"
    (other,) = index.execute(claims=[kept])
    assert (other.kind, other.differs) == ("unique", odd)
    (again,) = index.execute(claims=[claimed("first", "1")])
    assert again.match is not None
    assert (again.match.url, again.match.key) == tuple(
        storable(name, TEXT_LENGTH) for name in (copy.url, first.key)
    )
    for column in (schema.sightings.c.item_type, schema.claims.c.differs):
        named = select(column).where(column.is_not(None))
        found = db.read(lambda connection, named=named: list(connection.scalars(named)))
        assert found == [storable(odd, 255)]


def test_identities_that_are_stored_alike_are_two(db: Database) -> None:
    index = Index(db)
    one, other = (index.document(article(1), key=key) for key in ("a\ud800", "a\ud801"))
    index.confirm(*index.execute(claims=[one]))
    assert [verdict.kind for verdict in index.execute(claims=[other])] == ["duplicate"]


@ODD
def test_a_run_is_entered_and_closed_whatever_its_names_are(db: Database, odd: str) -> None:
    run = Run.open(db, spider=odd, job=odd)
    Index(db, run=run, compared=odd)
    run.close(settled=True, reason=odd, stats={odd: odd})
    (row,) = db.read(
        lambda connection: list(
            connection.execute(select(schema.runs).where(schema.runs.c.id == run.id))
        )
    )
    assert row.settled
    assert odd.startswith(row.spider) or row.spider == storable(odd)
