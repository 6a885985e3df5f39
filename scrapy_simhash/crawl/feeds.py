"""Whether the feeds of a crawl have written what was scraped, and have it on disk."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.future import Future
from scrapy_simhash.crawl.scrapy_internals import closed_feed, feeds_written
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.durable import sync_file, sync_folders
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

_EXPORTER = "scrapy.extensions.feedexport.FeedExporter"


@dataclass(eq=False)
class FeedCheck:
    """Follows what the feeds write."""

    crawler: Crawler
    stats: CrawlStats
    #: Whether an item pipeline after ours may store what no feed takes.
    is_stored_elsewhere: bool = True
    _exporter: FeedExporter | None = None
    _is_disabled: bool = False
    # The number of items that the feeds have written, and of those in complete files.
    _written: int = 0
    _stored: int = 0
    # Whether this version of Scrapy tells what its feeds write.
    _can_count: bool = True
    _slots: object = None
    _first_missing: str = ""
    _folders: set[Path] = field(default_factory=set)
    _sync_error: OSError | None = None
    _closed: Future[None] = field(default_factory=Future)

    def spider_opened(self) -> None:
        """Handle the signal: before any item."""
        self._exporter = self.crawler.get_extension(FeedExporter)
        self._is_disabled = feeds_are_disabled(self.crawler)
        if self._exporter is not None and (state := feeds_written(self._exporter)):
            self._written, self._slots = state

    def has(self, item: Any, response: Any) -> bool:
        """Whether an item is stored; to be called once for each that is scraped.

        All feeds that want it must have it, and one must want it unless a later pipeline stores it.

        Extensions are created before us, so the exporter's handler of item_scraped has just run. If
        it failed, a feed that wants the item lacks it.
        """
        if self._exporter is None:
            if self._is_disabled:
                self._miss(response)
            return not self._is_disabled
        state = feeds_written(self._exporter)
        if state is None:
            self._can_count = False
            return True
        written, slots = state
        has_failed, is_written = slots is self._slots, written != self._written
        self._written, self._slots = written, slots
        if has_failed:
            self._miss(response)
            return False
        if is_written or self.is_stored_elsewhere:
            return True
        self.stats.count("feeds/not_wanted")
        return False

    def _miss(self, response: Any) -> None:
        self.stats.count("feeds/not_exported")
        self._first_missing = self._first_missing or getattr(response, "url", "start()")

    def log_missing(self) -> None:
        """Log how many items are in no feed."""
        if unwanted := self.stats.get("feeds/not_wanted"):
            logger.info(
                "Items that no feed takes, by its item_classes or item_filter: %d. They count as "
                "not stored, and nothing is dropped as a duplicate of them",
                unwanted,
            )
        if missing := self.stats.get("feeds/not_exported"):
            logger.warning(
                "Items that could not be written to a feed: %d, the first from %s. They count as "
                "not stored, and their claims are released. Scrapy has logged an error of the "
                "FeedExporter for each, or why it is disabled",
                missing,
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
        items, local = closed
        self._stored += items
        if local is not None:
            path = Path(local).absolute()
            try:
                await run_in_thread(sync_file, path)
            except OSError as error:
                self._sync_error = error
            self._folders.add(path.parent)

    def exporter_closed(self) -> None:
        """Handle the signal feed_exporter_closed: no more feeds will be stored."""
        self._closed.resolve(None)

    async def problem(self, timeout: float) -> str | None:
        """Why the feeds may not have stored everything they wrote; None if they have.

        After this, local feeds are on disk under their names.
        """
        if self._exporter is not None:
            # It finishes before the engine stops, unless a crawl that is closing by itself is
            # stopped.
            with suppress(TimeoutError):
                await self._closed.wait(timeout)
        stats = self.crawler.stats.get_stats()
        if any(str(name).startswith("feedexport/failed_count/") for name in stats):
            return "A feed could not be stored"
        if self._can_count and self._stored != self._written:
            return f"The files of the feeds hold {self._stored} of {self._written} items"
        if self._sync_error is None:
            try:
                await run_in_thread(sync_folders, self._folders)
            except OSError as error:
                self._sync_error = error
        if self._sync_error is not None:
            return f"A feed may not be on disk ({self._sync_error})"
        return None


def feeds_are_disabled(crawler: Crawler) -> bool:
    """Whether Scrapy has disabled the feeds of a crawl, as where a storage lacks its library."""
    if crawler.get_extension(FeedExporter) is not None or not crawler.settings.getdict("FEEDS"):
        return False
    return _EXPORTER in crawler.settings.get_component_priority_dict_with_base("EXTENSIONS")
