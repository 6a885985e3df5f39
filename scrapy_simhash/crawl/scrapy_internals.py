"""Every use of Scrapy's undocumented attributes.

Where the installed Scrapy lacks one, the feature that needs it is lost and one warning says which;
the crawl goes on.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import scrapy
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FileFeedStorage
from scrapy.http import Response, TextResponse
from scrapy.spiders import CrawlSpider
from scrapy.utils import _compression
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

logger = logging.getLogger(__name__)

#: Bytes that an item counts for while it waits. Scrapy stops fetching at 5,000,000 by default
#: (SCRAPER_SLOT_MAX_ACTIVE_SIZE), so 250 items may wait: four times what one transaction claims.
_WAITING_ITEM = 20_000

#: Feeds that are overwritten by default.
_OVERWRITTEN = ("s3:", "gs:", "ftp:", "ftps:")

_lost: set[str] = set()


@contextmanager
def _or_lose(feature: str) -> Iterator[None]:
    """Log, once for each feature, that it does not work with this version of Scrapy.

    A decorated function then returns None.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if feature not in _lost:
            _lost.add(feature)
            logger.warning(
                "Scrapy %s differs from what this plugin expects (%s): %s",
                scrapy.__version__,
                str(error),  # whoever keeps the record would keep the crawl
                feature,
            )


def is_whole(packed: bytes, encoding: bytes, body: bytes) -> bool:
    """Whether a compressed body is complete; Scrapy decompresses a truncated one as far as it goes.

    `body` is the body that Scrapy has decompressed.
    """
    encoding, libraries = encoding.strip().lower(), cast("Any", _compression)
    with suppress(Exception):  # whatever the libraries raise for a damaged body
        # Some servers send gzip without a Content-Encoding.
        if encoding in {b"gzip", b"x-gzip"} or packed.startswith(b"\x1f\x8b"):
            # The trailer has the size.
            return int.from_bytes(packed[-4:], "little") == len(body)
        if encoding == b"br":
            stream = libraries.brotli.Decompressor()
            stream.process(packed)
            return bool(stream.is_finished())
        if encoding == b"deflate":
            stream = libraries.zlib.decompressobj()
        elif encoding != b"zstd":
            return True
        elif hasattr(libraries, "zstandard"):  # before Scrapy 2.18
            stream = libraries.zstandard.ZstdDecompressor().decompressobj()
        else:
            stream = libraries.zstd.ZstdDecompressor()
        stream.decompress(packed)
        return bool(stream.eof) and not stream.unused_data
    return False


def has_tree(response: Response) -> bool:
    """Whether the page has been parsed already."""
    return getattr(response, "_cached_selector", None) is not None


def release_tree(response: Response | None) -> None:
    """Free the parsed tree and the text of a page while the response waits for its verdict.

    Both take many times the bytes of the page. A response and its selector refer to each other, so
    only the garbage collector would free them otherwise, many at a time, blocking the event loop. A
    later use of the selector parses the page again. Freed right after reading, the thousands of
    nodes are still in the processor's caches.
    """
    if isinstance(response, TextResponse):
        with _or_lose("parsed pages stay in memory until they are garbage-collected"):
            if response._cached_selector is not None:
                response._cached_selector = None
            if response._cached_ubody is not None:
                response._cached_ubody = None


def callback_name(response: Response | None, spider: Spider | None) -> str:
    """The name of what yields the items of a response; None for items without one."""
    if response is None:
        return "start() or an errback"
    with _or_lose("messages do not name callbacks"):
        callback: Any = response.request.callback if response.request is not None else None
        while isinstance(callback, partial):
            callback = callback.func
        if isinstance(spider, CrawlSpider) and callback == spider._callback:
            callback = spider._rules[response.meta["rule"]].callback
        callback = callback or cast("Any", spider).parse
        return str(getattr(callback, "__qualname__", callback))
    return "a callback"


@contextmanager
def counted_as_load(crawler: Crawler) -> Iterator[None]:
    """Count an item that waits inside in the load at which Scrapy stops fetching.

    Scrapy counts the bodies of responses only. Thousands of small pages would fit, each with the
    hundred tasks that Scrapy creates for it and keeps until its item has passed the pipelines.
    """
    slot = getattr(getattr(crawler.engine, "scraper", None), "slot", None)
    counting = None
    with _or_lose("items that wait for the index do not slow down fetching"):
        if slot is not None:
            slot.active_size += _WAITING_ITEM
            counting = slot
    try:
        yield
    finally:
        if counting is not None:
            counting.active_size -= _WAITING_ITEM


@_or_lose("items count as stored although an item pipeline failed when it closed")
def watch_closing(crawler: Crawler, note_error: Callable[[Exception], None]) -> None:
    """Call a function if an item pipeline raises an error in close_spider."""
    processor: Any = crawler.engine.scraper.itemproc
    close = processor.close_spider_async

    async def close_and_note() -> None:
        try:
            await close()
        except Exception as error:
            note_error(error)
            raise

    processor.close_spider_async = close_and_note


@_or_lose("what the filter of an earlier crawl's requests leaves out counts as removed")
def may_know_requests(crawler: Crawler) -> bool:
    """Whether the filter of duplicates may know the requests of an earlier crawl; when opened.

    Those of a crawl that goes on, whose scheduler has requests already, are its own.
    """
    engine: Any = crawler.engine
    if engine._slot.scheduler.has_pending_requests():
        return False
    settings = crawler.settings
    if load_object(settings["DUPEFILTER_CLASS"]) not in {RFPDupeFilter, BaseDupeFilter}:
        return True
    seen = Path(settings["JOBDIR"] or "", "requests.seen")
    return bool(settings["JOBDIR"]) and seen.is_file() and seen.stat().st_size > 0


@_or_lose("items are compared without their pages, and copies wait for those that are dropped")
def watch_items(crawler: Crawler, watch: Callable[[Any], AbstractContextManager[None]]) -> None:
    """Surround the pipelines and signals of each item by what is returned for its response."""
    scraper: Any = crawler.engine.scraper
    start = scraper.start_itemproc_async

    async def start_watched(item: Any, *, response: Any) -> None:
        with watch(response):
            await start(item, response=response)

    scraper.start_itemproc_async = start_watched


def is_crawl(crawler: Crawler) -> bool:
    """Whether this is a crawl, and not ``scrapy shell``, ``fetch``, ``parse`` or ``check``.

    The shell starts no crawl; the others replace the method ``start`` of a project's spider.
    """
    module = str(getattr(getattr(crawler.spidercls, "start", None), "__module__", ""))
    return crawler.crawling and not module.startswith("scrapy.commands.")


@_or_lose("crawls with different arguments of the spider count as alike")
def spider_arguments(crawler: Crawler) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments that a spider was made with; called while its crawler is starting."""
    frame = sys._getframe()
    while frame.f_locals.get("self") is not crawler or "kwargs" not in frame.f_locals:
        if frame.f_back is None:
            raise LookupError("no method of the crawler has the arguments of the spider")
        frame = frame.f_back
    return frame.f_locals["args"], frame.f_locals["kwargs"]


def close_crawl(crawler: Crawler, reason: str) -> None:
    """Close the spider soon; to await that from an item's task would wait for this very item."""
    if crawler.engine is not None:
        with _or_lose("a crawl is not closed when its index fails"):
            deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


def refuse(crawler: Crawler, reason: str) -> None:
    """Close the spider before it fetches anything; called last in handlers of spider_opened.

    `scrapy crawl` exits with 1. CloseSpider is raised with Scrapy 2.18 or later; earlier versions
    only log it.
    """

    def count_as_failed() -> None:
        # A crawler that has no spider when it ends could not start.
        crawler.spider = None

    async def close() -> None:
        if crawler.engine is not None:
            await crawler.engine.close_spider_async(reason=reason)

    crawler.signals.connect(count_as_failed, signals.spider_closed, weak=False)
    if scrapy.version_info >= (2, 18):
        raise CloseSpider(reason)
    crawler.signals.connect(close, signals.engine_started, weak=False)


_NO_FEED_CHECK = "items count as stored although a feed may have failed to write them"


@_or_lose(_NO_FEED_CHECK)
def feeds_written(exporter: FeedExporter) -> tuple[int, object] | None:
    """How many items all feeds have written so far, and the list of their slots.

    A full file is replaced by the next one while the exporter handles the item that filled it. The
    exporter replaces the list after each item, unless it fails at one.
    """
    slots = exporter.slots
    full = (slot.feed_options["batch_item_count"] * (slot.batch_id - 1) for slot in slots)
    return sum(full) + sum(slot.itemcount for slot in slots), slots


@_or_lose(_NO_FEED_CHECK)
def closed_feed(slot: FeedSlot) -> tuple[int, str | None] | None:
    """The items of a complete file of a feed, and its path if it is local."""
    storage = slot.storage
    path = storage.path if isinstance(storage, FileFeedStorage) else None
    return slot.itemcount, path


def replaces_feeds(crawler: Crawler) -> bool:
    """Whether a feed replaces that of an earlier crawl: it is overwritten, under a fixed name."""
    feeds = getattr(crawler.get_extension(FeedExporter), "feeds", {})
    return any(is_replaced(uri, options) for uri, options in feeds.items())


def is_replaced(uri: str, options: Mapping[str, Any]) -> bool:
    """Whether a feed replaces that of an earlier crawl."""
    return bool(options.get("overwrite", uri.startswith(_OVERWRITTEN))) and "%(" not in uri


@_or_lose("a crawl that is refused may replace earlier feeds by empty files")
def keep_old_feeds(crawler: Crawler) -> None:
    """Let a crawl that is refused not replace the feeds of an earlier one by empty files."""
    exporter: Any = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        if slot.store_empty:
            slot.store_empty = False
