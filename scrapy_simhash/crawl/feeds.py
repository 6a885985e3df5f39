"""Whether the feeds of a crawl have written what was scraped, and have it on disk."""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, ItemFilter
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.scrapy_internals import closed_feed, feed_counts, feed_uris
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.durable import sync_file, sync_folders
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)


class FeedCheck:
    """Follows what the feeds write.

    Args:
        crawler: the crawl.
        stats: where items that a feed failed to write are counted.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler = crawler
        self._stats = stats
        # By feed: the items seen to be written, and those in complete files.
        self._written: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        # Whether this version of Scrapy tells what its feeds write.
        self._can_count = True
        self._missing = 0
        self._first_missing = ""
        self._folders: set[Path] = set()
        self._sync_error: OSError | None = None
        self._closed: Future[None] = Future()

    @cached_property
    def _exporter(self) -> FeedExporter | None:
        return self._crawler.get_extension(FeedExporter)

    def has(self, item: Any, response: Any) -> bool:
        """Whether all feeds that want an item have it; to be called once for each that is scraped.

        Extensions are created before us, so the exporter's handler of item_scraped has just run. An
        error in one feed also skips the feeds after it.
        """
        if self._exporter is None:
            return True
        counts = feed_counts(self._exporter)
        if counts is None:
            self._can_count = False
            return True
        has_it = True
        for feed, written, chosen in counts:
            if written == self._written[feed] and _wants(chosen, item):
                has_it = False
            self._written[feed] = written
        if not has_it:
            self._stats.count("feeds/not_exported")
            self._missing += 1
            self._first_missing = self._first_missing or getattr(response, "url", "start()")
        return has_it

    def log_missing(self) -> None:
        """Warn about items that a feed failed to write."""
        if self._missing:
            logger.warning(
                "Items that could not be written to a feed: %d, the first from %s. They count as "
                "not stored, and their claims are released. Scrapy has logged each as an error of "
                "FeedExporter.item_scraped",
                self._missing,
                shortened(self._first_missing, 2000),
            )

    async def slot_closed(self, slot: FeedSlot) -> None:
        """Handle the signal feed_slot_closed: a feed, or one file of it, is complete.

        The exporter waits for this, and the end of the crawl waits for the exporter.
        """
        closed = closed_feed(slot)
        if closed is None:
            self._can_count = False
            return
        self._stored[closed.uri] += closed.items
        if closed.path is not None:
            path = Path(closed.path).absolute()
            try:
                await run_in_thread(sync_file, path)
            except OSError as error:
                self._sync_error = error
            self._folders.add(path.parent)

    def exporter_closed(self) -> None:
        """Handle the signal feed_exporter_closed: no more feeds will be stored."""
        if not self._closed.done():
            self._closed.set_result(None)

    async def problem(self, timeout: float) -> str | None:
        """Why the feeds may not have stored everything they wrote; None if they have.

        After this, local feeds are on disk under their names.

        Args:
            timeout: seconds to wait for the exporter. It finishes before the engine stops, unless a
                crawl that is closing by itself is stopped.
        """
        if self._exporter is not None:
            with suppress(TimeoutError):
                await wait(self._closed, timeout)
        stats = self._crawler.stats.get_stats()
        if any(str(name).startswith("feedexport/failed_count/") for name in stats):
            return "A feed could not be stored"
        uris = feed_uris(self._exporter) if self._exporter is not None else ()
        for feed in uris if uris is not None and self._can_count else ():
            if (stored := self._stored[feed]) != (written := self._written[feed]):
                return f"The feed {shortened(feed, 2000)} holds {stored} of {written} items"
        if self._sync_error is None:
            try:
                await run_in_thread(sync_folders, self._folders)
            except OSError as error:
                self._sync_error = error
        if self._sync_error is not None:
            return f"A feed may not be on disk ({self._sync_error})"
        return None


def _wants(chosen: ItemFilter, item: Any) -> bool:
    """Whether a feed is known to want an item.

    A custom filter is not asked: it may count its calls.
    """
    return type(chosen).accepts is ItemFilter.accepts and chosen.accepts(item)
