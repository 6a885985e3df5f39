"""A database that keeps its promises: engines, their settings, and transactions that are retried.

One rule makes concurrent writers safe on every engine, a Galera cluster included: READ COMMITTED,
and the first statement of a writing transaction locks the row of the namespace it writes to, on
PostgreSQL as it is, elsewhere by an update. Who comes second waits there, or fails and is retried,
before having read anything.
"""

from __future__ import annotations

import logging
import random
import time
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import (
    check_url,
    clock,
    engine_options,
    missing_driver,
    split_hosts,
    sqlite_file,
)
from scrapy_simhash.db.errors import is_creation_race, is_helpless, note_end, unavailable
from scrapy_simhash.db.lock import ON_LOCK
from scrapy_simhash.db.lock_wait import SLICES, Liveness, LockWait
from scrapy_simhash.db.passwords import Passwords, shown_url
from scrapy_simhash.db.pipeline import pipelined
from scrapy_simhash.db.secret import read_secret, secret_of
from scrapy_simhash.durable import make_private
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    IndexUnusable,
    SchemaMismatch,
    SchemeMismatch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeVar

    from sqlalchemy import Connection
    from sqlalchemy.engine import URL, Dialect
    from sqlalchemy.engine.interfaces import DBAPIConnection

    T = TypeVar("T")

__all__ = ["Database", "drop_tables"]

logger = logging.getLogger(__name__)

_version = select(schema.meta.c.value).where(schema.meta.c.name == "version")


class Database:
    """An engine with its tables.

    Args:
        url: any SQLAlchemy URL. Tested: SQLite, PostgreSQL (psycopg), MariaDB (PyMySQL) alone and
            as a Galera cluster. The last two take several hosts, the next of which is asked when
            one does not answer: ``mariadb+pymysql://user@/database?host=a:3306&host=b:3306``.
        options: passed to :func:`sqlalchemy.create_engine`.
        timeout: seconds without anybody getting through, after which a transaction is given up.
        signs: where it is noted that the database works, and how long others were waited for.
        secret: what it must have been made with, or is to be made with, see :func:`secret_of`;
            without one it keeps that which it has, or draws one.
        makes_tables: in one that has none of ours. Without that somebody else's is left as it is.

    Attributes:
        secret: 16 bytes that what is hashed for it is hashed with. Who knows them can make texts
            whose fingerprint is near that of another text.

    Raises:
        ValueError: the URL can't be read, its driver is not installed, or the secret is too short.
        IndexUnavailable: no answer.
        IndexUnusable: a login or a file that can't be used.
        SchemaMismatch: the tables were made by a newer version.
        SchemeMismatch: it was made with another secret.
    """

    secret: bytes

    def __init__(
        self,
        url: str | URL,
        *,
        options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        signs: Liveness | None = None,
        secret: str | None = None,
        makes_tables: bool = True,
    ) -> None:
        self.url = check_url(url)
        asked = None if secret is None else secret_of(secret)
        self._makes_tables = makes_tables
        self._passwords = Passwords(self.url, options or {})
        self.timeout = timeout
        self.signs = signs or Liveness()
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
            raise ValueError(self._passwords.hide(str(error))) from self._passwords.cause(error)
        if (path := sqlite_file(self.url)) is not None:
            # What SQLite puts beside it has the same mode.
            make_private(path)
        if self._hosts:
            event.listen(self.engine, "do_connect", self._connect)
        event.listen(self.engine, "connect", self._on_connect)
        event.listen(self.engine, "handle_error", note_end)
        self.dialect = self.engine.dialect.name
        self._offset = 0.0
        self._is_durable = False
        try:
            self._prepare(asked)
            self.check_secret(asked)
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return shown_url(self.url)

    def check_secret(self, asked: bytes | None) -> None:
        """Refuse a secret that is not that of this database; None is any.

        Raises:
            SchemeMismatch: it is not.
        """
        if asked not in {None, self.secret}:
            raise SchemeMismatch(
                f"{self} was made with another secret than the one given (SIMHASH_SECRET): its "
                "fingerprints can't be compared. Leave SIMHASH_SECRET empty to use the secret of "
                "the database, or use another database"
            )

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

    @contextmanager
    def durable(self) -> Iterator[None]:
        """Inside, what is committed is on the disk, and all that was committed before it.

        Only SQLite is told: outside it may forget the last transactions when the power is cut. A
        server waits for its disk by itself, unless somebody has told it not to.
        """
        before, self._is_durable = self._is_durable, True
        try:
            yield
        finally:
            self._is_durable = before

    def transact(self, work: Callable[[Connection], T], namespace: int | None = None) -> T:
        """Run `work` in one transaction, again if another writer got in its way.

        With the number of the namespace that it locks it waits for others there as long as they
        get through, one after the other, and the timeout is for the time in which nobody does. On
        SQLite, whose one lock is for all, it does so in any case.

        It may be done twice, where the answer to a commit was lost: the second time must change
        nothing. What must not be done twice wants :meth:`transact_once`.

        Raises:
            IndexUnavailable: it did not get through within the timeout, or the database refused.
            IndexUnusable: it refused what it will always refuse.
        """
        return self.transact_once(lambda connection, _retried: work(connection), namespace)

    def transact_once(
        self,
        work: Callable[[Connection, bool], T],
        namespace: int | None = None,
        *,
        in_pipeline: bool = False,
    ) -> T:
        """Run `work`, which must not be done twice, in one transaction.

        `work` gets the connection and whether an earlier attempt may have been committed although
        its answer was lost: then it must look for its own rows first. `namespace` is as for
        :meth:`transact`. If it is done :func:`in a pipeline <pipelined>`, all that it executes is a
        :class:`CompiledStatement`.

        Raises:
            IndexUnavailable, IndexUnusable: as :meth:`transact`.
        """
        with LockWait(self.engine, self.timeout, self.signs, namespace) as patience:
            for attempt in count():
                try:
                    with (
                        self.engine.connect() as connection,
                        pipelined(connection) if in_pipeline else nullcontext(),
                        connection.begin(),
                    ):
                        self._set_durability(connection)
                        connection.info[ON_LOCK] = patience.note_lock
                        done = self._attempt(connection, work, retried=attempt > 0)
                except SQLAlchemyError as error:
                    if not patience.tries_again(error):
                        said = unavailable(str(self), error, self._passwords)
                        raise said from self._passwords.cause(error)
                else:
                    self.signs.note()
                    return done
        raise AssertionError("unreachable")

    def _attempt(
        self, connection: Connection, work: Callable[[Connection, bool], T], *, retried: bool
    ) -> T:
        try:
            return work(connection, retried)
        except DBAPIError as error:
            if is_helpless(error):
                connection.invalidate()
                self._hosts.rotate(-1)
            raise

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which only reads, without taking any lock.

        Raises:
            IndexUnavailable: as :meth:`transact`.
        """
        return self.transact(work)

    def _set_durability(self, connection: Connection) -> None:
        """Before the first statement: within a transaction SQLite does not change it."""
        info = connection.info
        if self.dialect == "sqlite" and info.get("durable", False) != self._is_durable:
            how = "FULL" if self._is_durable else "NORMAL"
            connection.exec_driver_sql(f"PRAGMA synchronous = {how}")
            info["durable"] = self._is_durable

    def _prepare(self, secret: bytes | None) -> None:
        def prepare(connection: Connection) -> None:
            found = None
            if inspect(connection).has_table(schema.meta.name):
                found = connection.scalar(_version)
            if found is None:
                self._make(connection)
            elif self._is_older(found):
                self._migrate(connection)
            self.secret = read_secret(connection, secret)
            self.clock(connection)

        # Two processes that start together both create the tables, and draw a secret; one of them
        # fails, and finds those of the other the next time.
        for _ in range(20):
            try:
                self.transact(prepare)
            except IndexUnavailable as error:
                if isinstance(error, IndexUnusable) or not is_creation_race(error.__cause__):
                    raise
                time.sleep(0.05 + random.random() * 0.1)
            else:
                return
        self.transact(prepare)

    def _make(self, connection: Connection) -> None:
        if not self._makes_tables:
            raise IndexUnusable(f"{self}: no index, nothing was crawled into it yet")
        # The version is written last: whoever finds it finds all tables.
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.meta).values(name="version", value=str(schema.VERSION)))

    def _is_older(self, found: object) -> bool:
        """Whether the tables are of an earlier version, by what they say of themselves."""
        if str(found).isdecimal() and len(str(found)) < 10 and int(str(found)) <= schema.VERSION:
            return int(str(found)) < schema.VERSION
        raise SchemaMismatch(
            f"{self}: its tables have version {str(found)[:40]}, this version of scrapy_simhash "
            f"works with version {schema.VERSION}; upgrade scrapy_simhash or use another database"
        )

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
        for_lock = milliseconds // SLICES
        lock_wait = f"SET SESSION innodb_lock_wait_timeout = {max(1, for_lock // 1000)}"
        # Otherwise the hour in which summer time ends comes twice, and times can't be told apart.
        utc = "SET time_zone = '+00:00'"
        statements = {
            "sqlite": (
                # It stays in the file, and is in those that we have made.
                *(["PRAGMA journal_mode=WAL"] if self._makes_tables else []),
                "PRAGMA synchronous=NORMAL",
                "PRAGMA cache_size=-4096",
                "PRAGMA wal_autocheckpoint=16000",
                "PRAGMA temp_store=MEMORY",
            ),
            "postgresql": (
                f"SET statement_timeout = {milliseconds}",
                f"SET lock_timeout = {max(1, for_lock)}",
                "COMMIT",
            ),
            "mysql": (lock_wait, utc),
            "mariadb": (
                lock_wait,
                utc,
                # Long IN lists are joined as a table otherwise, which costs more than the probes.
                "SET SESSION in_predicate_conversion_threshold = 0",
            ),
        }.get(self.engine.dialect.name, ())
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()


def drop_tables(url: str | URL, options: Mapping[str, Any] | None = None) -> None:
    """Drop all tables of this package, whatever version made them.

    Raises:
        IndexUnavailable: the database refused.
        ValueError: the URL can't be read, or its driver is not installed.
    """
    checked = check_url(url)
    passwords = Passwords(checked, options or {})
    engine = create_engine(split_hosts(checked)[0], **(options or {}))
    try:
        schema.metadata.drop_all(engine)
    except SQLAlchemyError as error:
        raise unavailable(shown_url(checked), error, passwords) from passwords.cause(error)
    finally:
        engine.dispose()
