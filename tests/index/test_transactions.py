"""Transactions that fail, or are answered by silence; many at once; other drivers."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from claims import article, edited, rows
from decided import facts_of
from servers import ENGINES, empty_database
from sqlalchemy import Select, Table, event, func, select

from scrapy_simhash.db import schema, statements
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Document, LeftOut

pytestmark = pytest.mark.parametrize("engine", ENGINES)


@contextmanager
def losing(db: Database, numbers: Collection[int], *, arrives: bool = True) -> Iterator[set[int]]:
    """Lose the answers to some statements and commits, counted from now on; which were lost.

    Those that do not arrive at the server are not executed either.
    """
    dialect, calls, lost = db.engine.dialect, count(), set[int]()
    error = lost_connection(db)

    def answering(ask: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            if is_lost := (number := next(calls)) in numbers:
                lost.add(number)
            if arrives or not is_lost:
                ask(*arguments)
            if is_lost:
                raise error

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("do_execute", "do_executemany", "do_commit"):
            patch.setattr(dialect, name, answering(getattr(dialect, name)))
        yield lost


def lost_connection(db: Database) -> Exception:
    """The driver's own error of a connection that broke, or that waited too long."""
    driver = db.engine.dialect.loaded_dbapi
    error = driver.OperationalError(1053, "server closed the connection unexpectedly")
    if db.dialect == "sqlite":
        error.sqlite_errorcode = 5
    else:
        error.sqlstate = "57P01"
    return error


def document(index: Index, text: str, key: str, value: str = "1.00") -> Document:
    sketch, values = index.scheme.sketch(text), {"price": value}
    return Document(sketch, key, f"http://{key}", text=text, facts=facts_of(values), values=values)


def third_visit(
    db: Database, namespace: str, known: Any, numbers: Collection[int], *, arrives: bool
) -> tuple[Any, set[int]]:
    """What a transaction with all kinds of work answers and stores; and which answers were lost."""
    how: dict[str, Any] = {"namespace": namespace, "rule": Rule(known=known)}
    for _ in range(2):
        with Index(db, **how) as index:
            pages = [document(index, article(n), f"a.com/{n}") for n in range(4)]
            copies = [document(index, article(0), f"b.com/{n}") for n in range(2)]
            verdicts = index.execute([*pages, *copies])
            dropped = [one for one in verdicts if not one.claim]
            index.confirm(*verdicts)
            index.execute(left_out=[LeftOut(one, "drop", b"x") for one in dropped])
    with Index(db, **how) as index:
        met = index.execute([document(index, article(n), f"a.com/{n}") for n in range(2)])
        pending, confirmed, *copies = index.execute(
            [
                document(index, article(7), "a.com/7"),
                document(index, article(8), "a.com/8"),
                document(index, article(0), "b.com/0"),
                document(index, article(0), "b.com/9"),
            ]
        )
        claims = [
            document(index, article(2), "a.com/2", "2.00"),
            document(index, f"{edited(article(3))} and more", "a.com/3"),
            document(index, article(9), "a.com/9", "5.00"),
            document(index, article(9), "a.com/10", "5.00"),
            document(index, article(9), "a.com/11", "6.00"),
            document(index, article(1), "a.com/12"),
        ]
        with losing(db, numbers, arrives=arrives) as lost:
            verdicts = index.execute(
                claims,
                confirm=[confirmed, *met],
                release=[pending],
                left_out=[LeftOut(one, "drop", b"x", "dict") for one in copies],
            )
        told = [
            (one.kind, one.status, one.differs, one.claim and one.claim.id, dict(one.fields))
            for one in verdicts
        ]
        sizes = [
            db.read(lambda one, table=table: one.scalar(many(table, index.id))) for table in TABLES
        ]
        row = schema.namespaces
        counts = db.read(lambda one: one.execute(row.select().where(row.c.id == index.id)).one())
        index.confirm(*verdicts)
    return (told, sizes, counts[-4:]), lost


TABLES = [schema.claims, schema.keys, schema.sightings, schema.texts]


def many(table: Table, namespace: int) -> Select[Any]:
    return select(func.count()).select_from(table).where(table.c.namespace == namespace)


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("known", ["pass", "drop"])
def test_whichever_answer_is_lost_the_work_is_done_once_and_its_verdicts_are_told(
    db: Database, known: Any, arrives: bool
) -> None:
    whole, _ = third_visit(db, "whole", known, (), arrives=True)
    assert [kind for kind, *_ in whole[0]].count("unique") >= 2
    for number in count():
        # An answer alone, and the one behind it, too: that to the question for the token.
        for numbers in ({number}, {number, number + 1})[: 2 - number % 2]:
            made, lost = third_visit(db, f"{numbers}", known, numbers, arrives=arrives)
            assert made == whole, numbers
        if not lost:
            break
    assert number > 10


def test_whichever_answer_is_lost_what_is_gone_is_noted_once(db: Database) -> None:
    for number in count():
        with Index(db, namespace=f"{number}", rule=Rule(known="drop")) as index:
            index.confirm(index.claim(article(1), key="a"))
        run = Run.open(db)
        with losing(db, {number}) as lost:
            gone = find_missing(index, run, {identity_hash("a")}, everything=False)
        assert gone == {"gone": 1}
        run.close(settled=True, reason="finished")
        assert db.read(lambda one, here=index.id: one.scalar(many(schema.sightings, here))) == 2
        if not lost:
            break
    assert number > 3


def test_a_commit_that_outlives_its_connection_is_waited_for(
    db: Database, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asked for the token at once would decide on what the first attempt has stored."""
    if engine == "sqlite":
        pytest.skip("SQLite commits in this process")
    index, dialect = Index(db), db.engine.dialect
    index.claim(article(0), key="old")
    commits, late = count(), list[Any]()
    do_commit, do_close = dialect.do_commit, dialect.do_close

    def commit(connection: Any) -> None:
        # The first is that of what is read.
        if next(commits) == 1:
            late.append(connection.dbapi_connection)
            late.append(threading.Timer(0.3, late[0].commit))
            late[1].start()
            error = lost_connection(db)
            error.args = (2013, *error.args[1:])  # which MariaDB's driver takes for a broken one
            raise error
        do_commit(connection)

    monkeypatch.setattr(dialect, "do_commit", commit)
    for name in ("do_close", "do_terminate"):
        monkeypatch.setattr(dialect, name, lambda one: one in late or do_close(one))
    verdict = index.claim(article(1), key="new")
    late[1].join()
    late[0].close()
    assert verdict.kind == "unique"
    assert len(index) == 2


def claim_the_same(url: str) -> list[str]:
    """In a thread or process of its own."""
    barrier.wait()
    with Index(url, namespace="race", timeout=30) as index:
        texts = [article(n) for n in range(100)]
        verdicts = index.claim_many({"text": text, "key": str(random.random())} for text in texts)
        index.confirm(*verdicts)
    return [verdict.kind for verdict in verdicts]


def set_barrier(given_: Any) -> None:
    global barrier  # noqa: PLW0603 - what processes share can be handed to them at their start only
    barrier = given_


def threads() -> Executor:
    return ThreadPoolExecutor(4, "", set_barrier, (threading.Barrier(4),))


def processes() -> Executor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(4, spawn, set_barrier, (spawn.Barrier(4),))


@pytest.mark.parametrize(
    "executor", [threads, pytest.param(processes, marks=pytest.mark.slow)], ids=lambda f: f.__name__
)
def test_processes_that_start_at_once_on_an_empty_database_never_both_claim(
    engine: str, executor: Callable[[], Executor], tmp_path: Path
) -> None:
    """None fails for making the tables, or the namespace, at the same moment as another."""
    with empty_database(engine, tmp_path) as url, executor() as pool:
        answers = list(pool.map(claim_the_same, [str(url)] * 4))
    for verdicts in zip(*answers, strict=True):
        assert sorted(verdicts) == ["duplicate"] * 3 + ["unique"]


def test_more_rows_than_one_statement_takes_are_all_inserted(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    if db.dialect == "sqlite":
        # As SQLite before 3.32 has it.
        monkeypatch.setitem(statements._MOST_PARAMETERS, "pysqlite", 999)
        event.listen(
            db.engine,
            "checkout",
            lambda driver, *_: driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999),
        )
    index = Index(db)
    verdicts = index.claim_many({"text": article(n), "key": str(n)} for n in range(64))
    assert [verdict.kind for verdict in verdicts] == ["unique"] * 64
    assert rows(db, schema.claims) == rows(db, schema.texts) == len(index) == 64
    assert rows(db, schema.keys) == 64 * index.lookup.keys.slots
