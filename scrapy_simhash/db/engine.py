"""Database URLs and the engine options of each kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import StaticPool
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

from scrapy_simhash.db.lock_wait import SLICES
from scrapy_simhash.db.passwords import shown_url
from scrapy_simhash.exceptions import IndexUnusable


def check_url(url: str | URL) -> URL:
    """Parse a database URL; a path without a scheme is that of an SQLite file.

    The message of a ValueError does not repeat the URL, which may hold a password.
    """
    try:
        is_path = isinstance(url, str) and url and "://" not in url
        parsed = make_url(f"sqlite:///{url}" if is_path else url)
        parsed.get_dialect()
    except NoSuchModuleError as error:
        raise ValueError(f"unknown database driver: {error}") from error
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
    return parsed


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite database; None if it is in memory or given as an SQLite URI."""
    path = url.database or ":memory:"
    if url.get_backend_name() != "sqlite" or path == ":memory:" or path.startswith("file:"):
        return None
    return Path(path)


def file_id(path: Path | None) -> tuple[int, int] | None:
    """Device and inode of a file, (-1, -1) if there is none; None where that is not known."""
    try:
        found = path.stat() if path is not None else None
    except FileNotFoundError:
        return -1, -1
    except OSError:  # such as an interruption of a network drive
        return None
    return (found.st_dev, found.st_ino) if found is not None else None


def missing_driver(url: URL, error: ModuleNotFoundError) -> str:
    """The error message for a URL whose driver is not installed."""
    extra = {"postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb"}.get(
        url.get_backend_name()
    )
    hint = f"; install it with: pip install 'scrapy-simhash[{extra}]'" if extra else ""
    if url.get_driver_name() == "psycopg2":
        hint += " and use a URL that starts with postgresql+psycopg://"
    return f"the driver for {url.drivername} is not installed ({error.name}){hint}"


def engine_options(url: URL, timeout: float, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for :func:`sqlalchemy.create_engine`; the given ones take precedence."""
    # Errors are logged: they must show neither the secret nor any text.
    options: dict[str, Any] = {"hide_parameters": True}
    connect: dict[str, Any] = {}
    match url.get_backend_name():
        case "sqlite":
            connect["timeout"] = timeout / SLICES
            if url.database in {None, "", ":memory:"}:
                options["poolclass"] = StaticPool
            elif (path := sqlite_file(url)) is not None and not path.parent.is_dir():
                raise IndexUnusable(f"{shown_url(url)}: there is no folder {path.parent}")
        case "postgresql":
            options["isolation_level"] = "READ COMMITTED"
            if url.get_driver_name() in {"psycopg", "psycopg2"}:
                connect = _libpq(timeout)
        case "mysql" | "mariadb":
            options["isolation_level"] = "READ COMMITTED"
            if url.get_driver_name() == "pymysql":
                connect["connect_timeout"] = max(1, int(timeout))
                # Longer than the shortest time that MariaDB waits for a lock.
                connect["read_timeout"] = connect["write_timeout"] = max(3, int(timeout))
    connect = {name: value for name, value in connect.items() if name not in url.query}
    return {**options, **given, "connect_args": {**connect, **given.get("connect_args", {})}}


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
