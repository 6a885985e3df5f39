"""Database URLs, and the options, connections and errors of each kind of server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qsl

from sqlalchemy import Connection, Engine, StaticPool, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)

from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.visible import visible, without_passwords

# How many times per timeout a wait for a lock is interrupted, which shows that the database works.
_SLICES = 8

#: The statements for a server's clock; SQLite uses that of this machine.
CLOCKS = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
    "mysql": "SELECT unix_timestamp(now(6))",
    "mariadb": "SELECT unix_timestamp(now(6))",
}

#: How the URLs of servers begin, by the extras that install their drivers.
DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql"}

# The parameters of an SQLite URL.
_SQLITE = frozenset(
    {"cached_statements", "check_same_thread", "detect_types", "isolation_level", "timeout", "uri"}
)

# Codes of errors are states of PostgreSQL, numbers of MariaDB, or small numbers of SQLite.

# Another writer is in the way: deadlock, lock not available, record changed; busy, locked. 57014 is
# that of a statement that took too long: it may have waited for several locks, one after the other.
_BUSY = frozenset({"40001", "40P01", "55P03", "57014", 1213, 1205, 1020, 5, 6})

# The server is read-only: a replica, or a node without its cluster. Another host may be writable.
_READ_ONLY = frozenset({"25006", 1047, 1290, 1836})

# The server closes the connection because it shuts down, is asked to, or is still starting.
# The last three are its time limits: idle in a transaction, for a transaction, idle at all.
_ENDED = frozenset({"57P01", "57P02", "57P03", "25P03", "25P04", "57P05"})

# The table exists already.
_EXISTS = frozenset({"42P07", 1050})

# Unknown user, unknown database, no schema to create tables in, permission denied; of SQLite:
# read-only, damaged, can't be opened, not a database.
_PERMANENT = frozenset(
    {"28000", "28P01", "3D000", "3F000", "42501", 1044, 1045, 1049, 1142, 1698, 8, 11, 14, 26}
)
# PostgreSQL refuses a connection without an error code. Messages in another language are not
# recognised and therefore retried.
_REFUSED = re.compile(
    r"authentication failed for user|no password supplied|no pg_hba\.conf entry"
    # The first name only, so that a long line is read once.
    r"|^(?>.*?(?:database|role) \").*\" does not exist|permission denied for database"
)

_SQLITE_ADVICE = {
    8: "the file or its folder is read-only",
    10: "reading or writing the file failed",
    11: "the file is damaged: move it away (the crawl then starts a new index) or repair it with "
    "the sqlite3 command '.recover'; it was not touched",
    13: "the disk is full",
    14: "the file can't be opened: its folder must exist and be writable",
    26: "the file is not an SQLite database; it was not touched",
}


def check_url(url: str | URL) -> URL:
    """Parse a database URL; a path without a scheme is that of an SQLite file, taken literally.

    The message of a ValueError does not repeat the URL, which may hold a password.
    """
    is_path = isinstance(url, str) and url and "://" not in url
    try:
        parsed = URL.create("sqlite", database=str(url)) if is_path else make_url(url)
        parsed.get_dialect()
    except NoSuchModuleError as error:
        starts = ", ".join(f"{one}://" for one in ("sqlite", *DRIVERS.values()))
        raise ValueError(f"unknown database driver: {error}; a URL starts with {starts}") from error
    except (SQLAlchemyError, ValueError):
        raise ValueError(
            "not a database URL that SQLAlchemy can read; examples: sqlite:///seen.db, "
            "postgresql+psycopg://user:password@host/database"
        ) from None
    if parsed.get_driver_name() == "pymysql" and "host" in parsed.query:
        raise ValueError(
            "PyMySQL connects to one host, given before the database: "
            "mariadb+pymysql://user:password@host/database. For failover between several hosts "
            "use a proxy such as MaxScale or HAProxy"
        )
    if parsed.get_driver_name() == "pysqlite":
        # SQLAlchemy drops those without a value, and ignores unknown ones.
        query = url.partition("?")[2] if isinstance(url, str) and not is_path else ""
        names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
        _check_sqlite(parsed.database or "", {*parsed.query, *names})
    return parsed


def _check_sqlite(path: str, names: set[str]) -> None:
    """Check the path of an SQLite URL, and the names of its parameters."""
    if "uri" in names:
        return
    if path.startswith("file:"):
        raise ValueError("an SQLite URI needs uri=true: sqlite:///file:seen.db?mode=ro&uri=true")
    if unknown := sorted(names - _SQLITE):
        raise ValueError(
            f"{unknown[0]!r} behind the ? of an SQLite URL is no parameter of SQLite; there are "
            f"{', '.join(sorted(_SQLITE))}, and with uri=true all others of an SQLite URI. If the "
            "? is a part of the file's name, give the path alone, without sqlite:///"
        )


def shown_url(url: URL) -> str:
    """A URL without any of its passwords, also those of its parameters."""
    return without_passwords(url.render_as_string())


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite database; None if it is in memory or given as an SQLite URI."""
    path = url.database or ":memory:"
    if url.get_backend_name() != "sqlite" or path == ":memory:" or path.startswith("file:"):
        return None
    return Path(path)


def file_id(path: Path | None) -> tuple[int, int] | None:
    """Device and inode of a file, (-1, -1) if there is none; None where that is not known."""
    try:
        status = path.stat() if path is not None else None
    except FileNotFoundError:
        return -1, -1
    except OSError:  # such as an interruption of a network drive
        return None
    return (status.st_dev, status.st_ino) if status is not None else None


def missing_driver(url: URL, error: ModuleNotFoundError) -> str:
    """The error message for a URL whose driver is not installed."""
    extra = url.get_backend_name().replace("mysql", "mariadb")
    hint = f"; install it with: pip install 'scrapy-simhash[{extra}]'" if extra in DRIVERS else ""
    if hint and url.get_driver_name() != DRIVERS[extra].partition("+")[2]:
        hint += f" and use a URL that starts with {DRIVERS[extra]}://"
    return f"the driver for {url.drivername} is not installed ({error.name}){hint}"


def engine_options(url: URL, timeout: float, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for :func:`sqlalchemy.create_engine`.

    The given ones take precedence, except for the isolation level of a server.
    """
    # Errors are logged: they must show neither the secret nor any text.
    options: dict[str, Any] = {"hide_parameters": True}
    connect: dict[str, Any] = {}
    match url.get_backend_name():
        case "sqlite":
            connect["timeout"] = timeout / _SLICES
            if url.database in {None, "", ":memory:"}:
                options["poolclass"] = StaticPool
            elif (path := sqlite_file(url)) is not None and not path.parent.is_dir():
                raise IndexUnusable(f"{shown_url(url)}: there is no folder {path.parent}")
        case "postgresql":
            if url.get_driver_name() in {"psycopg", "psycopg2"}:
                connect = _libpq(timeout)
            if url.get_driver_name() == "psycopg":
                # A pooler gives each transaction another connection of the server, on which a
                # statement prepared by name is missing, or is a different one.
                connect["prepare_threshold"] = None
        case "mysql" | "mariadb":
            if url.get_driver_name() == "pymysql":
                connect["connect_timeout"] = max(1, int(timeout))
                # Longer than the shortest time that MariaDB waits for a lock.
                connect["read_timeout"] = connect["write_timeout"] = max(3, int(timeout))
    connect = {name: value for name, value in connect.items() if name not in url.query}
    options = {**options, **given, "connect_args": {**connect, **given.get("connect_args", {})}}
    if url.get_backend_name() != "sqlite":
        # Whoever has waited for the lock must see what was written meanwhile.
        options["isolation_level"] = "READ COMMITTED"
    return options


def _libpq(timeout: float) -> dict[str, Any]:
    """Keepalives that detect a vanished host; the system's default takes a quarter of an hour."""
    seconds = max(2, int(timeout))
    return {
        "connect_timeout": seconds,
        "keepalives": 1,
        "keepalives_idle": seconds,
        "keepalives_interval": max(1, seconds // 3),
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * seconds,
    }


def set_up(engine: Engine, name: str, timeout: float, *, makes_tables: bool) -> None:
    """Set up each connection and transaction of an engine, given the name of its database."""

    def on_connect(connection: Any, _record: object) -> None:
        if (
            engine.dialect.driver in {"psycopg", "psycopg2"}
            and connection.info.parameter_status("server_encoding") == "SQL_ASCII"
        ):
            connection.close()
            raise IndexUnusable(
                f"{name}: the database's encoding is SQL_ASCII, and must be UTF8: create "
                "another one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )
        cursor = connection.cursor()
        for statement in _settings(engine.dialect.name, timeout, makes_tables=makes_tables):
            cursor.execute(statement)
        cursor.close()

    def on_begin(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            # For this transaction only: a pooler's connection serves others, too.
            settings = {
                "statement_timeout": max(1, int(1000 * timeout)),
                "lock_timeout": max(1, int(1000 * timeout / _SLICES)),
                # Otherwise the driver escapes the bytes that it sends once more.
                "standard_conforming_strings": "on",
            }
            made = (f"set_config('{name}', '{value}', true)" for name, value in settings.items())
            connection.exec_driver_sql(f"SELECT {', '.join(made)}")

    # Before SQLAlchemy's own, which fails in a database without an encoding.
    event.listen(engine, "connect", on_connect, insert=True)
    event.listen(engine, "begin", on_begin)
    event.listen(engine, "handle_error", _note_end)


def _settings(dialect: str, timeout: float, *, makes_tables: bool) -> list[str]:
    """The statements to execute on each new connection."""
    mysql = [
        f"SET SESSION innodb_lock_wait_timeout = {max(1, int(timeout / _SLICES))}",
        # In local time, the hour at the end of summer time comes twice.
        "SET time_zone = '+00:00'",
        # A server's own defaults would cut answers, or end the connection at a commit.
        "SET SESSION sql_select_limit = DEFAULT, completion_type = 'NO_CHAIN'",
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
        "mysql": mysql,
        # Otherwise long IN lists are joined as a table, which is slower than look-ups.
        "mariadb": [*mysql, "SET SESSION in_predicate_conversion_threshold = 0"],
    }
    return settings.get(dialect, [])


def is_busy(error: BaseException) -> TypeGuard[DBAPIError]:
    """Whether another writer is in the way, so that waiting helps."""
    return isinstance(error, DBAPIError) and not _BUSY.isdisjoint(_codes(error.orig))


def _note_end(context: ExceptionContext) -> None:
    """Mark a connection as disconnected as soon as the server announces that it closes it.

    The driver may not have noticed yet; SQLAlchemy would then try to roll back and log a failure.
    """
    if _needs_another_connection(context.original_exception):
        context.is_disconnect = True


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if not isinstance(error, DBAPIError) or _is_permanent(error):
        return False
    # SQLite calls everything an operational error.
    is_of_server = isinstance(error, OperationalError) and not _sqlite_code(error)
    return (
        error.connection_invalidated
        or is_of_server
        or is_busy(error)
        or _is_creation_race(error)
        or _needs_another_connection(error.orig)
    )


def _needs_another_connection(error: BaseException | None) -> bool:
    """Whether the server closes the connection, or can't be written to while another one may be."""
    return not (_ENDED | _READ_ONLY).isdisjoint(_codes(error))


def _is_creation_race(error: DBAPIError) -> bool:
    """Whether another process has just created the same row or table, which is there next time."""
    return (
        isinstance(error, IntegrityError)
        or not _EXISTS.isdisjoint(_codes(error.orig))
        # SQLite has no code for it.
        or "already exists" in str(error.orig)
    )


def unavailable(database: str, error: SQLAlchemyError) -> IndexUnavailable:
    """The exception to raise: names the database, its message, and what can be done about it."""
    message = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    reason = visible(without_passwords(message.splitlines()[0]))
    if advice := _SQLITE_ADVICE.get(_sqlite_code(error)):
        reason = f"{reason}; {advice}"
    kind = IndexUnusable if _is_permanent(error) else IndexUnavailable
    return kind(f"{database}: {reason}")


def _is_permanent(error: SQLAlchemyError) -> bool:
    """Whether waiting will not change the answer."""
    if not isinstance(error, DBAPIError):
        return False
    if not _PERMANENT.isdisjoint(_codes(error.orig)):
        return True
    # A driver that gives a state to each error of a server reports one without.
    if not isinstance(error, OperationalError) or getattr(error.orig, "sqlstate", "") is not None:
        return False
    # With several hosts there is a line for each: one of the others may come back.
    lines = str(error.orig).splitlines()
    lines = [line for line in lines if line.startswith("- ")] or lines[:1]
    return bool(lines) and all(map(_REFUSED.search, lines))


def _codes(error: BaseException | None) -> set[object]:
    """The codes that the driver of any engine gives to an error."""
    number = error.args[:1] if error is not None else ()
    return {getattr(error, "sqlstate", None), getattr(error, "sqlite_errorcode", 0) & 0xFF, *number}


def _sqlite_code(error: SQLAlchemyError) -> int:
    return int(getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)) & 0xFF
