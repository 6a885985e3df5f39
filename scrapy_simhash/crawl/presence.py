"""Whether the database answers, as far as is known: while it does not, nobody waits for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable

if TYPE_CHECKING:
    from scrapy_simhash.db.lock_wait import Liveness

__all__ = ["Presence"]

#: Seconds between two looks whether the database is back; and where waiting changes nothing, but
#: somebody may: a server takes many wrong passwords for an attack.
_PROBE, _PROBE_UNUSABLE = 0.5, 30.0


class Presence:
    """What the worker's thread has found out, and whoever waits for it.

    There are two ways to be away. The database has said so, or a driver has: then the thread asks
    again and again. Or nobody says anything, and the thread hangs in a driver: then it is back
    when the thread is.

    Args:
        signs: that the database works.

    Attributes:
        error: what was said, if it was not found otherwise since.
    """

    def __init__(self, signs: Liveness) -> None:
        self._signs = signs
        self.error: IndexUnavailable | None = None
        self._away_since = 0.0
        self._next_probe = 0.0
        #: How often the thread has come back from the database, and at which of these times
        #: somebody gave it up.
        self._returns = 0
        self._given_up: int | None = None

    # For whoever waits

    @property
    def refusal(self) -> IndexUnavailable | None:
        """Why there is no use in asking now, if there is none."""
        if self._given_up == self._returns:
            return IndexUnavailable("it has not answered an earlier question yet")
        error = self.error
        # Others that get through show that it is busy rather than away.
        if error is None or self._signs.last > self._away_since:
            return None
        # A new one: each time that an error is raised it grows.
        again = type(error)(*error.args)
        again.__cause__ = error.__cause__
        return again

    @property
    def returns(self) -> int:
        """To be read before it is seen that there is no answer, for :meth:`give_up`."""
        return self._returns

    def give_up(self, returns: int) -> None:
        """No answer in time: as long as the thread has not returned since, it hangs."""
        self._given_up = returns

    # In the thread

    def note_return(self) -> None:
        """The thread is back, with whatever answer."""
        self._returns += 1

    @property
    def is_away(self) -> bool:
        """Whether the thread knows of nothing better to do than to ask again."""
        return self.error is not None

    @property
    def idle(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._next_probe - time.monotonic())

    def note_away(self, error: IndexUnavailable) -> None:
        """It does not answer, or refuses everything."""
        now = time.monotonic()
        if self.error is None:
            self._away_since = now
        self._next_probe = now + (_PROBE_UNUSABLE if isinstance(error, IndexUnusable) else _PROBE)
        self.error = error

    def note_answer(self) -> None:
        """It works again."""
        self.forget()
        self._signs.note()

    def forget(self) -> None:
        """Ask it as if nothing had been said."""
        self.error = None
