"""A database that keeps its promises: engines, their settings, and transactions that are retried.

One rule makes concurrent writers safe on every engine, a Galera cluster included: READ COMMITTED,
and the first statement of a writing transaction updates the row of the namespace it writes to. Who
comes second waits there, or fails and is retried, before having read anything.
"""

from __future__ import annotations

import json
import logging
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Integer,
    StaticPool,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from scrapy_simhash import schema
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Column, Connection
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.sql import ColumnElement

    T = TypeVar("T")

__all__ = ["Database", "among", "check_url", "lock", "values"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 60
_TRANSIENT_STATES = frozenset({"40001", "40P01", "55P03", "57P01", "57P02", "57P03"})
# Deadlock, lock wait timeout, record changed, not prepared (Galera), and the connection's own.
_TRANSIENT_ERRNOS = frozenset({1213, 1205, 1020, 1047, 1053, 2002, 2003, 2006, 2013})
_SQLITE_BUSY, _SQLITE_LOCKED = 5, 6
_SQLITE_ADVICE = {
    8: "the file or its folder is read-only",
    10: "reading or writing the file failed",
    11: "the file is damaged: move it away (the crawl then starts a new index) or repair it with "
    "the sqlite3 command '.recover'; it was not touched",
    13: "the disk is full",
    14: "the file can't be opened: its folder must exist and be writable",
    26: "the file is not an SQLite database; it was not touched",
}


class Database:
    """An engine with its tables.

    Args:
        url: any SQLAlchemy URL. Tested: SQLite, PostgreSQL (psycopg), MariaDB (PyMySQL).
        options: passed to :func:`sqlalchemy.create_engine`.
        timeout: seconds after which a transaction that can't get through is given up.

    Raises:
        ValueError: the URL can't be read, or its driver is not installed.
        IndexUnavailable: no answer, or a file that can't be used.
        SchemaMismatch: the tables were made by a newer version.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.url = check_url(url)
        self.timeout = timeout
        try:
            self.engine = create_engine(self.url, **_options(self.url, timeout, options or {}))
        except ModuleNotFoundError as error:
            raise ValueError(_missing_driver(self.url, error)) from error
        event.listen(self.engine, "connect", self._on_connect)
        self.dialect = self.engine.dialect.name
        self._offset = 0.0
        try:
            self._prepare()
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def now(self) -> float:
        """Seconds since the epoch by the database's clock, which all its users share."""
        return time.time() + self._offset

    def transact(self, work: Callable[[Connection, bool], T]) -> T:
        """Run `work` in one transaction, again if another writer got in its way.

        `work` gets the connection and whether this is a retry: then an earlier attempt may have
        been committed although its answer was lost, so it must look for its own rows first.

        Raises:
            IndexUnavailable: it did not get through within the timeout, or the database refused.
        """
        deadline = time.monotonic() + self.timeout
        for attempt in range(_ATTEMPTS):
            try:
                with self.engine.begin() as connection:
                    return work(connection, attempt > 0)
            except SQLAlchemyError as error:
                pause = random.random() * min(0.25, 0.004 * 2**attempt)
                if (
                    not _is_transient(error)
                    or attempt == _ATTEMPTS - 1
                    or time.monotonic() + pause > deadline
                ):
                    raise self._unavailable(error) from error
                time.sleep(pause)
        raise AssertionError("unreachable")

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which only reads, without taking any lock.

        Raises:
            IndexUnavailable: as :meth:`transact`.
        """
        return self.transact(lambda connection, _retried: work(connection))

    def _prepare(self) -> None:
        def prepare(connection: Connection, _retried: bool) -> None:
            found = None
            if inspect(connection).has_table(schema.meta.name):
                found = connection.scalar(
                    select(schema.meta.c.value).where(schema.meta.c.name == "version")
                )
            if found is None:
                # The version is written last: whoever finds it finds all tables.
                schema.metadata.create_all(connection)
                found = str(schema.VERSION)
                connection.execute(insert(schema.meta).values(name="version", value=found))
            if int(found) != schema.VERSION:
                raise SchemaMismatch(
                    f"{self}: its tables have version {found}, this version of scrapy_simhash "
                    f"works with version {schema.VERSION}; upgrade scrapy_simhash or use another "
                    "database"
                )
            self._offset = _clock(connection) - time.time()

        # Two processes that start together both create the tables; one of them fails, and finds
        # them there the next time.
        for _ in range(20):
            try:
                self.transact(prepare)
            except IndexUnavailable as error:
                if not _is_creation_race(error.__cause__):
                    raise
                time.sleep(0.05 + random.random() * 0.1)
            else:
                return
        self.transact(prepare)

    def _on_connect(self, connection: DBAPIConnection, _record: object) -> None:
        milliseconds = int(self.timeout * 1000)
        statements = {
            "sqlite": (
                "PRAGMA journal_mode=WAL",
                "PRAGMA synchronous=NORMAL",
                "PRAGMA cache_size=-65536",
                "PRAGMA wal_autocheckpoint=16000",
                "PRAGMA temp_store=MEMORY",
            ),
            "postgresql": (f"SET statement_timeout = {milliseconds}",),
            "mysql": (f"SET SESSION innodb_lock_wait_timeout = {max(1, milliseconds // 1000)}",),
            "mariadb": (
                f"SET SESSION innodb_lock_wait_timeout = {max(1, milliseconds // 1000)}",
                # Long IN lists are joined as a table otherwise, which costs more than the probes.
                "SET SESSION in_predicate_conversion_threshold = 0",
            ),
        }.get(self.engine.dialect.name, ())
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()

    def _unavailable(self, error: SQLAlchemyError) -> IndexUnavailable:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
        if advice := _SQLITE_ADVICE.get(code):
            reason = f"{reason}; {advice}"
        return IndexUnavailable(f"{self}: {reason}")


def among(dialect: str, column: Column[int], name: str) -> ColumnElement[bool]:
    """The condition that `column` is among the integers bound as `name`, in the engine's best form.

    Each form binds one parameter whatever the number of values, so that a statement is prepared
    once. :func:`values` makes the parameter.
    """
    if dialect == "sqlite":
        listed = func.json_each(bindparam(name)).table_valued("value")
        return column.in_(select(listed.c.value))
    if dialect == "postgresql":
        kind = BigInteger() if isinstance(column.type, BigInteger) else Integer()
        return column == func.any(bindparam(name, type_=ARRAY(kind)))
    return column.in_(bindparam(name, expanding=True))


def values(dialect: str, numbers: Iterable[int]) -> str | list[int]:
    """The parameter for :func:`among`."""
    return json.dumps(list(numbers)) if dialect == "sqlite" else list(numbers)


class Held(NamedTuple):
    """The row of a namespace whose lock is held.

    Attributes:
        first: the first of the numbers of the new claims.
        text_bytes: how much text is kept.
        item_bytes: how much is kept of dropped items.
    """

    first: int
    text_bytes: int
    item_bytes: int


_row = schema.namespaces.c
_take = (
    update(schema.namespaces)
    .where(_row.id == bindparam("namespace"))
    .values(counter=_row.counter + bindparam("more"))
)
_held = select(_row.counter, _row.text_bytes, _row.item_bytes).where(
    _row.id == bindparam("namespace")
)


def lock(connection: Connection, namespace: int, new_claims: int = 0) -> Held:
    """Take the namespace's lock; with it come the numbers of `new_claims` new claims.

    Raises:
        IndexUnavailable: there is no such namespace any more.
    """
    # One more, so that the row changes in any case: some engines do not lock one that does not.
    connection.execute(_take, {"namespace": namespace, "more": new_claims + 1})
    row = connection.execute(_held, {"namespace": namespace}).one_or_none()
    if row is None:
        raise IndexUnavailable(f"namespace {namespace} is gone: it was reset by somebody else")
    return Held(row.counter - new_claims, row.text_bytes, row.item_bytes)


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
    except (SQLAlchemyError, ValueError) as error:
        raise ValueError(
            "not a database URL that SQLAlchemy can read; wanted is, for instance, "
            "sqlite:///seen.db or postgresql+psycopg://user:password@host/database"
        ) from error
    return parsed


def _missing_driver(url: URL, error: ModuleNotFoundError) -> str:
    extra = {"postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb"}.get(
        url.get_backend_name()
    )
    hint = f"; install it with: pip install 'scrapy-simhash[{extra}]'" if extra else ""
    return f"the driver for {url.drivername} is not installed ({error.name}){hint}"


def _options(url: URL, timeout: float, given: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    connect: dict[str, Any] = {}
    match url.get_backend_name():
        case "sqlite":
            connect["timeout"] = timeout
            if url.database in {None, "", ":memory:"}:
                options["poolclass"] = StaticPool
            elif (
                (path := url.database)
                and not path.startswith("file:")
                and not Path(path).parent.is_dir()
            ):
                raise IndexUnavailable(f"{url}: there is no folder {Path(path).parent}")
        case "postgresql":
            options["isolation_level"] = "READ COMMITTED"
            connect["connect_timeout"] = max(2, int(timeout))
        case "mysql" | "mariadb":
            options["isolation_level"] = "READ COMMITTED"
            if url.get_driver_name() == "pymysql":
                connect["connect_timeout"] = max(1, int(timeout))
                connect["read_timeout"] = connect["write_timeout"] = max(1, int(timeout))
    return {**options, **given, "connect_args": {**connect, **given.get("connect_args", {})}}


def _clock(connection: Connection) -> float:
    match connection.dialect.name:
        case "postgresql":
            return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))
        case "mysql" | "mariadb":
            return float(connection.scalar(text("SELECT unix_timestamp(now(6))")))
        case _:
            # SQLite has the clock of the machine; how to ask others is not known.
            return time.time()


def _is_transient(error: BaseException) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    original = error.orig
    if error.connection_invalidated:
        return True
    state = getattr(original, "sqlstate", None) or ""
    if state in _TRANSIENT_STATES or state.startswith("08"):
        return True
    code = getattr(original, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in (_SQLITE_BUSY, _SQLITE_LOCKED)
    first = original.args[0] if original is not None and original.args else None
    return first in _TRANSIENT_ERRNOS


def _is_creation_race(error: BaseException | None) -> bool:
    return isinstance(error, IntegrityError) or (
        isinstance(error, DBAPIError) and "exist" in str(error.orig).lower()
    )
