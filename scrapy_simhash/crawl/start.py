"""The start of a crawl: the index is opened and named, or the crawl is refused in one line.

What can never heal is known before anything is fetched: the crawl is closed then, as soon as its
spider is open, and counts as failed. (An exception would do that too, with a traceback and not
everywhere; and one in the handler of a signal is only logged.)
"""

from __future__ import annotations

import gc
import logging
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.extensions.feedexport import FeedExporter

from scrapy_simhash import native
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    IndexUnusable,
    SchemaMismatch,
    SchemeMismatch,
    SettingError,
)
from scrapy_simhash.index.namespace import check_name
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.trouble import Trouble
    from scrapy_simhash.crawl.worker import Worker

__all__ = ["CrawlStart", "settings_of"]

logger = logging.getLogger(__name__)

_DONE = {
    "drop": "duplicates are dropped",
    "skip": "pages that show nothing new are skipped, other duplicates dropped",
    "report": "duplicates are reported, and stored",
}


def settings_of(crawler: Crawler) -> Settings:
    """The settings of a crawl that is to be checked.

    Raises:
        NotConfigured: SIMHASH_ENABLED is false; or a setting is wrong, and the crawl is refused.
    """
    try:
        settings = Settings.of(crawler)
    except SettingError:
        # Each component comes by here; a handler that is connected again is still one.
        crawler.signals.connect(_refuse_settings, signals.spider_opened)
        raise NotConfigured from None
    if not settings.enabled:
        raise NotConfigured("SIMHASH_ENABLED is False")
    return settings


class CrawlStart:
    """Opens the index before anything is fetched.

    Args:
        crawler: whose crawl starts.
        settings: of the crawl.
        worker: opens the database.
        stats: where trouble is counted.
        trouble: is told what may heal.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: Settings,
        worker: Worker,
        stats: CrawlStats,
        trouble: Trouble,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._worker = worker
        self._stats = stats
        self._trouble = trouble

    async def spider_opened(self, spider: Spider) -> None:
        """Handles the signal: Scrapy waits for it before it fetches the first page.

        Raises:
            CloseSpider: the index can't be used, and that will not change.
        """
        settings = self._settings
        namespace = settings.namespace_of(spider)
        try:
            check_name(namespace)
        except ValueError as error:
            given = f"SIMHASH_NAMESPACE = {settings.namespace!r}"
            self._refuse("simhash_misconfigured", SettingError(f"{given}: {error}"))
        try:
            size = await self._worker.open(namespace)
        except (SchemaMismatch, SchemeMismatch) as error:
            self._refuse("simhash_index_mismatch", error)
        except IndexUnusable as error:
            self._refuse("simhash_index_unusable", error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the crawl goes on or is closed
            if isinstance(error, IndexUnavailable) and settings.on_error == "close":
                self._refuse("simhash_index_unavailable", error)
            self._trouble.report(error)
        else:
            _spare_collector()
            logger.info(
                "Index %s, namespace %r with %s %s; near is %s (%s); %s; core: %s",
                settings.shown_database,
                namespace,
                f"{size:,}",
                plural(size, "claim"),
                settings.near,
                settings.compared,
                _DONE[settings.on_duplicate],
                native.in_use,
                extra={"spider": spider},
            )

    def _refuse(self, reason: str, error: Exception) -> NoReturn:
        self._stats.count_error(error.__cause__ or error)
        # The engine has not started, so that it never says that it stopped.
        self._crawler.signals.connect(self._close, signals.spider_closed)
        _refuse(self._crawler, reason, error)

    async def _close(self, reason: str) -> None:
        await self._worker.close(settled=True, reason=reason)


@cache  # once a process: what a crawl before this one has left behind is to be collected
def _spare_collector() -> None:
    """Leave what is loaded out of all garbage collections to come.

    Each page that waits for a verdict keeps the hundred tasks that Scrapy makes for it, so that
    collections of all there is are more frequent than without us; they held the event loop for a
    tenth of a second each, most of it for modules and the list of public suffixes.
    """
    gc.freeze()


def _refuse_settings(spider: Spider) -> None:
    """Handles the signal spider_opened where a setting is wrong."""
    try:
        Settings.of(spider.crawler)
    except SettingError as error:
        _refuse(spider.crawler, "simhash_misconfigured", error)


def _refuse(crawler: Crawler, reason: str, error: Exception) -> NoReturn:
    logger.critical("The crawl is not started: %s", error, extra={"spider": crawler.spider})
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        # A feed that an earlier crawl has written is not replaced by an empty one.
        slot.store_empty = False
    crawler.signals.connect(_count_as_failed, signals.spider_closed)
    raise CloseSpider(reason)


def _count_as_failed(spider: Spider) -> None:
    """Handles the signal spider_closed: a crawler without a spider could not start.

    That is where Scrapy looks: `scrapy crawl` then exits with 1.
    """
    spider.crawler.spider = None
