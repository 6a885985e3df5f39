"""The end of a crawl: the last figures, the run settled or not, the report."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.feeds import FeedCheck
from scrapy_simhash.db.transactions import Database

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.claims import Claims
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.worker import Worker

__all__ = ["CrawlEnd"]

logger = logging.getLogger(__name__)


class CrawlEnd:
    """Does what is left when the spider has closed, and when the engine has stopped.

    Args:
        crawler: whose crawl ends.
        settings: of the crawl.
        worker: has the database, and closes it.
        claims: those that are still open.
        stats: where the last figures go.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: Settings,
        worker: Worker,
        claims: Claims,
        stats: CrawlStats,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._worker = worker
        self._claims = claims
        self._stats = stats
        self._reason = "finished"
        self.feeds = FeedCheck(crawler)

    async def spider_closed(self, reason: str) -> None:
        """Handles the signal: the stats are shown, and monitors run, before the engine stops."""
        self._reason = reason
        await self._worker.flush()
        self._stats.finish(self._worker.figures, self._claims.open_count())

    async def engine_stopped(self) -> None:
        """Handles the signal: all items have had their outcome, and the feeds are stored or not."""
        lost = self.feeds.missing()
        if lost:
            logger.warning(
                "%s: what this crawl claimed is released when the next one opens, so that nothing "
                "is taken for stored that is not",
                lost,
            )
        closed = await self._worker.close(
            settled=not lost, reason=self._reason, stats=self._stats.all()
        )
        path, run = self._settings.report, self._worker.figures.run
        if closed and run is not None and path is not None:
            try:
                await run_in_thread(self._write_report, path, run)
            except Exception:
                logger.exception("The report could not be written")
            else:
                logger.info("The report is in %s", path)

    def _write_report(self, path: Path, run: int) -> None:
        # Jinja2 and the charts take a while to import, and only this needs them.
        from scrapy_simhash.report.html import write_report  # noqa: PLC0415

        settings = self._settings
        namespace = settings.namespace_of(self._crawler.spider)
        used = self._worker.figures.sizes
        if namespace not in used:
            namespace = next(iter(used))
        database = Database(
            settings.locate_database(), options=settings.engine_options, timeout=settings.timeout
        )
        try:
            write_report(database, path, run=run, namespace=namespace, limit=settings.limit)
        finally:
            database.close()
