"""What Scrapy enables: the add-on, the spider middleware, the item pipeline, the extension."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.logstats import LogStats
from scrapy.http import Response
from scrapy.pipelines.media import MediaPipeline
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_simhash.crawl.deduplicator import Deduplicator
from scrapy_simhash.crawl.feeds import feeds_are_disabled
from scrapy_simhash.crawl.revisit import Revisits
from scrapy_simhash.crawl.scrapy_internals import watch_closing, watch_items
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.visible import plural

logger = logging.getLogger(__name__)


class SimhashSpiderMiddleware:
    """Passes on the output of callbacks; with "skip" without the requests of duplicate pages."""

    def __init__(self, deduplicator: Deduplicator) -> None:
        self._deduplicator = deduplicator
        self._skips = deduplicator.settings.on_duplicate == "skip"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(Deduplicator.of(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called by Scrapy with the output of a callback; records the page of each item.

        With "skip", requests wait for the verdict on the only item of their page, so far.
        """
        tracker, revisits = self._deduplicator.tracker, self._deduplicator.revisits
        page = tracker.open(response)
        if revisits is not None:
            revisits.begin(page, response)
        held: list[Request] = []
        error = None
        has_links = False
        try:
            async for output in tracker.follow(page, result):
                is_link = isinstance(output, Request)
                has_links |= is_link
                if is_link and self._skips and page.items == 1:
                    held.append(output)
                else:
                    yield output
        except Exception as raised:  # noqa: BLE001 - raised again behind what is held
            error = raised
        if revisits is not None and error is None:
            revisits.end(page, has_links=has_links)
        if held and await tracker.is_copy(page):
            self._deduplicator.stats.count("pages/skipped")
            held.clear()
        for request in held:
            yield request
        if error is not None:
            raise error


class SimhashDownloaderMiddleware:
    """Returns the stored pages that need not be downloaded: SIMHASH_REVISIT."""

    def __init__(self, deduplicator: Deduplicator, revisits: Revisits) -> None:
        # It lives as long as one of its components.
        self._deduplicator = deduplicator
        # Scrapy calls them with each request, response and error of a download.
        self.process_request = revisits.process_request
        self.process_response = revisits.process_response
        self.process_exception = revisits.process_exception

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy; raises as :meth:`Deduplicator.of` does, or without SIMHASH_REVISIT."""
        deduplicator = Deduplicator.of(crawler)
        if deduplicator.revisits is None:
            raise NotConfigured
        return cls(deduplicator, deduplicator.revisits)


class SimhashPipeline:
    """Checks each item, and drops duplicates before they are stored."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._deduplicator = Deduplicator.of(crawler)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy; raises as :meth:`Deduplicator.of` does."""
        return cls(crawler)

    def spider_opened(self) -> None:
        """Handle the signal: warn if an earlier pipeline may store items, or nothing stores them.

        The claims of a crawl in which nothing stores items are confirmed all the same, as an
        extension or a middleware may store them. But it may also be a trial run, which should leave
        nothing behind.
        """
        watch_closing(self._crawler, self._deduplicator.end.pipeline_errors.append)
        watch_items(self._crawler, self._deduplicator.tracker.watch)
        numbers = self._pipelines()
        mine = numbers.pop(type(self), 0)
        # Media pipelines do not store the item itself.
        may_be_stored = any(
            number >= mine and not issubclass(kind, MediaPipeline)
            for kind, number in numbers.items()
        )
        self._deduplicator.feeds.is_stored_elsewhere = may_be_stored
        earlier = [kind for kind, number in numbers.items() if number < mine]
        if self._deduplicator.settings.drops and earlier:
            logger.warning(
                "These item pipelines run before %s (%d), so they also get the items that are "
                "dropped: %s. If one of them stores items or downloads files, give it a higher "
                "number in ITEM_PIPELINES",
                type(self).__qualname__,
                mine,
                ", ".join(
                    f"{kind.__module__}.{kind.__qualname__} ({numbers[kind]})" for kind in earlier
                ),
            )
        exporter = self._crawler.get_extension(FeedExporter)
        # Items that disabled feeds lack count as not stored.
        wants_feed = exporter is not None or feeds_are_disabled(self._crawler)
        if not (wants_feed or may_be_stored):
            logger.warning(
                "Nothing stores the items of this crawl: it has no feed, and no item pipeline "
                "after SimhashPipeline. They are remembered as stored, so later crawls may drop "
                "them. For a trial run add -s SIMHASH_ENABLED=0, or -o and a file; if an extension "
                "or a middleware stores the items, ignore this"
            )

    def _pipelines(self) -> dict[type, int]:
        """The classes of the item pipelines in use, in their order, with their numbers."""
        settings = self._crawler.settings
        placed = settings.get_component_priority_dict_with_base("ITEM_PIPELINES")
        numbers = {
            load_object(kind): number for kind, number in placed.items() if number is not None
        }
        ordered = sorted(numbers, key=numbers.__getitem__)
        is_in_use = self._crawler.get_item_pipeline
        return {kind: numbers[kind] for kind in ordered if is_in_use(kind) is not None}

    async def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item; raises NearDuplicateItem to drop it."""
        return await self._deduplicator.process(item)


class SimhashLogStats(LogStats):
    """Logs the verdicts every LOGSTATS_INTERVAL, as Scrapy's LogStats logs pages and items."""

    _before = (0, 0)

    def log(self, spider: Spider) -> None:
        """Called every interval; the first line comes with the first verdict."""
        stats = CrawlStats(self.stats)
        now = stats.get("unique"), stats.get("duplicates")
        (unique, duplicates), before, self._before = now, self._before, now
        if stats.get("checked"):
            same = stats.get("same")
            logger.info(
                "%d unique (at %d/min), %d %s (at %d/min)%s",
                unique,
                (unique - before[0]) * self.multiplier,
                duplicates,
                plural(duplicates, "near-duplicate"),
                (duplicates - before[1]) * self.multiplier,
                f", {same} seen in earlier crawls" if same else "",
                extra={"spider": spider},
            )


class Addon:
    """Enables the components of this package, unless the project has placed them itself."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl starts."""
        for setting, component, place in (
            # Where Scrapy's own cache stands: other components see no answer of 304.
            ("DOWNLOADER_MIDDLEWARES", SimhashDownloaderMiddleware, 900),
            # Closest to the engine: it must not see what other spider middlewares filter out.
            ("SPIDER_MIDDLEWARES", SimhashSpiderMiddleware, 40),
            # Before pipelines that store items, or replace them by other objects.
            ("ITEM_PIPELINES", SimhashPipeline, 100),
            ("EXTENSIONS", SimhashLogStats, 0),
        ):
            settings.setdefault_in_component_priority_dict(setting, component, place)
