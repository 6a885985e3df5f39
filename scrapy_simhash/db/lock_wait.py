"""How long a transaction waits: for others as long as they get on, for what is stuck not so long.

A lock that many want is no trouble: each gets it in turn. So what is bounded is the time in which
nobody gets through. Whether somebody does is read without a lock.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.errors import has_waited_for_several, is_busy, is_transient
from scrapy_simhash.db.lock import current_usage

if TYPE_CHECKING:
    from typing import Self

    from sqlalchemy import Connection, Engine

__all__ = ["SLICES", "Liveness", "LockWait"]

#: A wait for a lock is cut into so many within the timeout, to look in between whether others move.
SLICES = 4


@dataclass(slots=True)
class Liveness:
    """What shows that a database works. One thread writes, any reads.

    Attributes:
        last: when it did last what it was asked for, or others were seen to get through, by
            :func:`time.monotonic`.
        waited: seconds that were spent waiting for others.
    """

    last: float = float("-inf")
    waited: float = 0.0

    def note(self) -> None:
        """It works at this moment."""
        self.last = time.monotonic()


class LockWait:
    """The patience with which one transaction is tried. Use it as a context manager.

    Args:
        engine: whose database is waited for.
        timeout: seconds without anybody getting through, after which it is at its end.
        signs: where it is noted how it goes.
        namespace: whose lock is waited for. SQLite has one lock for all; of another server's locks
            without a namespace nobody knows whether they move.
    """

    def __init__(
        self, engine: Engine, timeout: float, signs: Liveness, namespace: int | None = None
    ) -> None:
        self._engine = engine
        self._timeout = timeout
        self._signs = signs
        self._namespace = namespace
        self._since = time.monotonic()
        self._deadline = self._since + timeout
        self._attempts = 0
        self._seen: int | None = None
        self._watch: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.close()

    def tries_again(self, error: SQLAlchemyError) -> bool:
        """Whether it is worth another try after an error; pauses before that."""
        if not is_transient(error):
            return False
        now = time.monotonic()
        if is_busy(error):
            self._signs.waited += now - self._since
            if isinstance(error, DBAPIError) and has_waited_for_several(error):
                self._note_others()
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
        """It has got the lock: it waits for nobody any more."""
        now = time.monotonic()
        self._signs.waited += now - self._since
        self._since = now
        self._signs.note()

    def _look(self) -> None:
        """Wait longer if others got through since the last look."""
        try:
            found = self._progress()
        except SQLAlchemyError:
            return
        if found is not None and self._seen is None:
            # There has to be another look, however late the first one is.
            self._deadline = max(self._deadline, time.monotonic() + self._timeout / SLICES)
        elif found != self._seen:
            self._note_others()
        self._seen = found

    def _note_others(self) -> None:
        self._deadline = time.monotonic() + self._timeout
        self._signs.note()

    def _progress(self) -> int | None:
        """A number that changes whenever somebody gets through."""
        if self._engine.dialect.name == "sqlite":
            # Changes with each commit of another connection, as one and the same sees it.
            if self._watch is None:
                self._watch = self._engine.connect()
            return self._watch.exec_driver_sql("PRAGMA data_version").scalar()
        if self._namespace is None:
            return None
        counter = select(current_usage("counter")).where(schema.namespaces.c.id == self._namespace)
        with self._engine.connect() as connection:
            return connection.scalar(counter)
