"""How long a transaction waits for a lock: while others get through, not if nobody does.

A lock that many processes want is normal: each gets it in turn. So the timeout limits the time in
which nobody gets through, which is observed without taking a lock.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.errors import has_waited_for_several, is_busy, is_transient, was_cut

#: A wait for a lock is interrupted this many times per timeout, to see whether others get through.
SLICES = 4


@dataclass(slots=True)
class Liveness:
    """Shows that a database works. One thread writes, any thread reads."""

    #: When it last answered, or others were seen to get through, by :func:`time.monotonic`.
    last: float = float("-inf")
    #: Seconds spent waiting for other writers.
    waited: float = 0.0

    def note(self) -> None:
        """The database works at this moment."""
        self.last = time.monotonic()


class LockWait:
    """Decides how often one transaction is tried. Use it as a context manager.

    It gives up after `timeout` seconds in which nobody got through. On a server, that is observed
    for one namespace, by its counter, which may have been read before, or for runs that open;
    SQLite has one lock for all.
    """

    def __init__(
        self,
        engine: Engine,
        timeout: float,
        liveness: Liveness,
        namespace: int | None = None,
        counter: int | None = None,
    ) -> None:
        self._engine = engine
        self._timeout = timeout
        self._liveness = liveness
        self._namespace = namespace
        self._since = time.monotonic()
        self._deadline = self._since + timeout
        self._attempts = 0
        #: Whether the present attempt has taken the lock.
        self.has_lock = False
        #: Attempts so far whose connection was lost after that.
        self.cuts = 0
        self._seen = None if engine.dialect.name == "sqlite" else counter
        self._watch: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.close()

    def tries_again(self, error: SQLAlchemyError) -> bool:
        """Whether to try again after an error; if so, it pauses before it returns."""
        if not is_transient(error):
            return False
        now = time.monotonic()
        self.cuts += self.has_lock and was_cut(error)
        if is_busy(error):
            self._liveness.waited += now - self._since
            if isinstance(error, DBAPIError) and has_waited_for_several(error):
                self._extend()
            else:
                self._look()
        self._since = now
        self._attempts += 1
        pause = random.random() * min(0.25, 0.004 * 2 ** min(self._attempts, 6))
        if time.monotonic() + pause > self._deadline:
            return False
        time.sleep(pause)
        return True

    def note_lock(self) -> None:
        """The transaction has the lock and waits for nobody any more."""
        now = time.monotonic()
        self._liveness.waited += now - self._since
        self._since = now
        self._liveness.note()
        self.has_lock = True

    def _look(self) -> None:
        """Extend the wait if others got through since the last look."""
        try:
            progress = self._progress()
        except SQLAlchemyError:
            return
        if progress is not None and self._seen is None:
            # The first look only gives a base to compare with: allow for a second one.
            self._deadline = max(self._deadline, time.monotonic() + self._timeout / SLICES)
        elif progress != self._seen:
            self._extend()
        self._seen = progress

    def _extend(self) -> None:
        self._deadline = time.monotonic() + self._timeout
        self._liveness.note()

    def _progress(self) -> int | None:
        """A number that changes whenever another transaction gets through."""
        if self._engine.dialect.name == "sqlite":
            # Changes with each commit of another connection, as seen by one and the same.
            if self._watch is None:
                self._watch = self._engine.connect()
            return self._watch.exec_driver_sql("PRAGMA data_version").scalar()
        if self._namespace is None:
            # The lock that many wait for is that of runs which open at the same moment.
            counter = select(func.count()).where(schema.runs.c.epoch > 0)
        else:
            row = schema.namespaces.c
            counter = select(row.counter).where(row.id == self._namespace)
        with self._engine.connect() as connection:
            return connection.scalar(counter)
