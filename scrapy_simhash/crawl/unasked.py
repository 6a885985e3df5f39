"""The known pages that a visit has not asked for, when its spider is idle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.scrapy_internals import crawl_all
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import ErrorPolicy
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.pages import KnownPage


@dataclass(eq=False)
class UnaskedPages:
    """Asks for the known pages that no page has led to, some at a time."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    errors: ErrorPolicy
    #: Returns the request of a known page, or None if it need not be made, or can't be.
    restore: Callable[[KnownPage], Request | None]
    #: The callbacks of the pages that were asked for, by identity.
    asked: dict[int, str] = field(default_factory=dict)
    #: Those whose requests wait, by identity.
    waiting: dict[int, KnownPage] = field(default_factory=dict)
    #: Whether they could not be read.
    has_failed: bool = False
    # The depth and the identity of the last one; None at the end.
    _place: tuple[int, ...] | None = (0,)
    _is_reading: bool = False

    def __post_init__(self) -> None:
        self.crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def _spider_idle(self) -> None:
        """Handle the signal."""
        if self._place is None or not self.worker.figures.known_pages:
            return
        if not self._is_reading:
            self._is_reading = True
            deferred_from_coro(self._ask_for_some())
        raise DontCloseSpider

    async def _ask_for_some(self) -> None:
        namespace = self.settings.namespace_of(self.crawler.spider)
        requests: list[Request] = []
        while not requests and self._place is not None:
            try:
                pages = await self.worker.unasked_pages(namespace, self._place)
            except Exception as error:  # noqa: BLE001 - any error: the crawl goes on
                self.errors.report(error)
                self.has_failed, pages = True, []
            self._place = (pages[-1].row.depth, pages[-1].row.identity) if pages else None
            # What was asked for a moment ago may not be recorded yet.
            pages = [page for page in pages if page.row.identity not in self.asked]
            self.waiting = {page.row.identity: page for page in pages}
            requests = [request for page in pages if (request := self.restore(page))]
        self._is_reading = False
        crawl_all(self.crawler, requests)
