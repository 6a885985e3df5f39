"""The end of a crawl: the last figures, the run settled or not, the report."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.claims import Claims
    from scrapy_simhash.crawl.feeds import FeedCheck
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.worker import Worker

__all__ = ["CrawlEnd"]

logger = logging.getLogger(__name__)

#: From so many items on that were kept for one field somebody should look at it.
_MANY = 20


class CrawlEnd:
    """Does what is left when the spider has closed, and when the engine has stopped.

    Args:
        crawler: whose crawl ends.
        settings: of the crawl.
        worker: has the database, and closes it.
        claims: those that are still open.
        stats: where the last figures go.
        feeds: where the items are.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: Settings,
        worker: Worker,
        claims: Claims,
        stats: CrawlStats,
        *,
        feeds: FeedCheck,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._worker = worker
        self._claims = claims
        self._stats = stats
        self._reason = "finished"
        self.feeds = feeds

    async def spider_closed(self, reason: str) -> None:
        """Handles the signal: the stats are shown, and monitors run, before the engine stops."""
        self._reason = reason
        await self._worker.flush()
        self._stats.finish(self._worker.figures, self._claims.open_count())
        self._say_what_kept_apart()
        self._say_what_nothing_stands_for()
        self._say_what_was_not_kept()
        self.feeds.say_what_they_lack()

    def _say_what_kept_apart(self) -> None:
        """Name the setting where one field keeps most of what is near."""
        fields = self._stats.kept_apart()
        total = sum(fields.values())
        name = max(fields, key=lambda field: fields[field], default="")
        # A few are what the rule is for; it may be wrong where they are many, and for one reason.
        if total < _MANY or 2 * fields[name] <= total:
            return
        setting = "SIMHASH_FACTS = 'never'"
        if not name.startswith(("(", "page:")):
            setting = f"SIMHASH_IGNORE_FIELDS = [{name!r}], or {setting}"
        logger.warning(
            "%d items were kept although their text is near another's, %d of them because %s "
            "differs. If that does not make them different things: %s",
            total,
            fields[name],
            shortened(name, 80),
            setting,
        )

    def _say_what_nothing_stands_for(self) -> None:
        """Items of this crawl that were dropped against the claims of one that was dead."""
        if orphans := self._worker.figures.orphans:
            logger.warning(
                "Dropped as duplicates of what a crawl had claimed that turned out to be dead: %d. "
                "What was dropped so may be stored nowhere, and is in the quarantine: scrapy "
                "simhash restore --orphans --run %d",
                orphans,
                self._worker.figures.run,
            )

    def _say_what_was_not_kept(self) -> None:
        """What the quarantine had no room for, or has none any more."""
        counts = self._worker.figures.counts
        pushed_out, orphans = counts.get("items", 0), counts.get("orphans", 0)
        too_large = self._stats.get("quarantine/too_large")
        if pushed_out or too_large:
            logger.warning(
                "The quarantine holds %s bytes (SIMHASH_QUARANTINE). Dropped items that can't be "
                "restored any more: %d, orphans among them: %d. Duplicates larger than an eighth "
                "of it, which were stored instead of dropped: %d",
                f"{self._settings.quarantine:,}",
                pushed_out,
                orphans,
                too_large,
            )

    async def engine_stopped(self) -> None:
        """Handles the signal: all items have had their outcome, and the feeds are stored or not."""
        lost = await self.feeds.missing(self._settings.timeout)
        if lost:
            logger.warning(
                "%s: what this crawl claimed is released, so that nothing is taken for stored "
                "that is not",
                lost,
            )
        closed = await self._worker.close(
            settled=not lost, reason=self._reason, stats=self._stats.all()
        )
        path, run = self._settings.report, self._worker.figures.run
        # A run that has met nothing has nothing to tell.
        if closed and run is not None and path is not None and self._worker.figures.sizes:
            try:
                await run_in_thread(self._write_report, path, run)
            except Exception:
                logger.exception("The report could not be written")
            else:
                logger.info("The report is in %s", path)

    def _write_report(self, path: Path, run: int) -> None:
        # Jinja2 takes a while to import, and only this needs it.
        from scrapy_simhash.report.html import write_report  # noqa: PLC0415

        settings = self._settings
        namespace = settings.namespace_of(self._crawler.spider)
        used = self._worker.figures.sizes
        if namespace not in used:
            namespace = next(iter(used))
        database = Database(
            settings.locate_database(),
            options=settings.engine_options,
            timeout=settings.timeout,
            secret=settings.secret,
        )
        try:
            write_report(
                database,
                path,
                run=run,
                namespace=namespace,
                limit=settings.rule.limit,
                similarity=settings.rule.similarity,
            )
        finally:
            database.close()
