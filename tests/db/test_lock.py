"""What comes with the lock of a namespace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pytest
from claims import article
from servers import ENGINES, cleared_database
from sqlalchemy import Connection, event, select, text
from sqlalchemy.exc import DBAPIError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import is_busy
from scrapy_simhash.db.lock import LockedNamespace, Sizes, lock, record_sizes
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
on_postgresql = pytest.mark.parametrize("engine", ["postgresql"])


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path), timeout=20)
    yield opened
    opened.close()


def change(connection: Connection, namespace: int, new_claims: int = 0) -> LockedNamespace:
    """A transaction that adds as many claims, with a byte of text and two of an item each."""
    held = lock(connection, namespace, new_claims)
    record_sizes(connection, namespace, Sizes(new_claims, new_claims, 2 * new_claims))
    return held


def holds(db: Database, namespace: int) -> tuple[int, ...]:
    row = schema.namespaces.c
    here = select(row.size, row.text_bytes, row.item_bytes).where(row.id == namespace)
    return tuple(db.read(lambda connection: connection.execute(here).one()))


@on_every_engine
def test_who_waited_for_the_lock_goes_on_from_what_the_others_left(db: Database) -> None:
    """What is read in one statement with the lock was there before others had it."""
    index = Index(db)
    writers, each = 6, 40
    barrier = threading.Barrier(writers, timeout=60)

    def write(writer: int) -> list[int]:
        mine = Database(db.url, timeout=60)
        barrier.wait()
        numbers: list[int] = []
        for turn in range(each):
            more = (writer + turn) % 4
            held = mine.transact(lambda one, more=more: change(one, index.id, more))
            numbers += held.numbers
        mine.close()
        return numbers

    with ThreadPoolExecutor(writers) as pool:
        numbers = list(chain.from_iterable(pool.map(write, range(writers))))
    total = sum((writer + turn) % 4 for writer in range(writers) for turn in range(each))
    assert len(numbers) == len(set(numbers)) == total
    assert holds(db, index.id) == (total, total, 2 * total)


@on_postgresql
def test_a_wait_for_several_locks_in_one_statement_is_a_wait_for_others(db: Database) -> None:
    """Each is shorter than the time for a lock, and all are longer than that for a statement."""
    index = Index(db)
    with db.engine.begin() as holder, db.engine.connect() as connection:
        lock(holder, index.id)
        connection.execute(text("SET LOCAL statement_timeout = 100"))
        with pytest.raises(DBAPIError) as caught:
            lock(connection, index.id)
    assert is_busy(caught.value)


@on_every_engine
def test_few_answers_are_waited_for_behind_the_lock(db: Database, engine: str) -> None:
    """Far from the server, each costs all crawls of the namespace its time on the way."""
    index = Index(db)
    sent = list[str]()
    event.listen(db.engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    event.listen(db.engine, "commit", lambda _: sent.append("COMMIT"))
    stored = index.execute(claims=[index.document(article(n), key=f"{n}") for n in range(64)])
    sent.clear()
    texts = map(article, range(32, 96))
    documents = [index.document(text, key=f"b{n}") for n, text in enumerate(texts)]
    verdicts = index.execute(claims=documents, confirm=stored)
    assert {verdict.kind for verdict in verdicts} == {"unique", "duplicate"}
    taken = next(n for n, statement in enumerate(sent) if "UPDATE simhash_namespaces" in statement)
    behind = sent[taken + 1 : sent.index("COMMIT", taken) + 1]
    # The confirmed claims; new claims, keys, sightings and texts, which PostgreSQL takes at once;
    # the token; the commit. MariaDB can't return the row that an UPDATE has locked.
    assert len(behind) == {"sqlite": 7, "postgresql": 4, "mariadb": 8}[engine], behind
