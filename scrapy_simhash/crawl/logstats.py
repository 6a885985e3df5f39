"""The extension that says every minute, and at the end, what was unique and what was not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_simhash.crawl.start import settings_of
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

__all__ = ["SimhashLogStats"]

logger = logging.getLogger(__name__)


class SimhashLogStats:
    """Logs the sums of the verdicts as Scrapy's LogStats does those of pages and items.

    Args:
        stats: of the crawl.
        interval: seconds between two lines.
    """

    def __init__(self, stats: CrawlStats, interval: float) -> None:
        self._stats = stats
        self._interval = interval
        self._before = (0, 0)
        self._task: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy.

        Raises:
            NotConfigured: LOGSTATS_INTERVAL is 0; or see :func:`settings_of`.
        """
        settings_of(crawler)
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if not interval:
            raise NotConfigured
        extension = cls(CrawlStats(crawler.stats), interval)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Handles the signal: a line every interval from now on."""
        self._task = create_looping_call(self._log, spider)
        # There is nothing to tell yet.
        self._task.start(self._interval, now=False)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Handles the signal: the last line, unless the crawl was refused."""
        if self._task is not None and self._task.running:
            self._task.stop()
        checked, dropped = self._stats.get("checked"), self._stats.dropped()
        if not checked and reason.startswith("simhash_"):
            return
        unique, duplicates = self._sums()
        logger.info(
            "%d checked, %d kept, %d dropped: %d unique, %d %s%s. More: scrapy simhash stats",
            checked,
            checked - dropped,
            dropped,
            unique,
            duplicates,
            plural(duplicates, "near-duplicate"),
            self._rest(),
            extra={"spider": spider},
        )

    def _log(self, spider: Spider) -> None:
        unique, duplicates = self._sums()
        a_minute = 60 / self._interval
        logger.info(
            "%d unique (at %d/min), %d %s (at %d/min)%s",
            unique,
            (unique - self._before[0]) * a_minute,
            duplicates,
            plural(duplicates, "near-duplicate"),
            (duplicates - self._before[1]) * a_minute,
            self._rest(),
            extra={"spider": spider},
        )
        self._before = unique, duplicates

    def _sums(self) -> tuple[int, int]:
        return self._stats.get("unique"), self._stats.get("duplicates")

    def _rest(self) -> str:
        """What the two sums do not say, if there is any."""
        parts = {
            "of them better than what is kept": self._stats.get("duplicates/better"),
            "the same page again": self._stats.get("same"),
            "not comparable": self._stats.skipped(),
            "not checked, as the ERROR line says": self._stats.get("failed_open"),
        }
        return "".join(f", {count} {what}" for what, count in parts.items() if count)
