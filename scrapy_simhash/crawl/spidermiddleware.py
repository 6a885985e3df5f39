"""The spider middleware: records which page each item came from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.deduplicator import Deduplicator


class SimhashSpiderMiddleware:
    """Passes on the output of callbacks; with "skip" it does not run those of duplicate pages."""

    def __init__(self, deduplicator: Deduplicator) -> None:
        self._deduplicator = deduplicator

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(Deduplicator.of(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called by Scrapy with the output of a callback."""
        async for output in self._deduplicator.output(response, result):
            yield output
