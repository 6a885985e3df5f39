"""The stats of a crawl, and what it does about errors.

An error never costs an item: one that could not be checked is stored unchecked.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.statscollectors import StatsCollector

from scrapy_simhash.crawl.scrapy_internals import close_crawl
from scrapy_simhash.crawl.thread import DatabaseThread
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable
from scrapy_simhash.index.verdict import Match, Verdict
from scrapy_simhash.index.words import Ending
from scrapy_simhash.item.facts import OTHERS
from scrapy_simhash.item.fields import MIN_PROSE
from scrapy_simhash.item.urls import same_site
from scrapy_simhash.simhash.measure import FEW_FEATURES

logger = logging.getLogger(__name__)

#: Seconds until an unavailable index is logged again: on a disk that is nearly full one write may
#: succeed and the next one fail.
_QUIET_SECONDS = 60.0

# The prefix of stats whose names end in a field of crawled items, and the maximum number of these.
_CHOSEN = "kept/other_facts/"
_MOST_NAMES = 100


class NearDuplicateItem(DropItem):
    """An item was dropped because an equivalent one is stored already.

    Attributes:
        match: the :class:`~scrapy_simhash.Match` that it is a near-duplicate of.
    """

    def __init__(self, message: str, match: Match) -> None:
        super().__init__(message, log_level="DEBUG")
        self.match = match


# How many items were dropped, as Scrapy counts them.
_DROPPED = f"item_dropped_reasons_count/{NearDuplicateItem.__name__}"


class CrawlStats:
    """The stats of a crawl; in Scrapy's collector their names have the prefix "simhash/"."""

    def __init__(self, collector: StatsCollector) -> None:
        self._collector = collector
        # Looking it up takes Scrapy longer than counting.
        self._increase = collector.inc_value
        self._has_failed = False
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._known: set[str] = set()
        #: Items that were not even compared with their own past.
        self.unread = 0
        #: How the items ended, by what they are: see `items_in_words`.
        self.ended: dict[Ending, Counter[str]] = {end: Counter() for end in get_args(Ending)}

    def count(self, *names: str, by: int = 1) -> None:
        """Add to counters: to all or none, otherwise the sums are wrong."""
        try:
            for name in names:
                self._increase(f"simhash/{self._bounded(name)}", by)
        except Exception as error:  # noqa: BLE001 - stats collectors are users' code
            self._log_once(error)

    def count_verdict(self, url: str, verdict: Verdict) -> None:
        """Count the verdict on an item or page found at a URL."""
        self.count(*_names(url, verdict))
        self.unread += verdict.kind == "skipped" and verdict.row is None

    def count_item(self, verdict: Verdict, end: Ending) -> None:
        """Count an item for the sum of the crawl."""
        kind: str = verdict.status or "new"
        if verdict.kind == "skipped":
            kind = f"skipped/{verdict.reason}"
        elif verdict.kind == "failed_open":
            kind = "not checked: see the ERROR line"
        elif verdict.kind == "duplicate" and kind != "moved":
            kind = "copy"
        self.ended[end][kind] += 1

    def count_text(self, features: int) -> None:
        """Count a text by the number of its features, 0 if there is none."""
        self.count(f"text/{_text_class(features)}")

    def count_outcome(self, verdict: Verdict, *, stored: bool) -> None:
        """Count what became of a claim."""
        if verdict.kind == "unique":
            self.count(f"claims/{'confirmed' if stored else 'released'}")
        elif stored:
            self.count("claims/refreshed")

    @contextmanager
    def spent(self, name: str) -> Iterator[None]:
        """Add the time spent inside, unless an error is raised there."""
        started = time.perf_counter()
        yield
        self._spent[name] += time.perf_counter() - started

    def finish(self, thread: DatabaseThread, open_claims: int) -> None:
        """Set what is known at the end only."""
        values = {
            **{name: round(seconds, 3) for name, seconds in self._spent.items()},
            "dropped": self._collector.get_value(_DROPPED, 0),
            "claims/open": open_claims,
            "index/seconds": round(thread.seconds, 3),
            "index/size": sum(thread.sizes.values()),
            "index/namespaces": len(thread.sizes),
        }
        self.set(values | {name: count for name, count in thread.counts.items() if count})

    def get(self, name: str) -> int:
        """The value of a counter so far."""
        value: int = self._collector.get_value(f"simhash/{name}", 0)
        return value

    def all(self) -> dict[str, Any]:
        """The stats of this package, under their full names."""
        return {f"simhash/{name}": value for name, value in self.below("").items()}

    def below(self, prefix: str) -> dict[str, int]:
        """The stats whose names begin with a prefix, without it."""
        prefix = f"simhash/{prefix}"
        # Other components may use names that are not strings.
        return {
            name.removeprefix(prefix): value
            for name, value in self._collector.get_stats().items()
            if isinstance(name, str) and name.startswith(prefix)
        }

    def _bounded(self, name: str) -> str:
        """The name of a counter, or that of all others of its kind."""
        if not name.startswith(_CHOSEN):
            return name
        if len(self._known) < _MOST_NAMES:
            self._known.add(name)
        return name if name in self._known else f"{_CHOSEN}{OTHERS}"

    def set(self, values: Mapping[str, float]) -> None:
        """Set several values."""
        try:
            for name, value in values.items():
                self._collector.set_value(f"simhash/{name}", value)
        except Exception as error:  # noqa: BLE001 - as above
            self._log_once(error)

    def _log_once(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.error("Counting failed; the stats are too low", exc_info=error)


def _text_class(features: int) -> str:
    if features >= MIN_PROSE:
        return f"from_{MIN_PROSE}"
    if features >= FEW_FEATURES:
        return f"{FEW_FEATURES}_to_{MIN_PROSE - 1}"
    return f"under_{FEW_FEATURES}" if features else "none"


def _names(url: str, verdict: Verdict) -> Iterator[str]:
    """The counters of a verdict."""
    yield "checked"
    match verdict.kind:
        case "skipped":
            yield f"skipped/{verdict.reason}"
        case "duplicate":
            yield "duplicates"
            if same_site(url, cast("Match", verdict.match).url):
                yield "duplicates/same_site"
        case kind:
            yield kind
    if verdict.status not in {None, "copy"}:
        yield f"changes/{verdict.status}"
        if verdict.is_back:
            yield "changes/back"
    if verdict.kind == "unique" and verdict.differs is not None:
        yield "kept/other_facts"
        yield f"kept/other_facts/{verdict.differs}"


@dataclass(eq=False)
class ErrorPolicy:
    """Counts every error, logs it once, and closes the crawl where that is configured.

    As a context manager it reports errors raised inside and suppresses them; it is entered
    concurrently. An index that holds something else always closes the crawl; with `closes`, one
    that is unavailable does.
    """

    crawler: Crawler
    stats: CrawlStats
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
        is_mismatch = isinstance(error, IndexMismatch)
        is_unavailable = isinstance(error, IndexUnavailable)
        cause = (is_unavailable and error.__cause__) or error
        self.stats.count(f"index/errors/{type(cause).__name__}")
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
            self._quiet_until = time.monotonic() + _QUIET_SECONDS
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
