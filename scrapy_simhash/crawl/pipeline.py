"""The item pipeline: drops near-duplicates before they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_simhash.crawl.deduplicator import Deduplicator
from scrapy_simhash.crawl.storing import warn_if_nothing_stores

if TYPE_CHECKING:
    from typing import Any, Self

    from scrapy.crawler import Crawler

__all__ = ["SimhashPipeline"]


class SimhashPipeline:
    """Asks for the verdict on an item's page, or on the item itself, and drops the duplicates."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._deduplicator = Deduplicator.of(crawler)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(crawler)

    def spider_opened(self) -> None:
        """Handles the signal: the crawl starts."""
        warn_if_nothing_stores(self._crawler, self)

    async def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item.

        Raises:
            NearDuplicateItem: what the item's page says is stored already.
        """
        return await self._deduplicator.process(item)
