"""The extension that logs every minute how many items were unique."""

from __future__ import annotations

import logging
from typing import Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from scrapy_simhash.crawl.start import settings_of
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.visible import plural

logger = logging.getLogger(__name__)


class SimhashLogStats:
    """Logs the verdicts every `interval` seconds, as Scrapy's LogStats logs pages and items."""

    def __init__(self, stats: CrawlStats, interval: float) -> None:
        self._stats = stats
        self._interval = interval
        self._before = (0, 0)
        self._task: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy."""
        settings_of(crawler)
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if not interval:
            raise NotConfigured
        extension = cls(CrawlStats(crawler.stats), interval)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Handle the signal: log a line every interval from now on."""
        self._task = create_looping_call(self._log, spider)
        self._task.start(self._interval, now=False)

    def spider_closed(self) -> None:
        """Handle the signal: :class:`CrawlEnd` logs the last line."""
        if self._task is not None and self._task.running:
            self._task.stop()

    def _log(self, spider: Spider) -> None:
        unique, duplicates = self._stats.get("unique"), self._stats.get("duplicates")
        per_minute = 60 / self._interval
        logger.info(
            "%d unique (at %d/min), %d %s (at %d/min)%s",
            unique,
            (unique - self._before[0]) * per_minute,
            duplicates,
            plural(duplicates, "near-duplicate"),
            (duplicates - self._before[1]) * per_minute,
            self._stats.others(),
            extra={"spider": spider},
        )
        self._before = unique, duplicates
