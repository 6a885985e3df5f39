"""A database whose transactions are retried.

One rule makes concurrent writers safe on every engine: isolation level READ COMMITTED, and each
writing transaction locks the row of its namespace before it reads, or checks, what it decides by.
The second writer waits there, or fails and is retried.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, create_engine, func, insert, inspect, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import (
    CLOCKS,
    check_url,
    engine_options,
    file_id,
    is_busy,
    is_transient,
    missing_driver,
    set_up,
    shown_url,
    sqlite_file,
    unavailable,
)
from scrapy_simhash.db.lock import LIVENESS, Liveness
from scrapy_simhash.db.values import SECRET_BYTES, secret_of
from scrapy_simhash.durable import make_private
from scrapy_simhash.exceptions import FingerprintMismatch, IndexUnusable, TableVersionMismatch
from scrapy_simhash.visible import without_passwords

if TYPE_CHECKING:
    T = TypeVar("T")

# How many times the timeout a transaction is tried again while other writers get through.
_BUSY_TIMEOUTS = 10
# Other writers change these: they lock a namespace, or open a run.
_progress = select(
    select(func.sum(schema.namespaces.c.counter)).scalar_subquery(),
    select(func.max(schema.runs.c.id)).scalar_subquery(),
)

_version, _secret = (
    select(schema.meta.c.value).where(schema.meta.c.name == name) for name in ("version", "secret")
)


class Database:
    """An engine with its tables, which are created if there are none.

    Args:
        url: an SQLAlchemy URL. Tested: SQLite, PostgreSQL (psycopg), MariaDB (PyMySQL).
        options: passed to :func:`sqlalchemy.create_engine`.
        timeout: seconds without any commit after which a waiting transaction is given up; ten times
            as long if there are commits of others.
        liveness: updated whenever the database answers or another transaction commits.
        secret: which an existing database must have been made with, and a new one gets; by default
            it keeps its own, or draws one. See :func:`secret_of`; or the bytes of an opened one.
        makes_tables: whether to create tables in a database that has none of ours; otherwise
            opening it fails.

    Raises:
        ValueError: the URL can't be read, its driver is not installed, or the secret is too short.
        IndexUnavailable: no answer.
        IndexUnusable: the login, or the file, can't be used.
        TableVersionMismatch: the tables were made by another version.
        FingerprintMismatch: it was made with another secret.
    """

    #: The 16 bytes that all hashes stored in it depend on: who has them can forge fingerprints.
    secret: bytes

    def __init__(
        self,
        url: str | URL,
        *,
        options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        liveness: Liveness | None = None,
        secret: str | bytes | None = None,
        makes_tables: bool = True,
    ) -> None:
        self.url = check_url(url)
        wanted = secret_of(secret) if isinstance(secret, str) else secret
        self._makes_tables = makes_tables
        self.timeout = timeout
        self.liveness = liveness or Liveness()
        try:
            self.engine = create_engine(
                self.url, **engine_options(self.url, timeout, options or {})
            )
        except ModuleNotFoundError as error:
            raise ValueError(missing_driver(self.url, error)) from error
        except (ArgumentError, TypeError) as error:
            # SQLAlchemy raises TypeError for an unknown option.
            raise ValueError(without_passwords(str(error))) from error
        path = sqlite_file(self.url)
        self._file = path.absolute() if path is not None else None
        if path is not None:
            # SQLite gives the files it adds beside it the same mode.
            make_private(path)
        set_up(self.engine, str(self), timeout, makes_tables=makes_tables)
        self.dialect = self.engine.dialect.name
        self._offset = 0.0
        try:
            self.transact(partial(self._prepare, wanted))
            self.check_secret(wanted)
            self._file_id = file_id(self._file)
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return shown_url(self.url)

    def check_secret(self, wanted: bytes | None) -> None:
        """Check that this database was made with a secret; None accepts any."""
        if wanted not in {None, self.secret}:
            raise FingerprintMismatch(
                f"{self} was made with another secret than the given one (SIMHASH_SECRET): its "
                "fingerprints can't be compared. Use the secret it was made with, or none, or "
                "another database"
            )

    def is_gone(self) -> bool:
        """Whether the file was deleted, moved or replaced since it was opened; SQLite only."""
        return self._file_id is not None and file_id(self._file) not in {None, self._file_id}

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def now(self) -> float:
        """Seconds since the epoch by the database's clock, which all its users share."""
        return time.time() + self._offset

    def clock(self, connection: Connection) -> float:
        """Like :meth:`now`, but asks the server again: this machine's clock may have been set."""
        asked = CLOCKS.get(self.dialect)
        now = time.time() if asked is None else float(connection.scalar(text(asked)))
        self._offset = now - time.time()
        return now

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which only reads, without taking a lock; raises as :meth:`transact`."""
        return self.transact(work)

    def transact(self, work: Callable[[Connection], T], *, durable: bool = False) -> T:
        """Run `work` in a transaction, again if another writer gets in the way.

        A `durable` one is on disk when this returns, with all before it: SQLite may otherwise lose
        the last transactions in a power cut. Servers wait for their disk unless configured
        otherwise.

        It may run twice if the answer to a commit was lost: the second time must change nothing, or
        :meth:`Run.transact` is needed.

        Raises:
            IndexUnavailable: it did not get through in time, or the database refused.
            IndexUnusable: the database will always refuse.
        """
        started = answered = time.monotonic()
        attempts, seen = 0, None
        while True:
            attempts += 1
            try:
                with self.engine.connect() as connection, connection.begin():
                    self._set_durability(connection, durable)
                    connection.info[LIVENESS] = self.liveness
                    done = work(connection)
            except SQLAlchemyError as error:
                if is_busy(error):
                    before, seen = seen, self._look_at_others()
                    if None not in (before, seen) and before != seen:
                        self.liveness.note()
                        answered = self.liveness.last
                ends = min(answered + self.timeout, started + _BUSY_TIMEOUTS * self.timeout)
                pause = random.random() * min(0.25, 0.004 * 2 ** min(attempts, 6))
                if not is_transient(error) or time.monotonic() + pause > ends:
                    raise unavailable(str(self), error) from error
                time.sleep(pause)
            else:
                self.liveness.note()
                return done

    def _look_at_others(self) -> object:
        """What other writers change when they commit; None if that can't be read."""
        with suppress(SQLAlchemyError), self.engine.connect() as connection:
            return connection.execute(_progress).one()
        return None

    def _set_durability(self, connection: Connection, is_durable: bool) -> None:
        """Must come before the first statement: SQLite can't change it within a transaction."""
        info = connection.info
        if self.dialect == "sqlite" and info.get("durable", False) != is_durable:
            connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            info["durable"] = is_durable

    def _prepare(self, secret: bytes | None, connection: Connection) -> None:
        """Check the tables or create them, and read the secret and the clock.

        Two processes that start together both create the tables and draw a secret. One of them
        fails, and finds those of the other on its next attempt.
        """
        version = None
        if inspect(connection).has_table(schema.meta.name):
            version = connection.scalar(_version)
        if version is None:
            self._make_tables(connection)
        elif version != str(schema.VERSION):
            raise TableVersionMismatch(_other_version(str(self), str(version)))
        self.secret = read_secret(connection, secret)
        self.clock(connection)

    def _make_tables(self, connection: Connection) -> None:
        if not self._makes_tables:
            raise IndexUnusable(f"{self}: no index, nothing was crawled into it yet")
        # The version is written last: if it exists, all tables exist.
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.meta).values(name="version", value=str(schema.VERSION)))


def read_secret(connection: Connection, given: bytes | None = None) -> bytes:
    """The secret of a database; a database without one gets the given or a random one.

    If another process stores one at the same moment, the next attempt finds it.
    """
    if (found := connection.scalar(_secret)) is not None:
        return bytes.fromhex(found)
    made = token_bytes(SECRET_BYTES) if given is None else given
    connection.execute(insert(schema.meta).values(name="secret", value=made.hex()))
    return made


def _other_version(name: str, version: str) -> str:
    is_older = version.isdecimal() and len(version) < 10 and int(version) < schema.VERSION
    advice = (
        "start over with `scrapy simhash reset --all`" if is_older else "upgrade scrapy_simhash"
    )
    return (
        f"{name}: its tables have version {version[:40]}, this version of scrapy_simhash works "
        f"with version {schema.VERSION}; {advice}, or use another database"
    )


def drop_tables(url: str | URL, options: Mapping[str, Any] | None = None) -> None:
    """Drop all tables of this package, whichever version made them; raises as `Database`."""
    checked = check_url(url)
    engine = create_engine(checked, **(options or {}))
    try:
        schema.metadata.drop_all(engine)
    except SQLAlchemyError as error:
        raise unavailable(shown_url(checked), error) from error
    finally:
        engine.dispose()
