"""Claims whose commit fails, or is answered by silence; many at once; other drivers."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from claims import article, assert_no_trace, claim_version, edited, remember, rows
from servers import ENGINES, empty_database
from sqlalchemy import event, text

from scrapy_simhash.db import schema, statements
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, Duplicate

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def fail_after_commit(db: Database, error: BaseException) -> list[int]:
    """Let the next commit under a lock succeed and its answer be lost; how often it was."""
    lost: list[int] = []
    locks: list[int] = []
    do_commit = db.engine.dialect.do_commit

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE simhash_namespaces"):
            locks.append(1)

    def commit(connection: Any) -> None:
        do_commit(connection)
        if locks and not lost:
            lost.append(1)
            raise error

    event.listen(db.engine, "before_cursor_execute", note)

    db.engine.dialect.do_commit = commit  # type: ignore[method-assign]
    return lost


def lost_connection(db: Database) -> Exception:
    """The driver's own error of a connection that broke."""
    driver = db.engine.dialect.loaded_dbapi
    if db.dialect == "sqlite":
        error = driver.OperationalError("database is locked")
        error.sqlite_errorcode = 5
        return error
    if db.dialect == "postgresql":
        error = driver.OperationalError("server closed the connection unexpectedly")
        error.sqlstate = "08006"
        return error
    return driver.OperationalError(2013, "Lost connection to server during query")


def test_a_batch_whose_commit_was_answered_by_silence_is_not_its_own_duplicate(
    db: Database,
) -> None:
    index = Index(db)
    index.claim(article(0), key="old")
    lost = fail_after_commit(db, lost_connection(db))
    texts = [article(1), article(1), article(0), article(2)]
    verdicts = index.claim_many({"text": text, "key": str(n)} for n, text in enumerate(texts))
    assert lost
    assert [verdict.kind for verdict in verdicts] == ["unique", "duplicate", "duplicate", "unique"]
    assert verdicts[1].match.key == "0"
    assert len(index) == 3
    index.release(verdicts[0], verdicts[3])
    assert len(index) == 1
    assert rows(db, schema.claims) == 1


def test_an_own_version_whose_commit_was_answered_by_silence_is_still_the_same(
    db: Database,
) -> None:
    index = Index(db)
    index.confirm(claim_version(index, article(1), download=1))
    lost = fail_after_commit(db, lost_connection(db))
    again = claim_version(index, edited(article(1)), download=2)
    assert lost
    assert again.kind == "same"
    assert again.claim is not None
    assert len(index) == 2


def test_a_duplicate_whose_commit_was_answered_by_silence_is_kept_once(db: Database) -> None:
    index = Index(db)
    match = remember(index, 1)
    lost = fail_after_commit(db, lost_connection(db))
    remember(index, 2, match)
    assert lost
    assert rows(db, schema.duplicates) == 2


def test_a_copy_that_outlived_its_original_is_claimed_once(db: Database) -> None:
    """Its claim is as old as the copy; a retry must know it as its own, to be released."""
    url = db.url.render_as_string(hide_password=False)
    with Index(url, rule=Rule(known="pass")) as index:
        index.confirm(claim_version(index, article(1), "a"))
        copy = claim_version(index, article(1), "b", download=2)
        document = Document(index.scheme.sketch(article(1)), "b", download=2, text=article(1))
        index.execute(duplicates=[Duplicate(document, copy.match, "drop", b"x", "dict")])
    with Index(url, rule=Rule(known="pass")) as index:
        lost = fail_after_commit(index.database, lost_connection(db))
        verdict = claim_version(index, article(1), "b", download=3)
        assert lost
        assert (verdict.kind, verdict.has_old_claim) == ("unique", False)
        index.release(verdict)
        assert claim_version(index, article(1), "c", download=4).kind == "unique"


def test_a_duplicate_that_was_moved_to_a_run_is_recorded_once(db: Database) -> None:
    url = db.url.render_as_string(hide_password=False)
    for visit in range(1, 4):
        with Index(url, rule=Rule(known="drop")) as index:
            claimed = claim_version(index, article(1), "a", download=2 * visit)
            index.execute(confirm=[claimed])
            copy = claim_version(index, article(1), "b", download=2 * visit + 1)
            lost = fail_after_commit(index.database, lost_connection(db)) if visit == 3 else [1]
            text = article(1)
            document = Document(index.scheme.sketch(text), "b", download=2 * visit + 1, text=text)
            index.execute(duplicates=[Duplicate(document, copy.match, "drop", b"x", "dict")])
            assert lost
        assert rows(db, schema.duplicates) == 1


def test_a_refused_transaction_leaves_nothing(db: Database) -> None:
    index = Index(db)
    index.run  # noqa: B018 - opened before its statements are made to fail

    rename(db, "simhash_texts", "hidden")
    with pytest.raises(IndexUnavailable):
        index.claim(article(1), key="a")
    rename(db, "hidden", "simhash_texts")
    assert_no_trace(db)
    assert index.claim(article(1), key="a").kind == "unique"


def rename(db: Database, old: str, new: str) -> None:
    with db.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))


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
