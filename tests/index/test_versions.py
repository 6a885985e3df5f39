"""Versions of a page: claims of one identity, on every engine with a server."""

from __future__ import annotations

import pytest
import sqlalchemy
from claims import article, claim_version
from servers import ENGINES

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index

pytestmark = pytest.mark.parametrize("engine", ENGINES)


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("simhash_claims", ["namespace", "identity", "last_run", "origin"]),
        ("simhash_duplicates", ["namespace", "identity"]),
        ("simhash_claims", ["run", "namespace", "id"]),
        ("simhash_duplicates", ["namespace", "claim"]),
        ("simhash_duplicates", ["run"]),
        ("simhash_runs", ["settled"]),
        ("simhash_runs", ["invalidated"]),
    ],
)
def test_what_is_looked_for_is_found_by_an_index(
    db: Database, table: str, columns: list[str]
) -> None:
    """Without one, a whole table would be read each time."""
    Index(db)
    indexes = sqlalchemy.inspect(db.engine).get_indexes(table)
    assert columns in [each["column_names"] for each in indexes]


def test_a_claim_is_seen_when_it_is_made_and_whenever_it_stands_for_an_equal_version(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = sqlalchemy.select(schema.claims.c.created, schema.claims.c.seen)
    index = Index(db)
    index.confirm(claim_version(index, article(1), download=1))
    ((created, first),) = db.read(lambda connection: connection.execute(seen).all())
    assert first == created > 0
    monkeypatch.setattr(db, "now", lambda: created + 3600)
    assert claim_version(index, article(1), download=2).claim is None
    ((again, last),) = db.read(lambda connection: connection.execute(seen).all())
    assert again == created
    assert last == created + 3600


def test_the_candidates_of_all_batches_are_counted(db: Database) -> None:
    index = Index(db)
    for key in "abc":
        index.claim(article(1), key=key)
    assert index.lookup.counts["index/candidates"] == 2, (
        "the one claim, found by each of the others"
    )
