"""The spider middleware: remembers which page each item came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.crawl.deduplicator import Deduplicator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any, Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["SimhashSpiderMiddleware"]


class SimhashSpiderMiddleware:
    """Passes on what callbacks yield; with "skip", keeps them from running on a duplicate page."""

    def __init__(self, deduplicator: Deduplicator) -> None:
        self._deduplicator = deduplicator

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(Deduplicator.of(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called by Scrapy with what a callback yields."""
        async for output in self._deduplicator.output(response, result):
            yield output
