"""A site over loopback HTTP, and crawls of it, for tests."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, DropItem
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_simhash.signals import near_duplicate

_WORDS = [a + b for a in ("ba", "ke", "lo", "mi", "su", "ta", "vo") for b in "bdfghjklmnprstvz"]
_WORDS = [a + b for a in _WORDS for b in ("an", "el", "ix", "or", "um")]


def prose(seed: object, words: int = 120) -> str:
    """A text that has nothing in common with that of another seed."""
    choose = random.Random(str(seed))
    return " ".join(choose.choice(_WORDS) for _ in range(words))


def article(seed: object, extra: str = "") -> bytes:
    """A page with the text of a seed; `extra` is in its navigation, outside of the content."""
    return (
        f"<!DOCTYPE html><html><body><nav>{extra}</nav>"
        f"<article><p>{prose(seed)}</p></article></body></html>"
    ).encode()


def in_batch(groups: int, copies: int) -> list[str]:
    """The paths of articles, each followed by its copies."""
    return [f"/{group}/{copy}" for group in range(groups) for copy in range(copies)]


class Page(NamedTuple):
    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200


@contextmanager
def serve(pages: Mapping[str, bytes | Page]) -> Iterator[str]:
    """Serve pages by path; queries are ignored. Yields the address without a trailing slash."""

    def find(path: str) -> bytes | Page | None:
        return pages.get(path.partition("?")[0])

    with answering(find) as address:
        yield address


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        """Print nothing when a killed crawler drops its connection."""


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with a handler. Yields the address as `serve` does."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def answering(find: Callable[[str], bytes | Page | None]) -> Iterator[str]:
    """Serve what a function returns for a request target. Yields the address as `serve` does."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Otherwise each answer waits for the acknowledgement of its head.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            page = find(self.path)
            if not isinstance(page, Page):
                page = Page(b"", status=404) if page is None else Page(page)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, *args: object) -> None:
            pass

    with running(Handler) as address:
        yield address


@dataclass
class Crawl:
    """The outcome of a crawl."""

    crawler: Crawler
    items: list[Any] = field(default_factory=list)
    drops: list[tuple[Any, DropItem]] = field(default_factory=list)
    announced: list[Any] = field(default_factory=list)
    reason: str = ""

    @property
    def stats(self) -> dict[str, Any]:
        """The stats of this package, without the prefix."""
        every = self.crawler.stats.get_stats()
        return {
            name.removeprefix("simhash/"): value
            for name, value in every.items()
            if name.startswith("simhash/")
        }

    @property
    def errors(self) -> int:
        return self.crawler.stats.get_value("log_count/ERROR", 0)

    @property
    def urls(self) -> list[str]:
        """The paths of the pages that the items came from, sorted."""
        return sorted(path_of(item["url"]) for item in self.items)


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def critical_lines(caplog: Any) -> list[str]:
    """The messages logged as critical: why crawls were not started."""
    return [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]


def error_lines(caplog: Any) -> list[str]:
    """The messages logged as errors."""
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def sums_that_are_wrong(stats: Mapping[str, Any]) -> list[str]:
    """Sums in the stats of a crawl that do not match; names are without their prefix."""
    get = stats.get
    skipped = sum(count for name, count in stats.items() if name.startswith("skipped/"))
    kinds = ("unique", "duplicates", "same", "failed_open")
    outcomes = ("claims/confirmed", "claims/released", "claims/open")
    sums = [
        ("checked", get("checked", 0), skipped + sum(get(kind, 0) for kind in kinds)),
        ("unique", get("unique", 0), sum(get(name, 0) for name in outcomes)),
    ]
    return [f"{name}: {whole} is not {parts}" for name, whole, parts in sums if whole != parts]


class PageSpider(Spider):
    """Yields an item for each of the given pages."""

    name = "pages"

    def __init__(self, urls: list[str | Request] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls

    async def start(self):
        for url in self.urls:
            yield Request(url, dont_filter=True) if isinstance(url, str) else url

    def parse(self, response: Response, **kwargs: Any):
        yield {"url": response.url}


class InPhases(PageSpider):
    """Fetches the pages in parts, and calls a function before each part.

    A function that returns False is called again later; the part waits for it.
    """

    def __init__(self, phases: list[Callable[[], object]], urls: list[str]) -> None:
        super().__init__()
        self.phases = list(phases)
        self.parts = [urls[place :: len(phases)] for place in range(len(phases))]

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.next_phase, signals.spider_idle)
        return spider

    async def start(self):
        for request in self.requests():
            yield request

    def requests(self):
        if self.phases[0]() is False:
            raise DontCloseSpider
        del self.phases[0]
        return [Request(url) for url in self.parts.pop(0)]

    def next_phase(self):
        for request in self.requests() if self.parts else ():
            self.crawler.engine.crawl(request)


#: Settings of a crawl with a feed.
STORES = {"FEEDS": {os.devnull: {"format": "jsonlines"}}}


async def crawl(
    spider: type[Spider], settings: Mapping[str, Any], *args: Any, **kwargs: Any
) -> Crawl:
    """Crawl with the add-on, and check that the sums of its stats match."""
    crawler = get_crawler(
        spider,
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            **settings,
        },
    )
    crawl = Crawl(crawler)

    def scraped(item: Any) -> None:
        crawl.items.append(item)

    def dropped(item: Any, exception: DropItem) -> None:
        crawl.drops.append((item, exception))

    def announced(item: Any) -> None:
        crawl.announced.append(item)

    def closed(reason: str) -> None:
        crawl.reason = reason

    for handler, signal in (
        (scraped, signals.item_scraped),
        (dropped, signals.item_dropped),
        (announced, near_duplicate),
        (closed, signals.spider_closed),
    ):
        crawler.signals.connect(handler, signal)
    await crawler.crawl_async(*args, **kwargs)
    assert sums_that_are_wrong(crawl.stats) == []
    return crawl
