"""The item pipeline: drops near-duplicates before they are stored."""

from __future__ import annotations

import logging
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

from scrapy_simhash.crawl.deduplicator import Deduplicator
from scrapy_simhash.crawl.scrapy_internals import may_store_after

logger = logging.getLogger(__name__)


class SimhashPipeline:
    """Checks each item, and drops duplicates."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._deduplicator = Deduplicator.of(crawler)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(crawler)

    def spider_opened(self) -> None:
        """Handle the signal: warn if there is neither a feed nor another pipeline after this one.

        The claims of such a crawl are confirmed all the same, as an extension or a middleware may
        store its items. But it may also be a trial run, which should leave nothing behind.
        """
        may_be_stored = may_store_after(self._crawler, self)
        self._deduplicator.watch_storage(may_store_after=may_be_stored)
        if self._crawler.get_extension(FeedExporter) is None and not may_be_stored:
            logger.warning(
                "Nothing stores the items of this crawl: it has no feed, and no item pipeline "
                "after SimhashPipeline. They are remembered as stored, so later crawls may drop "
                "them. For a trial run add -s SIMHASH_ENABLED=0, or -o and a file; if an extension "
                "or a middleware stores the items, ignore this"
            )

    async def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item.

        Raises:
            NearDuplicateItem: an equivalent item is stored already.
        """
        return await self._deduplicator.process(item)
