"""What comes with the lock of a namespace, and what it costs while somebody reads for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest
from claims import article, rows
from servers import ENGINES, cleared_database, database_on, server
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from scrapy_simhash.db import schema
from scrapy_simhash.db.errors import has_waited_for_several, is_busy
from scrapy_simhash.db.lock import LockedNamespace, current_usage, lock, record_usage
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.upkeep import reset_namespace

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
    added = {"size": new_claims, "text_bytes": new_claims, "item_bytes": 2 * new_claims}
    record_usage(connection, namespace, held, **added)
    return held


def holds(db: Database, namespace: int) -> tuple[int, ...]:
    query = select(*map(current_usage, ("size", "text_bytes", "item_bytes")))
    here = query.where(schema.namespaces.c.id == namespace)
    return tuple(db.read(lambda connection: connection.execute(here).one()))


@on_every_engine
def test_numbers_of_claims_are_never_handed_out_twice(db: Database) -> None:
    index = Index(db)
    wanted = (3, 0, 5, 2000, 1)
    taken = [
        db.transact(lambda connection, more=more: change(connection, index.id, more)).numbers
        for more in wanted
    ]
    assert list(map(len, taken)) == list(wanted)
    assert len(set().union(*taken)) == sum(wanted)
    assert holds(db, index.id) == (2009, 2009, 4018)


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
            held = mine.transact(lambda one, more=more: change(one, index.id, more), index.id)
            numbers += held.numbers
        mine.close()
        return numbers

    with ThreadPoolExecutor(writers) as pool:
        numbers = list(chain.from_iterable(pool.map(write, range(writers))))
    total = sum((writer + turn) % 4 for writer in range(writers) for turn in range(each))
    assert len(numbers) == len(set(numbers)) == total
    assert holds(db, index.id) == (total, total, 2 * total)


@on_postgresql
def test_another_isolation_starts_again_where_others_were_first(db: Database) -> None:
    """All that it reads after it has waited was there before: it must not be decided on."""
    index = Index(db)
    writers = 4
    barrier = threading.Barrier(writers, timeout=60)

    def write(writer: int) -> list[str]:
        options = {"isolation_level": "REPEATABLE READ"}
        with Index(db.url, engine_options=options, timeout=60) as mine:
            barrier.wait()
            verdicts = [mine.claim(article(n), key=f"{writer} {n}") for n in range(40)]
            mine.confirm(*verdicts)
            barrier.wait()
            return [verdict.kind for verdict in verdicts]

    with ThreadPoolExecutor(writers) as pool:
        kinds = list(pool.map(write, range(writers)))
    assert [sorted(of_one) for of_one in zip(*kinds, strict=True)] == [
        ["duplicate"] * (writers - 1) + ["unique"]
    ] * 40
    assert len(index) == 40


@on_every_engine
def test_of_a_namespace_that_is_reset_nothing_is_left(db: Database) -> None:
    index = Index(db, namespace="gone")
    index.claim(article(1), key="a")
    other = Index(db, namespace="stays", run=index.run)
    other.claim(article(1), key="a")
    before = rows(db, schema.usage)
    reset_namespace(db, "gone")
    assert rows(db, schema.usage) == before / 2
    assert holds(db, other.id)[0] == len(other) == 1


@on_postgresql
def test_a_few_hundred_rows_stay_of_any_number_of_transactions(db: Database) -> None:
    index, more = Index(db), Index(db, namespace="another one")
    for one in (index, more):
        with db.engine.begin() as connection:
            for number in range(2000):
                change(connection, one.id, number % 3)
    assert rows(db, schema.usage) <= 2 * 512
    assert holds(db, index.id)[0] == holds(db, more.id)[0] == 1999


@contextmanager
def reading(db: Database) -> Iterator[None]:
    """Somebody who reads what is there now, and for long: a report, a backup."""
    reader = Database(db.url)
    with reader.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        connection.execute(select(func.count()).select_from(schema.namespaces))
        yield
    reader.close()


def blocks_of_a_transaction(connection: Connection, namespace: int) -> int:
    """How many pages of tables and indexes the lock is looked for, and numbers are read, in."""
    fetched = text(
        "SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0) FROM pg_class "
        "WHERE relname LIKE '%simhash_namespaces%' OR relname LIKE '%simhash_usage%'"
    )
    with connection.begin():
        before = connection.scalar(fetched)
        change(connection, namespace, 1)
        return int(connection.scalar(fetched) - before)


@on_postgresql
@pytest.mark.parametrize("namespaces", [1, 40])
def test_a_long_reader_makes_no_transaction_pass_what_others_left(
    db: Database, namespaces: int
) -> None:
    """Nor where the planner once saw few rows of each: it must not choose to read all of them."""
    index = Index(db)
    for number in range(1, namespaces):
        other = Index(db, namespace=str(number), run=index.run)
        db.transact(lambda connection, other=other: change(connection, other.id))
    db.transact(lambda connection: change(connection, index.id))
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # What earlier tests have left, too.
        connection.execute(text("VACUUM ANALYZE simhash_usage"))
    with reading(db), db.engine.connect() as connection:
        first = [blocks_of_a_transaction(connection, index.id) for _ in range(20)]
        for _ in range(3000):
            with connection.begin():
                change(connection, index.id, 1)
        last = [blocks_of_a_transaction(connection, index.id) for _ in range(20)]
        # More than what is deleted of it can't go: there is something to pass.
    assert max(last) <= max(first) + 5 < 30, (first, last)


@on_postgresql
def test_a_wait_for_one_after_the_other_is_distinguished_from_a_database_that_hangs(
    db: Database,
) -> None:
    index, hasty = Index(db), text("SET LOCAL statement_timeout = 100")
    with db.engine.begin() as holder, db.engine.connect() as connection:
        lock(holder, index.id)
        connection.execute(hasty)
        with pytest.raises(DBAPIError) as caught:
            lock(connection, index.id)
        assert has_waited_for_several(caught.value)
        assert is_busy(caught.value)
        connection.rollback()
        connection.execute(hasty)
        with pytest.raises(DBAPIError) as caught:
            connection.execute(text("SELECT pg_sleep(5)"))
        assert not has_waited_for_several(caught.value)


def test_postgresql_has_statistics_before_its_tables_grow() -> None:
    """Without them, plans made for empty tables read whole tables for each batch."""
    rows_known = text("SELECT reltuples FROM pg_class WHERE relname = 'simhash_keys'")
    with database_on(server("postgresql")) as url, Index(url) as index:
        for start in range(0, 576, 64):
            index.claim_many(
                {"text": article(number), "key": str(number)} for number in range(start, start + 64)
            )
        with index.database.engine.connect() as connection:
            assert connection.scalar(rows_known) > 0
