"""What goes wrong: said once, counted always, and the crawl closed where that is asked for."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.contained import Contained
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch, SchemeMismatch

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.stats import CrawlStats

__all__ = ["Trouble"]

logger = logging.getLogger(__name__)

#: Seconds in which it is not said again that the index can't be used: a disk that is nearly full
#: has room for one thing and not for the next.
_QUIET = 60.0


class Trouble:
    """What has gone wrong in a crawl so far.

    Args:
        crawler: whose crawl is closed, if it comes to that.
        stats: where trouble is counted.
        closes: whether an index that does not answer closes the crawl; one that holds something
            else always does.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats, *, closes: bool) -> None:
        self._crawler = crawler
        self._stats = stats
        self._closes = closes
        self._is_index_away = False
        self._says_again = 0.0
        self._is_closing = False
        self._said: set[type[Exception]] = set()
        self._guard = Contained(self.report)

    def guard(self) -> Contained:
        """Whatever goes wrong inside is reported, and goes no further: no item is lost by it."""
        return self._guard

    def report(self, error: Exception) -> None:
        """Say what is wrong, if it was not said yet, and do what is asked for in this case."""
        is_mismatch = isinstance(error, (SchemeMismatch, SchemaMismatch))
        is_unavailable = isinstance(error, IndexUnavailable)
        self._stats.count_error((is_unavailable and error.__cause__) or error)
        if not is_mismatch and not is_unavailable:
            self._say(error)
            return
        closes = is_mismatch or self._closes
        if not self._is_index_away and time.monotonic() >= self._says_again:
            self._is_index_away = True
            self._says_again = time.monotonic() + _QUIET
            then = "the crawl is closed" if closes else "what it can't check is stored"
            logger.error("The index can't be used, %s: %s", then, error)
        if closes:
            self._close("simhash_index_mismatch" if is_mismatch else "simhash_index_unavailable")

    def note_answer(self) -> None:
        """The index has answered; worth a word if it did not before."""
        if self._is_index_away:
            self._is_index_away = False
            logger.info("The index answers again")

    def _say(self, error: Exception) -> None:
        """For what is no trouble of the index: once for each class of errors."""
        if type(error) not in self._said:
            self._said.add(type(error))
            logger.error(
                "Not checked for duplicates, passed through, as will be all that fail with a "
                "%s: %s",
                type(error).__name__,
                error,
                exc_info=error,
            )

    def _close(self, reason: str) -> None:
        engine = self._crawler.engine
        if engine is not None and not self._is_closing:
            self._is_closing = True
            # Awaiting it from here would wait for this very item.
            deferred_from_coro(engine.close_spider_async(reason=reason))
