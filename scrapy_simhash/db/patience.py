"""How long a transaction is tried: a lock that many want is waited for, longer than an outage."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from scrapy_simhash.db.errors import is_busy, is_transient, was_cut

#: A wait for a lock is interrupted this many times per timeout, to show that it goes on.
SLICES = 4

#: How many timeouts a transaction waits while others are in its way.
_BUSY_TIMEOUTS = 10


@dataclass(slots=True)
class Liveness:
    """Shows that a database works. One thread writes, any thread reads."""

    #: When it last answered, or said that it is busy, by :func:`time.monotonic`.
    last: float = float("-inf")
    #: Seconds spent waiting for other writers.
    waited: float = 0.0

    def note(self) -> None:
        """The database works at this moment."""
        self.last = time.monotonic()


class Patience:
    """Decides how often one transaction is tried.

    Each time in which nothing but errors comes lasts one `timeout` at most. A database that is busy
    with other writers works, but even that is waited for ten timeouts at most.
    """

    def __init__(self, timeout: float, liveness: Liveness) -> None:
        self._timeout, self._liveness = timeout, liveness
        self._since = self._works = time.monotonic()
        self._end = self._since + _BUSY_TIMEOUTS * timeout
        self._attempts = 0
        #: Whether the present attempt has taken the lock.
        self.has_lock = False
        #: Attempts so far whose connection was lost after that.
        self.cuts = 0

    def tries_again(self, error: SQLAlchemyError) -> bool:
        """Whether to try again after an error; if so, it pauses before it returns."""
        if not is_transient(error):
            return False
        self.cuts += self.has_lock and was_cut(error)
        if is_busy(error):
            self._works = self._note()
        self._since = time.monotonic()
        self._attempts += 1
        pause = random.random() * min(0.25, 0.004 * 2 ** min(self._attempts, 6))
        if self._since + pause > min(self._works + self._timeout, self._end):
            return False
        time.sleep(pause)
        return True

    def note_lock(self) -> None:
        """The transaction has the lock and waits for nobody any more."""
        self._since = self._note()
        self.has_lock = True

    def _note(self) -> float:
        """Note that the database works, and how long others were in the way; returns the time."""
        now = time.monotonic()
        self._liveness.waited += now - self._since
        self._liveness.note()
        return now
