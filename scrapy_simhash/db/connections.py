"""What is set and asked on each new connection, and at the beginning of a transaction."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event

from scrapy_simhash.db.lock_wait import SLICES
from scrapy_simhash.db.pipeline import execute
from scrapy_simhash.exceptions import IndexUnusable

#: The bytes of a row in a statement, at most, and of all items in one transaction.
LARGEST_ROW = 128 << 20


class Connections:
    """Sets up the connections of an engine; the other arguments are those of the database."""

    def __init__(self, engine: Engine, name: str, timeout: float, makes_tables: bool) -> None:
        self._engine = engine
        self._name = name
        self._timeout = timeout
        self._makes_tables = makes_tables
        #: Whether a pooler gives each transaction another connection of PostgreSQL.
        self.is_pooled = False
        #: The bytes that a row may take in a statement.
        self.largest_row = LARGEST_ROW
        # Before SQLAlchemy's own, which fails in a database without an encoding.
        event.listen(engine, "connect", self._on_connect, insert=True)
        event.listen(engine, "begin", self._on_begin)

    def _on_connect(self, connection: Any, _record: object) -> None:
        driver = self._engine.dialect.driver
        if driver in {"psycopg", "psycopg2"}:
            if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                connection.close()
                raise IndexUnusable(
                    f"{self._name}: the database's encoding is SQL_ASCII, and must be UTF8: create "
                    "another one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
                )
            self.is_pooled |= is_pooled(connection)
        if self.is_pooled:
            if driver == "psycopg":
                # Statements that are prepared on one connection are missing on the others.
                connection.prepare_threshold = None
            return
        if driver == "pymysql":
            self.largest_row = largest_row(connection)
        cursor = connection.cursor()
        for statement in session_settings(
            self._engine.dialect.name, self._timeout, self._makes_tables
        ):
            cursor.execute(statement)
        cursor.close()

    def _on_begin(self, connection: Connection) -> None:
        if self.is_pooled:
            execute(connection, transaction_settings(self._timeout), None, replans=True)


def session_settings(dialect: str, timeout: float, makes_tables: bool) -> list[str]:
    """The statements to execute on each new connection."""
    lock_timeout = timeout / SLICES
    # In local time, the hour at the end of summer time comes twice.
    mysql = [
        f"SET SESSION innodb_lock_wait_timeout = {max(1, int(lock_timeout))}",
        "SET time_zone = '+00:00'",
    ]
    settings = {
        "sqlite": [
            # Stored in the file: set only in those we make.
            *(["PRAGMA journal_mode=WAL"] if makes_tables else []),
            "PRAGMA synchronous=NORMAL",
            "PRAGMA cache_size=-4096",
            "PRAGMA wal_autocheckpoint=16000",
            "PRAGMA temp_store=MEMORY",
        ],
        "postgresql": [
            f"SET statement_timeout = {int(timeout * 1000)}",
            f"SET lock_timeout = {max(1, int(lock_timeout * 1000))}",
            "COMMIT",
        ],
        "mysql": mysql,
        # Otherwise long IN lists are joined as a table, which is slower than look-ups.
        "mariadb": [*mysql, "SET SESSION in_predicate_conversion_threshold = 0"],
    }
    return settings.get(dialect, [])


def largest_row(connection: Any) -> int:
    """The bytes of a statement that a connection to MariaDB accepts, less what one row needs."""
    cursor = connection.cursor()
    cursor.execute("SELECT @@max_allowed_packet")
    ((packet,),) = cursor.fetchall()
    return min(LARGEST_ROW, int(packet) - int(packet) // 16)


def is_pooled(connection: Any) -> bool:
    """Whether a connection to PostgreSQL leads to a pooler, such as pgbouncer.

    A pooler makes up a process number, as it uses other processes of the server in turn.
    """
    cursor = connection.cursor()
    cursor.execute("SELECT pg_backend_pid()")
    ((number,),) = cursor.fetchall()
    connection.rollback()
    return bool(number != connection.info.backend_pid)


def transaction_settings(timeout: float) -> str:
    """The statement that begins each transaction behind a pooler.

    The settings of a session would stay on the server's connection, which other applications use.
    """
    limits = {"statement_timeout": timeout, "lock_timeout": timeout / SLICES}
    settings = (
        f"set_config('{name}', '{max(1, int(seconds * 1000))}', true)"
        for name, seconds in limits.items()
    )
    return f"SELECT {', '.join(settings)}"
