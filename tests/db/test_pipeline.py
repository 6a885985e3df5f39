"""Statements that PostgreSQL is sent one behind the other, and what goes wrong among them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims import article, edited
from servers import cleared_database
from sqlalchemy import Connection, column, event, func, literal_column, select, table, text

from scrapy_simhash.db.statements import CompiledStatement, _wrapped
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.index import Index

ONE = CompiledStatement(select(literal_column("1")))
REFUSED = CompiledStatement(select(column("nothing")).select_from(table("nowhere")))
END = CompiledStatement(select(func.pg_terminate_backend(func.pg_backend_pid())))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database("postgresql", tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """When it was waited for answers between the beginning and the end of a transaction."""
    psycopg = pytest.importorskip("psycopg")
    noted: list[str] = []
    sync = psycopg.Pipeline.sync

    def noting(pipeline: Any) -> None:
        noted.append("sync")
        sync(pipeline)

    monkeypatch.setattr(psycopg.Pipeline, "sync", noting)
    return noted


def test_a_batch_waits_once_under_the_lock_and_twice_if_it_meets_something(
    db: Database, waits: list[str]
) -> None:
    statements: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    index = Index(db)
    index.run  # noqa: B018 - opened before anything is counted
    verdicts = index.claim_many({"text": article(n), "key": str(n)} for n in range(40))
    assert {verdict.kind for verdict in verdicts} == {"unique"}
    waits.clear()
    statements.clear()
    more = [index.document(article(n), key=str(n)) for n in range(50, 90)]
    # On a slow machine it may have seemed to wait for other writers.
    index.lookup.is_contended = False
    index.execute(claims=more, confirm=[verdict.claim for verdict in verdicts if verdict.claim])
    assert len(waits) == 1
    waits.clear()
    copies = [index.document(edited(article(n)), key=f"copy {n}") for n in range(40)]
    index.lookup.is_contended = False
    verdicts = index.execute(claims=copies)
    assert {verdict.kind for verdict in verdicts} == {"duplicate"}
    assert len(waits) == 2
    assert statements == [], "nothing takes another way"


def test_a_batch_that_meets_nothing_takes_few_statements_on_sqlite(tmp_path: Path) -> None:
    """The driver releases the GIL for each statement."""
    opened = Database(f"sqlite:///{tmp_path}/seen.db")
    index = Index(opened)
    verdicts = index.claim_many({"text": article(n), "key": str(n)} for n in range(64))
    more = [index.document(article(n), key=str(n), digest=b"%016d" % n) for n in range(64, 128)]
    statements: list[str] = []
    event.listen(
        opened.engine, "checkout", lambda driver, *_: driver.set_trace_callback(statements.append)
    )
    index.execute(claims=more, confirm=[verdict.claim for verdict in verdicts if verdict.claim])
    opened.close()
    kinds = [statement.split()[0] for statement in statements if not statement.startswith("--")]
    written = ["INSERT"] * 3
    assert kinds == ["BEGIN", "UPDATE", "UPDATE", "SELECT", *written, "UPDATE", "COMMIT"]


def test_what_is_asked_is_answered_in_any_order(db: Database, waits: list[str]) -> None:
    def work(connection: Connection, _retried: bool) -> list[Any]:
        answers = [ONE.ask(connection, {}) for _ in range(3)]
        return [answer.rows for answer in reversed(answers)]

    assert db.transact_once(work, in_pipeline=True) == [[(1,)]] * 3
    assert waits == ["sync"]


@pytest.mark.parametrize("is_awaited", [True, False])
def test_what_is_refused_in_a_pipeline_is_reported_and_nothing_is_left(
    db: Database, is_awaited: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def work(connection: Connection, _retried: bool) -> None:
        ONE.ask(connection, {})
        answer = REFUSED.ask(connection, {})
        ONE.ask(connection, {})
        if is_awaited:
            assert answer.rows

    with pytest.raises(IndexUnavailable, match="nowhere"):
        db.transact_once(work, in_pipeline=True)
    assert db.transact(lambda connection: connection.scalar(text("SELECT 1"))) == 1
    assert db.transact_once(lambda c, _r: ONE.ask(c, {}).rows, in_pipeline=True) == [(1,)]
    assert not caplog.records


@pytest.mark.parametrize("is_awaited", [True, False])
def test_a_connection_that_is_lost_in_a_pipeline_is_made_again(
    db: Database, is_awaited: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def work(connection: Connection, retried: bool) -> bool:
        if not retried:
            answer = END.ask(connection, {})
            if is_awaited:
                assert answer.rows
        return retried

    assert db.transact_once(work, in_pipeline=True)
    assert not caplog.records


def test_a_connection_whose_end_is_announced_is_not_used_again(tmp_path: Path) -> None:
    """The driver may notice later that it is closed."""
    error = sqlite3.OperationalError("terminating connection")
    opened = Database(f"sqlite:///{tmp_path}/seen.db")
    for state, is_over in (("25P03", True), ("42601", False)):
        error.sqlstate = state  # type: ignore[attr-defined]
        with opened.engine.connect() as connection:
            assert _wrapped(connection, "SELECT 1", error).connection_invalidated == is_over
            assert connection.invalidated == is_over
    opened.close()


def test_an_error_of_ones_own_passes_and_ends_the_pipeline(db: Database) -> None:
    def work(connection: Connection, _retried: bool) -> float:
        ONE.ask(connection, {})
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        db.transact_once(work, in_pipeline=True)
    assert db.transact(lambda connection: connection.scalar(text("SELECT 1"))) == 1
