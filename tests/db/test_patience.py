"""Locks that others want too, and locks that are stuck; what is worth a wait, and what never is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from gate import gate
from servers import ENGINES, cleared_database, server
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from scrapy_simhash.db.engine import check_url, engine_options, is_transient, unavailable
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.index.index import Index

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
on_servers = pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "sqlite"])

#: Seconds; of MariaDB's locks one waits at least one.
TIMEOUT = 2


@pytest.fixture
def index(engine: str, tmp_path: Path) -> Iterator[Index]:
    db = Database(cleared_database(engine, tmp_path), timeout=TIMEOUT)
    index = Index(db, namespace="wanted")
    index.run  # noqa: B018 - opened while nobody is in the way
    yield index
    db.close()


@contextmanager
def others(index: Index, *, seconds: float, hold: float, many: int = 12) -> Iterator[None]:
    """Many who take the lock, one after the other, and leave no moment for anybody else."""
    pool = {"pool_size": many + 1}
    db = Database(index.database.url, timeout=60, options=pool)
    held, is_over = threading.Event(), threading.Event()

    def take(connection: Connection) -> None:
        lock(connection, index.id)
        held.set()
        is_over.wait(hold)

    def work() -> None:
        end = time.monotonic() + seconds
        db.transact(take)
        while time.monotonic() < end and not is_over.is_set():
            db.transact(take)

    threads = [threading.Thread(target=work) for _ in range(many)]
    for thread in threads:
        thread.start()
    try:
        assert held.wait(10)
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        db.close()


@on_every_engine
def test_as_long_as_others_are_seen_to_get_through_nothing_is_given_up(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue on a server can't be made to last; what is seen of it can be."""
    commits = count()
    monkeypatch.setattr(Database, "_look_at_others", lambda _: next(commits))
    with others(index, seconds=0, hold=3 * TIMEOUT, many=1):
        started = time.monotonic()
        assert index.claim("some words of a text", key="a").kind == "unique"
    assert time.monotonic() - started > 2 * TIMEOUT


@on_every_engine
def test_a_lock_that_does_not_move_is_given_up(index: Index) -> None:
    with others(index, seconds=0, hold=60, many=1):
        started = time.monotonic()
        with pytest.raises(IndexUnavailable) as caught:
            index.claim("some words of a text", key="a")
        assert time.monotonic() - started < 30
        assert not isinstance(caught.value, IndexUnusable), "it may be let go of"
    assert index.claim("some words of a text", key="a").kind == "unique"


# Errors of servers and files that can't be used


@on_servers
def test_a_server_that_refuses_connections_is_asked_until_it_answers(
    engine: str, tmp_path: Path
) -> None:
    with gate(cleared_database(engine, tmp_path)) as door:
        door.shut()
        with pytest.raises(IndexUnavailable) as caught:
            Database(door.url, timeout=0.5)
        assert not isinstance(caught.value, IndexUnusable)
        threading.Timer(1.5, door.open).start()
        Database(door.url, timeout=30).close()


@on_servers
@pytest.mark.parametrize(
    "wrong",
    [{"username": "nobody_known", "password": "hunter2"}, {"database": "nothing"}],
    ids=["login", "database"],
)
def test_what_a_server_will_always_refuse_is_not_waited_for(
    engine: str, wrong: dict[str, str]
) -> None:
    started = time.monotonic()
    with pytest.raises(IndexUnusable) as refused:
        Database(server(engine).set(**wrong), timeout=60)
    assert "hunter2" not in str(refused.value)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("message", "is_worth_it"),
    [
        ('FATAL:  password authentication failed for user "a"', False),
        ('FATAL:  no pg_hba.conf entry for host "127.0.0.1", user "a"', False),
        ("fe_sendauth: no password supplied", False),
        ("FATAL:  the database system is starting up", True),
        ("FATAL:  sorry, too many clients already", True),
        ("Connection refused", True),
        ("could not translate host name", True),
        ("connection timeout expired", True),
        (
            'All failures were:\n- a: FATAL:  role "b" does not exist\n- b: Connection refused',
            True,
        ),
        (
            'All failures were:\n- a: role "b" does not exist\n- b: role "b" does not exist',
            False,
        ),
        ('- a: role "b" does not exist\n- b: role "c" is "d" does not exist', False),
        ('role "b" is busy', True),
        ('" does not exist: role "b"', True),
    ],
)
def test_messages_of_postgresql_without_a_code(message: str, is_worth_it: bool) -> None:
    driver = pytest.importorskip("psycopg")
    error = OperationalError("", None, driver.OperationalError(message))
    assert is_transient(error) == is_worth_it
    assert isinstance(unavailable("a database", error), IndexUnusable) != is_worth_it


# What is set on a connection


def test_a_host_that_vanishes_is_noticed_by_default() -> None:
    pytest.importorskip("psycopg")
    options = engine_options(check_url("postgresql+psycopg://a/b"), 10, {})["connect_args"]
    assert (options["keepalives"], options["tcp_user_timeout"]) == (1, 10_000)
    by_url = check_url("postgresql+psycopg://a/b?tcp_user_timeout=5")
    assert "tcp_user_timeout" not in engine_options(by_url, 10, {})["connect_args"]


@on_servers
def test_whoever_has_waited_sees_what_was_written_meanwhile(engine: str, tmp_path: Path) -> None:
    other = {"isolation_level": "REPEATABLE READ"}
    db = Database(cleared_database(engine, tmp_path), options=other)
    with db.engine.connect() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    db.close()


@pytest.mark.parametrize("engine", ["mariadb"])
def test_the_hour_that_comes_twice_is_no_trouble_to_the_clock(index: Index) -> None:
    """It is asked in universal time, wherever the server stands."""
    with index.database.engine.connect() as connection:
        assert connection.scalar(text("SELECT @@session.time_zone")) == "+00:00"
        for moment in (1698539400, 1698543000):
            connection.execute(text(f"SET timestamp = {moment}"))
            assert index.database.clock(connection) == moment


@pytest.mark.parametrize("state", [{}, {"sqlstate": "HY000"}], ids=["PyMySQL 1.1", "PyMySQL 1.2"])
@pytest.mark.parametrize(
    ("code", "is_worth_it"), [(1684, True), (2013, True), (1045, False), (1698, False)]
)
def test_errors_of_mariadb_count_by_their_codes(
    code: int, is_worth_it: bool, state: dict[str, str]
) -> None:
    driver = pytest.importorskip("pymysql")
    message = driver.err.OperationalError(code, "a message")
    vars(message).update(state)
    error = OperationalError("", None, message)
    assert is_transient(error) == is_worth_it
    assert isinstance(unavailable("a database", error), IndexUnusable) != is_worth_it
