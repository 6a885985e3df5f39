"""An address that is the key as well is stored once, and read everywhere as if it were not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims import article, edited
from servers import ENGINES, cleared_database
from sqlalchemy import func, select
from stored import store

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.decisions import read_newest
from scrapy_simhash.history.documents import read_stored
from scrapy_simhash.history.drops import choose_drops, read_items
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.history.page import read_page
from scrapy_simhash.history.patterns import read_patterns
from scrapy_simhash.history.selection import EVERYTHING
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.index import Index

A, B, C = (f"http://a.test/a/long/way/to/a/page/{name}?sid={name}" for name in ("aaa", "b", "cc"))

pytestmark = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path))
    yield opened
    opened.close()


def stored(db: Database, name: str, *, key: str = "") -> Index:
    """A is stored; B is its duplicate; C, at another price, is kept beside it."""
    index = Index(db, namespace=name)

    for text, url, price in (
        (article(1), A, "1 EUR"),
        (edited(article(1)), B, "1 EUR"),
        (article(1), C, "2 EUR"),
    ):
        store(index, text, url, {"price": price}, key=key + url, item={"url": url})
    return index


def read(index: Index, key: str = "") -> dict[str, Any]:
    """All that is read of where it was."""
    namespace = choose_namespace(index.database, index.namespace)
    # The identities are not asked for: pages are found by their addresses.
    known = {url: read_page(namespace, url, [0]) for url in (A, B, C)}
    owned = read_page(namespace, "", [identity_hash(key + A)])
    kept = read_newest(namespace, kept=True)
    seen = read_stored(namespace)
    items = read_items(namespace, choose_drops(namespace).numbers)
    return {
        "match": [(one.url, one.key.removeprefix(key)) for one in index.nearest(article(1))],
        "pages": [[claim.url for claim in one.claims] for one in known.values()],
        "decisions": [[(d.url, d.original) for d in one.decisions] for one in known.values()],
        "duplicates": [(d.url, d.key.removeprefix(key)) for d in owned.duplicates],
        "kept": [(pair.url, pair.original) for pair in kept],
        "documents": [row.url for row in seen],
        "items": [(one.url, one.key.removeprefix(key), one.original) for _, one, *_ in items],
        "patterns": [(one.part, one.pages) for one in read_patterns(namespace, EVERYTHING)],
    }


def kept(db: Database, table: Any) -> list[tuple[int, int]]:
    """How many rows, and addresses beside their keys, are in the namespaces."""
    row = table.c
    counts = select(func.count(), func.count(row.url)).group_by(row.namespace)
    query = counts.order_by(row.namespace)
    return [tuple(found) for found in db.read(lambda connection: connection.execute(query).all())]


def test_an_address_that_is_the_key_is_stored_once_and_read_as_before(db: Database) -> None:
    twice, once = stored(db, "twice", key="key of "), stored(db, "once")
    assert kept(db, schema.claims) == [(2, 2), (2, 0)]
    assert kept(db, schema.sightings) == [(3, 3), (3, 0)]
    expected, found = read(twice, "key of "), read(once)
    assert found == expected
    assert all(expected.values()), "none is empty"
    assert found["decisions"] == [[], [(B, A)], [(C, A)]]
    assert found["kept"] == [(C, A)]
    assert found["items"] == [(B, B, A)]
