"""Whether the feeds of a crawl have what was scraped, and have it on the disk."""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, ItemFilter
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.durable import sync_file, sync_folders
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

    from scrapy_simhash.crawl.stats import CrawlStats

__all__ = ["FeedCheck"]

logger = logging.getLogger(__name__)


class FeedCheck:
    """Sees what becomes of each item in the feeds, and of each feed.

    Args:
        crawler: whose feeds they are.
        stats: where items that a feed lacks are counted.
    """

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler = crawler
        self._stats = stats
        # By feed: how many items were seen to be written, and how many are in complete files.
        self._written: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        self._lacking = 0
        self._first_lacking = ""
        self._folders: set[Path] = set()
        self._trouble: OSError | None = None
        self._closed: Future[None] = Future()

    @cached_property
    def _exporter(self) -> FeedExporter | None:
        return self._crawler.get_extension(FeedExporter)

    def has(self, item: Any, response: Any) -> bool:
        """Whether all feeds that want an item have it; to be asked once for each that is scraped.

        It is asked when the exporter has just had the item: extensions are built before us, so
        their handlers of item_scraped come first. An error in one feed also ends the others that
        come after it.
        """
        has_it = True
        for slot in self._exporter.slots if self._exporter is not None else ():
            feed, written = slot.uri_template, _written(slot)
            if written == self._written[feed] and _wants(slot.filter, item):
                has_it = False
            self._written[feed] = written
        if not has_it:
            self._stats.count("feeds/not_exported")
            self._lacking += 1
            self._first_lacking = self._first_lacking or getattr(response, "url", "start()")
        return has_it

    def say_what_they_lack(self) -> None:
        """One line, if there is anything to say."""
        if self._lacking:
            logger.warning(
                "Items that could not be written to a feed: %d, the first from %s. They count as "
                "not stored, and what was claimed for them is released. Scrapy has logged why, "
                "as an error of FeedExporter.item_scraped",
                self._lacking,
                shortened(self._first_lacking, 2000),
            )

    async def slot_closed(self, slot: FeedSlot) -> None:
        """Handles the signal feed_slot_closed: a feed, or a part of it, is complete.

        The exporter waits for this, and the crawl's end for the exporter.
        """
        self._stored[slot.uri_template] += slot.itemcount
        if isinstance(slot.storage, FileFeedStorage):
            path = Path(slot.storage.path).absolute()
            try:
                await run_in_thread(sync_file, path)
            except OSError as error:
                self._trouble = error
            self._folders.add(path.parent)

    def exporter_closed(self) -> None:
        """Handles the signal feed_exporter_closed: no feed will be stored any more."""
        if not self._closed.done():
            self._closed.set_result(None)

    async def missing(self, timeout: float) -> str | None:
        """What shows that not everything is stored that was written; None if nothing does.

        After this local feeds are on the disk, under their names.

        Args:
            timeout: seconds that the exporter is waited for at most. It has done its work before
                the engine stops, unless somebody stops a crawl that is closing by itself.
        """
        if self._exporter is not None:
            with suppress(TimeoutError):
                await wait(self._closed, timeout)
        figures = self._crawler.stats.get_stats()
        if any(name.startswith("feedexport/failed_count/") for name in figures):
            return "A feed could not be stored"
        for feed in self._exporter.feeds if self._exporter is not None else ():
            if (stored := self._stored[feed]) != (written := self._written[feed]):
                return f"The feed {shortened(feed, 2000)} holds {stored} of {written} items"
        if self._trouble is None:
            try:
                await run_in_thread(sync_folders, self._folders)
            except OSError as error:
                self._trouble = error
        if self._trouble is not None:
            return f"A feed is not known to be on the disk ({self._trouble})"
        return None


def _written(slot: FeedSlot) -> int:
    """How many items of a feed were written so far, to this file and those before it.

    A file that is full gives way to the next one while the exporter has the item that filled it.
    """
    full: int = slot.feed_options["batch_item_count"]
    return (slot.batch_id - 1) * full + slot.itemcount


def _wants(chosen: ItemFilter, item: Any) -> bool:
    """Whether a feed is known to want an item.

    A filter that somebody has written is not asked: it may count what it is asked for.
    """
    return type(chosen).accepts is ItemFilter.accepts and chosen.accepts(item)
