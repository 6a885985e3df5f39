"""Opening a database, what goes wrong with it, and transactions."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims import article
from servers import (
    ENGINES,
    cleared_database,
    database_on,
    empty_database,
    free_ports,
    server,
)
from sqlalchemy import Connection, create_engine, select, text, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable, TableVersionMismatch
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
on_servers = pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "sqlite"])


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path), timeout=2)
    yield opened
    opened.close()


ONE = select(text("1"))


def execute(url: URL, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_must_be_durable_is_waited_for_and_nothing_else(db: Database) -> None:
    def waits() -> bool:
        return db.transact(lambda one: one.scalar(text("PRAGMA synchronous"))) == 2

    assert not waits()
    with db.durable():
        assert waits()
        with db.durable():
            assert waits()
        assert waits()
    assert not waits()


# Versions of the tables


def set_version(url: URL, number: int) -> None:
    db = Database(url)
    db.transact(lambda connection: connection.execute(update(schema.meta).values(value=number)))
    db.close()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, r"version 99.*upgrade scrapy_simhash"),
        (0, rf"version 0\b.*version {schema.VERSION}\b"),
    ],
)
@on_every_engine
def test_tables_of_another_version_are_refused_in_one_line_and_left_alone(
    engine: str, tmp_path: Path, version: int, message: str
) -> None:
    with empty_database(engine, tmp_path) as url:
        set_version(url, version)
        for _ in range(2):
            with pytest.raises(TableVersionMismatch, match=message) as caught:
                Database(url)
            assert len(str(caught.value).splitlines()) == 1


# Files


def test_a_database_in_memory_works() -> None:
    with Index("sqlite://") as index:
        assert index.claim("some words of a text", key="a").kind == "unique"
        assert index.claim("some words of a text", key="b").kind == "duplicate"


@pytest.mark.parametrize("content", [b"not a database, but long enough" * 100, b"SQLite"])
def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "seen.db"
    path.write_bytes(content)
    with pytest.raises(IndexUnusable, match=r"seen\.db.*not a.*database.*not touched"):
        Database(f"sqlite:///{path}")
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", candidates="blocks", rule=Rule(distance=0)) as index:
        index.claim_many({"fingerprint": n, "key": str(n)} for n in range(500))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = os.urandom(len(damaged) - 4096)
    path.write_bytes(damaged)
    with (
        pytest.raises(IndexUnavailable, match=r"seen\.db.*damaged.*\.recover"),
        Index(f"sqlite:///{path}", candidates="blocks", rule=Rule(distance=0)) as index,
    ):
        index.claim(1, key="a")
    assert path.read_bytes() == damaged


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    with pytest.raises(IndexUnusable, match=f"there is no folder {folder}"):
        Database(f"sqlite:///{folder}/seen.db")
    assert not folder.exists()
    with pytest.raises(IndexUnusable, match=f"{tmp_path}.*can't be opened"):
        Database(f"sqlite:///{tmp_path}")


def test_a_file_that_is_read_only_is_named(tmp_path: Path) -> None:
    path = tmp_path / "seen.db"
    Database(f"sqlite:///{path}").close()
    db = Database(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(IndexUnusable, match=r"seen\.db.*read-only"):
        Index(db)
    db.close()


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with Index(f"sqlite:///{tmp_path}/seen.db") as index:
        index.run  # noqa: B018 - opened while there is room
        with index.database.engine.connect() as connection:
            pages = connection.scalar(text("PRAGMA page_count"))
            connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        with pytest.raises(IndexUnavailable, match="disk is full"):
            index.claim(" ".join(map(str, range(100_000))), key="a")
        with index.database.engine.connect() as connection:
            connection.execute(text("PRAGMA max_page_count = 1000000"))
        assert index.claim("and then there is room again", key="a").kind == "unique"


# URLs


@pytest.mark.parametrize("url", ["", "nothing://x", "sqlite+nothing:///x"])
def test_a_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|database"):
        check_url(url)


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b.db", "100%.db", "a?mode=ro", "a b;c"])
def test_a_path_is_taken_literally(name: str, tmp_path: Path) -> None:
    with Index(f"{tmp_path}/{name}") as index:
        index.confirm(index.claim("some words of a text", key="a"))
    assert (tmp_path / name).exists()
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("url", ["sqlite:///a?b.db", "sqlite:///a?mode=ro", "sqlite:///a?=b.db"])
def test_what_is_no_parameter_of_an_sqlite_url_is_named(url: str) -> None:
    with pytest.raises(ValueError, match=r"no parameter of SQLite.*give the path alone"):
        check_url(url)
    with pytest.raises(ValueError, match="no parameter of SQLite"):
        check_url("sqlite:///a?timeout=5&b.db")


@pytest.mark.parametrize("url", ["file:a?mode=ro&uri=true", "sqlite:///file:a"])
def test_an_sqlite_uri_must_be_one(url: str) -> None:
    with pytest.raises(ValueError, match=r"needs uri=true"):
        check_url(url)


def test_parameters_of_an_sqlite_url_are_allowed() -> None:
    assert check_url("sqlite:///a?timeout=5").query == {"timeout": "5"}
    assert check_url("sqlite:///file:a?mode=ro&uri=true").database == "file:a"
    assert check_url(check_url("a?b.db")).database == "a?b.db"


def test_several_hosts_of_mariadb_are_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"PyMySQL connects to one host.*proxy"):
        Database("mariadb+pymysql://root@/x?host=a:3306&host=b:3306")


@pytest.mark.parametrize("engine", ["postgresql"])
def test_the_next_host_is_asked_when_one_does_not_answer(engine: str, tmp_path: Path) -> None:
    url = cleared_database(engine, tmp_path)
    (dead,) = free_ports(1)
    hosts = [f"127.0.0.1:{dead}", f"{url.host}:{url.port}"]
    several = url.set(host=None, port=None).update_query_dict({"host": hosts})
    with Index(several) as index:
        assert index.claim("some words of a text", key="a").kind == "unique"
    with pytest.raises(IndexUnavailable, match=str(dead)):
        Database(several.update_query_dict({"host": hosts[:1]}), timeout=1)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            "postgresql+psycopg2",
            r"psycopg2.*\[postgresql\]' and use a URL that starts with postgresql\+psycopg://",
        ),
        ("mysql", r"MySQLdb.*\[mariadb\]' and use a URL that starts with mariadb\+pymysql://"),
        ("postgres", r"postgres; a URL starts with sqlite://, postgresql\+psycopg://, mariadb"),
    ],
)
def test_a_missing_driver_is_named_with_what_installs_it(start: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Database(f"{start}://user:hunter2@127.0.0.1/x")


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_database_without_a_schema_for_the_tables_is_unusable(
    engine: str, tmp_path: Path
) -> None:
    with empty_database(engine, tmp_path) as url:
        execute(url, "DROP SCHEMA public")
        with pytest.raises(IndexUnusable, match="no schema has been selected"):
            Database(url)


@pytest.mark.slow
def test_a_database_without_an_encoding_is_refused_with_what_to_do() -> None:
    with (
        database_on(
            server("postgresql"), "ENCODING SQL_ASCII LOCALE 'C' TEMPLATE template0"
        ) as url,
        pytest.raises(IndexUnusable, match=r"encoding is SQL_ASCII, and must be UTF8") as error,
    ):
        Database(url)
    assert "bytes-like" not in str(error.value)


# Transactions


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_transaction_that_the_server_ends_because_it_was_idle_is_tried_again(
    engine: str, tmp_path: Path
) -> None:
    with empty_database(engine, tmp_path) as url:
        db = Database(url)
        execute(url, f"ALTER DATABASE {url.database} SET idle_in_transaction_session_timeout = 100")
        db.engine.dispose()
        seen: list[int] = []

        def work(connection: Connection) -> None:
            seen.append(1)
            assert connection.scalar(ONE) == 1
            time.sleep(0.5 if len(seen) == 1 else 0)
            assert connection.scalar(ONE) == 1

        db.transact(work)
        assert len(seen) == 2
        db.close()


# As a server may have it for every session.
UNUSUAL_DEFAULTS = {
    "postgresql": {"options": "-c standard_conforming_strings=off"},
    "mariadb": {"init_command": "SET SESSION sql_select_limit=3, completion_type='RELEASE'"},
}


@pytest.mark.parametrize("engine", sorted(set(ENGINES) & set(UNUSUAL_DEFAULTS)))
def test_unusual_defaults_of_a_server_cost_nothing(engine: str, tmp_path: Path) -> None:
    with empty_database(engine, tmp_path) as url:
        with Index(url.update_query_dict(UNUSUAL_DEFAULTS[engine])) as index:
            for start in (0, 30):
                verdicts = index.claim_many(
                    {"text": article(number % 20), "key": str(number)}
                    for number in range(start, start + 30)
                )
                index.confirm(*verdicts)
                assert len(index) == 20
        with Index(url) as index:
            assert len(index) == 20


def error_of(db: Database, number: int, state: str) -> OperationalError:
    """An error of the driver, given by MariaDB's number and PostgreSQL's state."""
    driver = db.engine.dialect.loaded_dbapi
    error = driver.OperationalError(number, "some error")
    if db.dialect == "sqlite":
        error.sqlite_errorcode = 5
    else:
        error.sqlstate = state
    return OperationalError("UPDATE", None, error)


DEADLOCK, LOST = (1213, "40001"), (2013, "08006")


@pytest.mark.parametrize(
    ("engine", "errors"),
    [
        *((engine, [DEADLOCK] * 3) for engine in ENGINES),
        *((engine, [DEADLOCK, LOST, DEADLOCK]) for engine in ENGINES if engine != "sqlite"),
    ],
)
def test_work_is_tried_again(db: Database, errors: list[tuple[int, str]]) -> None:
    left = list(errors)

    def work(_connection: Connection) -> str:
        if left:
            raise error_of(db, *left.pop(0))
        return "done"

    assert db.transact(work) == "done"
    assert not left


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("state", ["25P03", "25P04", "57P05"])
def test_what_another_connection_mends_is_tried_again(state: str, db: Database) -> None:
    """The time limits of PostgreSQL."""
    error = sqlite3.OperationalError("terminated")
    error.sqlstate = state  # type: ignore[attr-defined]
    left = [OperationalError("SELECT", None, error)]

    def work(_connection: Connection) -> None:
        if left:
            raise left.pop()

    db.transact(work)
    assert not left


@on_every_engine
def test_a_conflict_without_end_is_given_up_in_time(engine: str, tmp_path: Path) -> None:
    db = Database(cleared_database(engine, tmp_path), timeout=0.3)

    def work(_connection: Connection) -> None:
        raise error_of(db, *DEADLOCK)

    with pytest.raises(IndexUnavailable, match="some error"):
        db.transact(work)
    db.close()


@on_every_engine
def test_an_error_in_the_statement_is_not_tried_again(db: Database) -> None:
    seen: list[int] = []

    def work(connection: Connection) -> None:
        seen.append(1)
        connection.execute(text("SELECT 1 FROM nowhere"))

    with pytest.raises(IndexUnavailable, match="nowhere"):
        db.transact(work)
    assert len(seen) == 1


@on_every_engine
def test_work_that_raises_leaves_nothing_behind(db: Database) -> None:
    index = Index(db)

    def work(connection: Connection) -> None:
        lock(connection, index.id, 5)
        raise KeyError("mistake")

    with pytest.raises(KeyError):
        db.transact(work)
    assert db.transact(lambda connection: lock(connection, index.id)).counter == 0


@pytest.mark.parametrize("engine", ["postgresql"])
def test_no_statement_outlasts_the_timeout(db: Database) -> None:
    """On the first connection and on those that follow, also after an error."""
    show = text("SHOW statement_timeout")
    with db.engine.connect() as one, db.engine.connect() as two:
        for connection in (one, two):
            assert connection.scalar(show) == "2s"
            connection.rollback()
            assert connection.scalar(show) == "2s"
    with pytest.raises(IndexUnavailable, match="timeout"):
        db.read(lambda connection: connection.execute(text("SELECT pg_sleep(10)")))


@on_every_engine
def test_a_connection_that_was_cut_is_opened_again(db: Database) -> None:
    index = Index(db)
    index.claim("some words of a text", key="a")
    with db.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
    if db.dialect == "sqlite":
        db.engine.dispose()
    else:
        raw.close()
    assert index.claim("some words of a text", key="b").kind == "duplicate"
