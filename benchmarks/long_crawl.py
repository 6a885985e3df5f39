"""A long crawl of small pages: whether it stays as fast, and as small, as it was at its beginning.

    python benchmarks/long_crawl.py                       # 100,000 pages, bare and with the plugin
    python benchmarks/long_crawl.py --pages 20000 --free  # pages that cost nothing: claims a second

Nothing goes through a network: pages are answered in the process, 200 words each, every tenth with
the text of another one. With --free the spider reads nothing, and its items carry a text that was
made beforehand, so that what is left is Scrapy's own work and the claims. Prints pages a second and
the resident memory for every tenth of the crawl; each crawl is a process of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import psutil
from scrapy import Request
from scrapy.crawler import Crawler

WORDS = 200
PARTS = 10
CONCURRENCY = 16
MIB = 1 << 20


class Part(NamedTuple):
    """A tenth of a crawl."""

    seconds: float
    cpu: float
    memory: int  # resident at its end, in bytes


def text(number: int) -> str:
    """Two hundred words; every tenth text is that of another page."""
    chosen = random.Random(number // 10 * 10 if number % 10 == 9 else number)
    letters = "".join(chosen.choices("abcdeghiklmnoprstu", k=6 * WORDS))
    return " ".join(letters[start : start + 6] for start in range(0, len(letters), 6))


class LocalHandler:
    """A download handler that has all pages."""

    lazy = False

    def __init__(self, *, free: bool) -> None:
        self._free = free

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LocalHandler:
        """Built by Scrapy."""
        return cls(free=crawler.settings.getbool("FREE"))

    async def download_request(self, request: Request) -> Any:
        """The page of a request."""
        from scrapy.http import HtmlResponse

        number = int(request.url.rpartition("/")[2])
        body = "" if self._free else f"<article><p>{text(number)}</p></article>"
        page = (
            f"<!DOCTYPE html><html><head><title>{number}</title></head><body>{body}</body></html>"
        )
        return HtmlResponse(request.url, body=page.encode(), encoding="utf-8")

    async def close(self) -> None:
        """Nothing to close."""


def crawl(settings: Mapping[str, Any], pages: int, free: bool, folder: str) -> list[Part]:
    """Crawl so many pages in this process, which is good for one crawl only."""
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess

    texts = [text(number) for number in range(pages)] if free else []

    class SmallPages(Spider):
        name = "small"

        async def start(self) -> Any:
            for number in range(min(CONCURRENCY, pages)):
                yield Request(f"http://local.example/{number}")

        def parse(self, response: Any) -> Any:
            number = int(response.url.rpartition("/")[2])
            # One after the other: of a long list Scrapy would hold all that it has not asked for.
            if number + CONCURRENCY < pages:
                yield Request(f"http://local.example/{number + CONCURRENCY}")
            if free:
                yield {"url": response.url, "text": texts[number]}
            else:
                yield {"url": response.url, "title": response.css("title::text").get()}

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            "DOWNLOAD_HANDLERS": {"http": f"{__name__}.LocalHandler"},
            "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines"}},
            "FREE": free,
            "LOG_FILE": f"{folder}/crawl.log",
            "LOG_LEVEL": "WARNING",
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.sqlite",
            **settings,
        }
    )
    crawler = process.create_crawler(SmallPages)
    parts: list[Part] = []
    ended = 0
    before = (0.0, 0.0)

    def on_open() -> None:
        nonlocal before
        before = (time.monotonic(), time.process_time())

    def on_end() -> None:
        nonlocal ended, before
        ended += 1
        if ended % (pages // PARTS) == 0:
            now = (time.monotonic(), time.process_time())
            memory = psutil.Process().memory_info().rss
            parts.append(Part(now[0] - before[0], now[1] - before[1], memory))
            before = now

    crawler.signals.connect(on_open, signals.spider_opened)
    crawler.signals.connect(on_end, signals.item_scraped)
    crawler.signals.connect(on_end, signals.item_dropped)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    if errors := crawler.stats.get_value("log_count/ERROR"):
        raise SystemExit(f"{errors} errors in the log: these figures mean nothing")
    return parts


def main() -> None:
    """Crawl without and with the plugin, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--free", action="store_true", help="pages that cost nothing")
    arguments = parser.parse_args()
    kinds: dict[str, dict[str, Any]] = {
        "bare": {},
        "with the plugin": {"ADDONS": {"scrapy_simhash.Addon": 500}},
    }
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as one_each:
        for name, settings in kinds.items():
            with TemporaryDirectory() as folder:
                run = partial(crawl, settings, arguments.pages, arguments.free, folder)
                parts = one_each.submit(run).result()
            each = arguments.pages / PARTS
            print(f"\n{name}: {arguments.pages / sum(part.seconds for part in parts):.0f} a second")
            print("| pages | a second | ms of CPU a page | MiB |\n|---|---|---|---|")
            for number, part in enumerate(parts):
                print(
                    f"| {(number + 1) * each:,.0f} | {each / part.seconds:.0f} "
                    f"| {1000 * part.cpu / each:.2f} | {part.memory / MIB:.0f} |"
                )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
