"""The spider middleware: remembers which page each item came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.crawl.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any, Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["SimhashSpiderMiddleware"]


class SimhashSpiderMiddleware:
    """Passes on what callbacks yield; with "skip", keeps them from running on a duplicate page."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy; raises as :meth:`Verdicts.of` does."""
        return cls(Verdicts.of(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called by Scrapy with what a callback yields."""
        async for output in self._verdicts.output(response, result):
            yield output
