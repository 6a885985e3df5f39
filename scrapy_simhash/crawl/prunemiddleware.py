"""The downloader middleware: leaves out requests that would only repeat what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_simhash.crawl.deduplicator import Deduplicator

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.pruner import Pruner

__all__ = ["SimhashPruneMiddleware"]


class SimhashPruneMiddleware:
    """Asks for each request whether it is worth its download."""

    def __init__(self, deduplicator: Deduplicator, pruner: Pruner) -> None:
        # Which nobody else may hold yet.
        self._deduplicator = deduplicator
        self._pruner = pruner

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy.

        Raises:
            NotConfigured: SIMHASH_PRUNE is off; or see :meth:`Deduplicator.of`.
        """
        deduplicator = Deduplicator.of(crawler)
        if deduplicator.pruner is None:
            raise NotConfigured("SIMHASH_PRUNE is off")
        return cls(deduplicator, deduplicator.pruner)

    def process_request(self, request: Request) -> None:
        """Called by Scrapy before a request is downloaded.

        Raises:
            IgnoreRequest: it is left out.
        """
        if parts := self._pruner.leaves_out(request):
            raise IgnoreRequest(f"{', '.join(parts)} only repeats what is known")
