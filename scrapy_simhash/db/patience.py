"""How long a transaction is retried: while others get the lock that it waits for."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.errors import has_waited_for_several, is_busy, is_transient, was_cut

#: How many times per timeout a lock wait is interrupted, to see whether other transactions commit.
SLICES = 4

_counter = select(func.sum(schema.namespaces.c.counter))
# The only other contended lock is that of runs that open at the same time.
_opened = select(func.count()).where(schema.runs.c.visit > 0)


@dataclass(slots=True)
class Liveness:
    """Shows that a database works. One thread writes, any thread reads."""

    #: When it last answered, or another transaction was seen to commit: :func:`time.monotonic`.
    last: float = float("-inf")
    #: Seconds spent waiting for other writers.
    waited: float = 0.0

    def note(self) -> None:
        """The database works at this moment."""
        self.last = time.monotonic()


class Patience:
    """Decides how often one transaction is retried.

    It is given up after `timeout` seconds in which no transaction commits. The others are observed
    without a lock: by the counter of the namespace that this one waits for, or by the runs that
    open. SQLite has one lock for all of them.
    """

    def __init__(self, engine: Engine, timeout: float, liveness: Liveness) -> None:
        self._engine, self._timeout, self._liveness = engine, timeout, liveness
        self._since = self._works = time.monotonic()
        self._attempts = 0
        self._progress: object = None
        #: The namespace whose lock the present attempt takes, and whether it has it.
        self.namespace: int | None = None
        self.has_lock = False
        #: Attempts so far whose connection was lost after that.
        self.cuts = 0

    def begin(self) -> None:
        """A new attempt begins, without a lock."""
        self.namespace, self.has_lock = None, False

    def tries_again(self, error: SQLAlchemyError) -> bool:
        """Whether to try again after an error; if so, it pauses before it returns."""
        if not is_transient(error):
            return False
        self.cuts += self.has_lock and was_cut(error)
        if is_busy(error):
            self._liveness.waited += time.monotonic() - self._since
            if has_waited_for_several(error) or self._is_moving():
                self._liveness.note()
                self._works = self._liveness.last
        self._since = time.monotonic()
        self._attempts += 1
        pause = random.random() * min(0.25, 0.004 * 2 ** min(self._attempts, 6))
        if self._since + pause > self._works + self._timeout:
            return False
        time.sleep(pause)
        return True

    def note_lock(self) -> None:
        """The transaction has the lock and waits for nobody any more."""
        now = time.monotonic()
        self._liveness.waited += now - self._since
        self._liveness.note()
        self._since, self.has_lock = now, True

    def _is_moving(self) -> bool:
        """Whether other transactions have committed since the last look."""
        if self._engine.dialect.name == "sqlite":
            queries = [_opened, _counter]
        elif self.namespace is None:
            queries = [_opened]
        else:
            queries = [_counter.where(schema.namespaces.c.id == self.namespace)]
        before = self._progress
        with suppress(SQLAlchemyError), self._engine.connect() as connection:
            self._progress = [connection.scalar(query) for query in queries]
        return before not in (None, self._progress)
