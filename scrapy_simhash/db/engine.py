"""Engines: what a database URL stands for, and the options of each kind of server."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import StaticPool, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

from scrapy_simhash.db.lock_wait import SLICES
from scrapy_simhash.db.passwords import shown_url
from scrapy_simhash.exceptions import IndexUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sqlalchemy import Connection
    from sqlalchemy.engine import URL

__all__ = ["check_url", "clock", "engine_options", "missing_driver", "split_hosts", "sqlite_file"]


def check_url(url: str | URL) -> URL:
    """Read a database URL.

    Raises:
        ValueError: it can't be read, or there is no such database or driver. Does not repeat the
            URL, which may hold a password.
    """
    try:
        parsed = make_url(url)
        parsed.get_dialect()
    except NoSuchModuleError as error:
        raise ValueError(f"no database driver of that name: {error}") from error
    except (SQLAlchemyError, ValueError):
        raise ValueError(
            "not a database URL that SQLAlchemy can read; wanted is, for instance, "
            "sqlite:///seen.db or postgresql+psycopg://user:password@host/database"
        ) from None
    return parsed


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite database; None for one in memory, or named by a URI of SQLite's."""
    path = url.database or ":memory:"
    if url.get_backend_name() != "sqlite" or path == ":memory:" or path.startswith("file:"):
        return None
    return Path(path)


def missing_driver(url: URL, error: ModuleNotFoundError) -> str:
    """What to say where the driver of a URL is not installed."""
    extra = {"postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb"}.get(
        url.get_backend_name()
    )
    hint = f"; install it with: pip install 'scrapy-simhash[{extra}]'" if extra else ""
    return f"the driver for {url.drivername} is not installed ({error.name}){hint}"


def split_hosts(url: URL) -> tuple[URL, deque[tuple[str, int]]]:
    """The URL without the several hosts in its query, and these, for drivers that know but one."""
    given = url.query.get("host", ())
    if url.get_driver_name() != "pymysql" or not given:
        return url, deque()
    names = [given] if isinstance(given, str) else given
    hosts = deque[tuple[str, int]]()
    for name in ",".join(names).split(","):
        host, _, port = name.strip().rpartition(":") if ":" in name else (name.strip(), "", "3306")
        if not host or not port.isdecimal():
            raise ValueError(f"host {name!r}: a host is wanted, or host:port")
        hosts.append((host, int(port)))
    return url.difference_update_query(["host"]), hosts


def engine_options(
    url: URL, timeout: float, timeout_of_host: float, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Options for :func:`sqlalchemy.create_engine`, with those given on top."""
    # An error that is logged must not show the secret, or what a text says.
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
                connect["connect_timeout"] = max(1, int(timeout_of_host))
                # Longer than the least that MariaDB waits for a lock.
                connect["read_timeout"] = connect["write_timeout"] = max(3, int(timeout))
    connect = {name: value for name, value in connect.items() if name not in url.query}
    return {**options, **given, "connect_args": {**connect, **given.get("connect_args", {})}}


def _libpq(timeout: float) -> dict[str, Any]:
    """What notices a host that has vanished; by itself the system does so after a quarter hour."""
    seconds = max(2, int(timeout))
    return {
        "connect_timeout": seconds,
        "keepalives": 1,
        "keepalives_idle": seconds,
        "keepalives_interval": max(1, seconds // 3),
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * seconds,
    }


def clock(connection: Connection) -> float:
    """Seconds since the epoch by the server's clock."""
    match connection.dialect.name:
        case "postgresql":
            return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))
        case "mysql" | "mariadb":
            return float(connection.scalar(text("SELECT unix_timestamp(now(6))")))
        case _:
            # SQLite has the clock of the machine; how to ask others is not known.
            return time.time()
