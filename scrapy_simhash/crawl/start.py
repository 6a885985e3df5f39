"""The start of a crawl: the index is opened and logged, or the crawl is refused in one line.

What will never work is known before anything is fetched: the crawl is then closed as soon as its
spider is open, and counts as failed. (An exception elsewhere would print a traceback, and one in a
signal handler is only logged.)
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers

from scrapy_simhash import native
from scrapy_simhash.crawl.scrapy_internals import is_crawl, keep_old_feeds, refuse, spider_arguments
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy
from scrapy_simhash.crawl.thread import CrawlDatabase
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.db.lock import Liveness
from scrapy_simhash.db.values import check_name
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable, SettingError
from scrapy_simhash.visible import plural

logger = logging.getLogger(__name__)

# The thresholds of Python's garbage collector. By default it examines every 700 new objects, though
# most are in use until their page has its verdict. Full collections are as frequent as before.
_THRESHOLDS = (5000, 5, 2)

_ACTIONS = {
    "drop": "duplicates are dropped",
    "skip": "duplicates are dropped, and the links of their pages not followed",
    "report": "duplicates are reported, and stored",
}


def settings_of(crawler: Crawler) -> Settings:
    """The settings of a crawl that is to be checked.

    NotConfigured is raised if SIMHASH_ENABLED is false; or a setting is wrong, and the crawl is
    refused; or nothing is crawled.
    """
    if not is_crawl(crawler):
        raise NotConfigured
    try:
        settings = Settings.read(crawler.settings)
    except SettingError:
        # Each component calls this; connecting a handler twice is the same as once.
        crawler.signals.connect(_refuse_settings, signals.spider_opened)
        raise NotConfigured from None
    if not settings.enabled:
        raise NotConfigured
    return settings


def database_of(crawler: Crawler, settings: Settings) -> Callable[[Liveness], CrawlDatabase]:
    """What opens the database of a crawl; called while the crawler is starting."""
    spider = crawler.spider
    return partial(
        CrawlDatabase,
        settings,
        spider=spider.name if spider else "",
        job=str(crawler.settings.get("JOBDIR") or ""),
        arguments=_arguments_of(crawler),
        reset=settings.reset,
    )


def _arguments_of(crawler: Crawler) -> str:
    """A hash of what a spider may follow, and in which language: its arguments, and limits.

    Arguments are those given with -a, or to a runner: what else the spider has may be of one crawl,
    such as its time.
    """
    given, named = spider_arguments(crawler) or ((), {})
    headers = Headers(crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"))
    follows = {
        "arguments": [given, dict(sorted(named.items()))],
        "allowed_domains": sorted(getattr(crawler.spider, "allowed_domains", None) or ()),
        "limits": [crawler.settings.getint(name) for name in ("DEPTH_LIMIT", "URLLENGTH_LIMIT")],
        "language": str(headers.get("Accept-Language")),
    }
    # The text of any other object may differ between processes, so only its type counts.
    text = json.dumps(follows, skipkeys=True, default=lambda value: type(value).__name__)
    return blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(eq=False)
class CrawlStart:
    """Opens the index before anything is fetched."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    errors: ErrorPolicy

    async def spider_opened(self, spider: Spider) -> None:
        """Handle the signal; Scrapy waits for it before it fetches the first page."""
        # A shell does not crawl, but may stay open for days: all crawls would share its epoch.
        if not getattr(self.crawler, "crawling", True):
            return
        settings = self.settings
        namespace = settings.namespace_of(spider)
        try:
            check_name(namespace)
        except ValueError as error:
            given = f"SIMHASH_NAMESPACE = {settings.namespace!r}"
            self._refuse("simhash_misconfigured", SettingError(f"{given}: {error}"))
            return
        try:
            size = await self.worker.open(namespace)
        except IndexMismatch as error:
            self._refuse("simhash_index_mismatch", error)
        except IndexUnusable as error:
            self._refuse("simhash_index_unusable", error)
        except Exception as error:  # noqa: BLE001 - any error: the crawl goes on or is closed
            if isinstance(error, IndexUnavailable) and settings.on_error == "close":
                self._refuse("simhash_index_unavailable", error)
            else:
                self.errors.report(error)
        else:
            _collect_less_garbage()
            logger.info(
                "Index %s, namespace %r with %s stored %s; %s (%s); %s; core: %s",
                settings.shown_database,
                namespace,
                f"{size:,}",
                plural(size, "item"),
                settings.near,
                settings.compared,
                _ACTIONS[settings.on_duplicate],
                native.in_use,
                extra={"spider": spider},
            )

    def _refuse(self, reason: str, error: Exception) -> None:
        self.stats.count(f"index/errors/{type(error.__cause__ or error).__name__}")
        # An engine that has not started sends no engine_stopped.
        self.crawler.signals.connect(self._close, signals.spider_closed)
        _refuse(self.crawler, reason, error)

    async def _close(self, reason: str) -> None:
        await self.worker.close(settled=True, reason=reason)


@cache  # once per process: garbage of an earlier crawl must be collected
def _collect_less_garbage() -> None:
    """Exclude everything loaded so far from garbage collection, and look at new objects less often.

    Each page that waits for a verdict keeps the hundred tasks that Scrapy creates for it, so full
    collections are more frequent than without this plugin. Each blocked the event loop for a tenth
    of a second, most of it for modules. A collector that runs more rarely is left alone.
    """
    gc.freeze()
    if 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
        gc.set_threshold(*_THRESHOLDS)


def _refuse_settings(spider: Spider) -> None:
    """Handle spider_opened where a setting is wrong."""
    try:
        Settings.read(spider.crawler.settings)
    except SettingError as error:
        _refuse(spider.crawler, "simhash_misconfigured", error)


def _refuse(crawler: Crawler, reason: str, error: Exception) -> None:
    logger.critical("The crawl is not started: %s", error, extra={"spider": crawler.spider})
    keep_old_feeds(crawler)
    refuse(crawler, reason)
