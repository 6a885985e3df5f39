"""What a crawl does about errors, and the exception that drops an item.

An error while an item is checked never costs the item: it is stored unchecked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from scrapy_simhash.crawl.scrapy_internals import close_crawl
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch, SchemeMismatch
from scrapy_simhash.index.verdict import Match

logger = logging.getLogger(__name__)

#: Seconds until an unavailable index is logged again: on a disk that is nearly full one write may
#: succeed and the next one fail.
_QUIET = 60.0


class NearDuplicateItem(DropItem):
    """An item was dropped because an equivalent one is stored already.

    Attributes:
        match: the :class:`~scrapy_simhash.Match` that it is a near-duplicate of.
    """

    def __init__(self, message: str, match: Match, log_level: str = "DEBUG") -> None:
        super().__init__(message, log_level=log_level)
        self.match = match


@dataclass(eq=False)
class ErrorPolicy:
    """Counts every error, logs it once, and closes the crawl where that is configured.

    As a context manager it reports errors raised inside and suppresses them; it is entered
    concurrently. An index that holds something else always closes the crawl; with `closes`, one
    that is unavailable does.
    """

    crawler: Crawler
    count: Callable[[BaseException], None]
    closes: bool
    _is_unavailable: bool = False
    _quiet_until: float = 0.0
    _is_closing: bool = False
    _logged: set[type[Exception]] = field(default_factory=set)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        # Cancelled tasks, and whatever ends the process, are not errors.
        if not isinstance(error, Exception):
            return False
        self.report(error)
        return True

    def report(self, error: Exception) -> None:
        """Count an error, log it if it was not logged yet, and close the crawl if necessary."""
        is_mismatch = isinstance(error, (SchemeMismatch, SchemaMismatch))
        is_unavailable = isinstance(error, IndexUnavailable)
        self.count((is_unavailable and error.__cause__) or error)
        if not is_mismatch and not is_unavailable:
            # One line for each class.
            if type(error) not in self._logged:
                self._logged.add(type(error))
                logger.error(
                    "Duplicate check failed; item stored unchecked (further %s errors are not "
                    "logged): %s",
                    type(error).__name__,
                    error,
                    exc_info=error,
                )
            return
        closes = is_mismatch or self.closes
        if not self._is_unavailable and time.monotonic() >= self._quiet_until:
            self._is_unavailable = True
            self._quiet_until = time.monotonic() + _QUIET
            then = "closing the crawl" if closes else "storing items unchecked"
            logger.error("The index can't be used, %s: %s", then, error)
        if closes and not self._is_closing:
            self._is_closing = True
            reason = "simhash_index_mismatch" if is_mismatch else "simhash_index_unavailable"
            close_crawl(self.crawler, reason)

    def note_answer(self) -> None:
        """The index has answered."""
        if self._is_unavailable:
            self._is_unavailable = False
            logger.info("The index answers again")
