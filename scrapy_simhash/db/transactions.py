"""A database that keeps its promises: engines, their settings, and transactions that are retried.

One rule makes concurrent writers safe on every engine, a Galera cluster included: READ COMMITTED,
and the first statement of a writing transaction updates the row of the namespace it writes to. Who
comes second waits there, or fails and is retried, before having read anything.
"""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url, clock, engine_options, missing_driver, split_hosts
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from sqlalchemy import Connection
    from sqlalchemy.engine import URL, Dialect
    from sqlalchemy.engine.interfaces import DBAPIConnection

    T = TypeVar("T")

__all__ = ["Database", "drop_tables"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 60
# A server that can't be written to: a node without its cluster, a replica. Another host may do.
_HELPLESS_STATES = frozenset({"25006"})
_HELPLESS_ERRNOS = frozenset({1047, 1290, 1836})
_TRANSIENT_STATES = _HELPLESS_STATES | {"40001", "40P01", "55P03", "57P01", "57P02", "57P03"}
# Deadlock, lock wait timeout, record changed, shutting down, table being made, and the
# connection's own.
_TRANSIENT_ERRNOS = _HELPLESS_ERRNOS | {1213, 1205, 1020, 1053, 1684, 2002, 2003, 2006, 2013, 2055}

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

_version = select(schema.meta.c.value).where(schema.meta.c.name == "version")


class Database:
    """An engine with its tables.

    Args:
        url: any SQLAlchemy URL. Tested: SQLite, PostgreSQL (psycopg), MariaDB (PyMySQL) alone and
            as a Galera cluster. The last two take several hosts, the next of which is asked when
            one does not answer: ``mariadb+pymysql://user@/database?host=a:3306&host=b:3306``.
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
        # PyMySQL knows one host alone; psycopg does by itself what is done for it here.
        single, self._hosts = split_hosts(self.url)
        each = timeout / max(1, len(self._hosts))
        try:
            self.engine = create_engine(
                single, **engine_options(single, timeout, each, options or {})
            )
        except ModuleNotFoundError as error:
            raise ValueError(missing_driver(self.url, error)) from error
        except (ArgumentError, TypeError) as error:
            # A TypeError is what it says of an option that there is not.
            raise ValueError(str(error)) from error
        if self._hosts:
            event.listen(self.engine, "do_connect", self._connect)
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

    def clock(self, connection: Connection) -> float:
        """The same, asked for anew: the clock of this machine may have been set."""
        now = clock(connection)
        self._offset = now - time.time()
        return now

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, again if another writer got in its way.

        It may be done twice, where the answer to a commit was lost: the second time must change
        nothing. What must not be done twice wants :meth:`transact_once`.

        Raises:
            IndexUnavailable: it did not get through within the timeout, or the database refused.
        """
        return self.transact_once(lambda connection, _retried: work(connection))

    def transact_once(self, work: Callable[[Connection, bool], T]) -> T:
        """Run `work`, which must not be done twice, in one transaction.

        `work` gets the connection and whether an earlier attempt may have been committed although
        its answer was lost: then it must look for its own rows first.

        Raises:
            IndexUnavailable: as :meth:`transact`.
        """
        deadline = time.monotonic() + self.timeout
        for attempt in range(_ATTEMPTS):
            try:
                with self.engine.begin() as connection:
                    try:
                        return work(connection, attempt > 0)
                    except DBAPIError as error:
                        if _is_helpless(error):
                            connection.invalidate()
                            self._hosts.rotate(-1)
                        raise
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
        return self.transact(work)

    def _prepare(self) -> None:
        def prepare(connection: Connection) -> None:
            found = None
            if inspect(connection).has_table(schema.meta.name):
                found = connection.scalar(_version)
            if found is None:
                # The version is written last: whoever finds it finds all tables.
                schema.metadata.create_all(connection)
                connection.execute(
                    insert(schema.meta).values(name="version", value=str(schema.VERSION))
                )
            elif int(found) < schema.VERSION:
                self._migrate(connection)
            elif int(found) > schema.VERSION:
                raise SchemaMismatch(
                    f"{self}: its tables have version {found}, this version of scrapy_simhash "
                    f"works with version {schema.VERSION}; upgrade scrapy_simhash or use another "
                    "database"
                )
            self.clock(connection)

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

    def _migrate(self, connection: Connection) -> None:
        """Bring older tables up to date, in the same transaction where the engine can do that."""
        if self.dialect == "sqlite":
            # Its driver begins no transaction for a change of a table.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        # First, so that a second process that wants to do the same waits here.
        in_force = schema.meta.c.name == "version"
        connection.execute(update(schema.meta).where(in_force).values(value=schema.meta.c.value))
        found = int(connection.scalar(_version) or 0)
        if any(version not in schema.MIGRATIONS for version in range(found, schema.VERSION)):
            raise SchemaMismatch(
                f"{self}: its tables have version {found}, this version of scrapy_simhash works "
                f"with version {schema.VERSION} and can't bring them up to date; begin anew with "
                "scrapy simhash reset --all, or use another database"
            )
        for version in range(found, schema.VERSION):
            logger.info("%s: upgrading the tables from version %d", self, version)
            schema.MIGRATIONS[version](connection)
            connection.execute(update(schema.meta).where(in_force).values(value=str(version + 1)))

    def _connect(
        self, dialect: Dialect, _record: object, arguments: list[Any], options: dict[str, Any]
    ) -> DBAPIConnection:
        """Connect to the first host that answers, from the one that did last."""
        for remaining in reversed(range(len(self._hosts))):
            host, port = self._hosts[0]
            try:
                return dialect.connect(*arguments, **{**options, "host": host, "port": port})
            except dialect.loaded_dbapi.Error:
                self._hosts.rotate(-1)
                if not remaining:
                    raise
        raise AssertionError("unreachable")

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
            "postgresql": (f"SET statement_timeout = {milliseconds}", "COMMIT"),
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
        said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
        reason = said.splitlines()[0]
        code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
        if advice := _SQLITE_ADVICE.get(code):
            reason = f"{reason}; {advice}"
        return IndexUnavailable(f"{self}: {reason}")


def drop_tables(url: str | URL, options: Mapping[str, Any] | None = None) -> None:
    """Drop all tables of this package, whatever version made them.

    Raises:
        IndexUnavailable: the database refused.
        ValueError: the URL can't be read, or its driver is not installed.
    """
    engine = create_engine(split_hosts(check_url(url))[0], **(options or {}))
    try:
        schema.metadata.drop_all(engine)
    except SQLAlchemyError as error:
        raise IndexUnavailable(f"{error}".splitlines()[0]) from error
    finally:
        engine.dispose()


def _is_helpless(error: DBAPIError) -> bool:
    first = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return getattr(error.orig, "sqlstate", None) in _HELPLESS_STATES or first in _HELPLESS_ERRNOS


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
        isinstance(error, DBAPIError)
        and any(word in str(error.orig).lower() for word in ("exist", "duplicate"))
    )
