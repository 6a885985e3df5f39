"""Opening a database, what goes wrong with it, and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from claims import article
from servers import ENGINES, cleared_database, database_on, empty_database, free_ports, server
from sqlalchemy import Connection, text, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable, TableVersionMismatch
from scrapy_simhash.index.index import Index

on_every_engine = pytest.mark.parametrize("engine", ENGINES)
on_servers = pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "sqlite"])


@pytest.fixture
def db(engine: str, tmp_path: Path) -> Iterator[Database]:
    opened = Database(cleared_database(engine, tmp_path), timeout=2)
    yield opened
    opened.close()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_must_be_durable_is_waited_for_and_nothing_else(db: Database) -> None:
    def waits(*, durable: bool) -> bool:
        synchronous = text("PRAGMA synchronous")
        return db.transact(lambda one: one.scalar(synchronous), durable=durable) == 2

    assert not waits(durable=False)
    for _ in range(2):
        assert waits(durable=True)
        assert not waits(durable=False)


# Versions of the tables


def set_version(url: URL, number: int) -> None:
    db = Database(url)
    db.transact(lambda connection: connection.execute(update(schema.meta).values(value=number)))
    db.close()


@pytest.mark.parametrize(
    ("version", "message"),
    [(99, r"version 99.*upgrade scrapy_simhash"), (0, rf"version 0\b.*version {schema.VERSION}\b")],
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


# URLs


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", r"URL|database"),
        ("nothing://x", r"URL|database"),
        ("sqlite:///a?mode=ro", r"no parameter of SQLite.*give the path alone"),
        ("sqlite:///a?timeout=5&b.db", "no parameter of SQLite"),
        ("sqlite:///file:a", "needs uri=true"),
        ("mariadb+pymysql://root@/x?host=a:3306&host=b:3306", r"PyMySQL connects to one host"),
        ("postgresql+psycopg2://user:hunter2@127.0.0.1/x", r"starts with postgresql\+psycopg://"),
        ("mysql://user:hunter2@127.0.0.1/x", r"starts with mariadb\+pymysql://"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused_with_what_to_do(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        Database(url)
    assert "hunter2" not in str(refused.value)


def test_parameters_of_an_sqlite_url_are_allowed() -> None:
    assert check_url("sqlite:///a?timeout=5").query == {"timeout": "5"}
    assert check_url("sqlite:///file:a?mode=ro&uri=true").database == "file:a"
    assert check_url(check_url("a?b.db")).database == "a?b.db"


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b.db", "100%.db", "a?mode=ro", "a b;c"])
def test_a_path_is_taken_literally(name: str, tmp_path: Path) -> None:
    with Index(f"{tmp_path}/{name}") as index:
        index.confirm(index.claim("some words of a text", key="a"))
    assert (tmp_path / name).exists()
    assert not (tmp_path / "a").exists()


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
        # The time limits of PostgreSQL.
        *(("postgresql", [(0, state)]) for state in ("25P03", "25P04", "57P05")),
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


@on_every_engine
def test_a_conflict_without_end_is_given_up_in_time(engine: str, tmp_path: Path) -> None:
    db = Database(cleared_database(engine, tmp_path), timeout=0.3)

    def work(_connection: Connection) -> None:
        raise error_of(db, *DEADLOCK)

    with pytest.raises(IndexUnavailable, match="some error"):
        db.transact(work)
    db.close()


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
def test_no_statement_outlasts_the_timeout(engine: str, tmp_path: Path) -> None:
    """On the first connection and on those that follow, also after an error."""
    db = Database(cleared_database(engine, tmp_path), timeout=0.3)
    show = text("SHOW statement_timeout")
    with db.engine.connect() as one, db.engine.connect() as two:
        for connection in (one, two):
            assert connection.scalar(show) == "300ms"
            connection.rollback()
            assert connection.scalar(show) == "300ms"
    with pytest.raises(IndexUnavailable, match="timeout"):
        db.read(lambda connection: connection.execute(text("SELECT pg_sleep(10)")))
    db.close()
