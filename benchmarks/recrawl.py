"""What a second crawl of a site costs where one page has changed, beside the first crawl.

    python benchmarks/recrawl.py FOLDER              # a site of .html files that link each other
    python benchmarks/recrawl.py FOLDER --start toc.html --rounds 5

`http.server` serves a copy of the folder over loopback, and answers If-Modified-Since. The spider
follows all links to pages; its items have URL and title. SIMHASH_KNOWN is "drop". Each crawl runs
in a process of its own, and each value of SIMHASH_REVISIT has its own database. Printed are medians
of the second crawl as a share of the first one: bytes received, CPU of the crawling process from
its first request to its end, and how many pages were downloaded or not found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

REVISITS = (None, "conditional")
SPAWN = get_context("spawn")
HOUR = 3600


class Crawl(NamedTuple):
    """What one crawl cost."""

    bytes: int
    cpu: float  # seconds
    downloaded: int
    missing: int
    stored: int


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URL of the folder, served while the block runs."""
    command = [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]
    with subprocess.Popen(
        [*command, "--protocol", "HTTP/1.1", "--directory", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://[\d.:]+/", server.stdout.readline())
            assert address is not None, "http.server says where it listens"
            yield address.group()
        finally:
            server.terminate()


def crawl(url: str, revisit: str | None, folder: str) -> Crawl:
    """Crawl the site in this process, which is good for one crawl only."""
    from scrapy import Spider, signals
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    class SiteSpider(Spider):
        name = "site"
        start_urls = (url,)
        allowed_domains = ("127.0.0.1",)
        links = LinkExtractor(allow=r"\.html?$")

        def parse(self, response: Any) -> Any:
            if "html" not in response.headers.get("Content-Type", b"").decode():
                return
            yield {"url": response.url, "title": response.css("title::text").get()}
            yield from response.follow_all(self.links.extract_links(response))

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "HTTPPROXY_ENABLED": False,
            "LOG_FILE": f"{folder}/crawl.log",
            "LOG_LEVEL": "INFO",
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.sqlite",
            "SIMHASH_KNOWN": "drop",
            "SIMHASH_REVISIT": revisit,
        }
    )
    crawler = process.create_crawler(SiteSpider)
    started = 0.0

    def start() -> None:
        nonlocal started
        started = time.process_time()

    crawler.signals.connect(start, signals.spider_opened)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats
    assert stats is not None
    if process.bootstrap_failed or stats.get_value("log_count/ERROR"):
        raise SystemExit("there are errors in the log: these figures mean nothing")
    return Crawl(
        stats.get_value("downloader/response_bytes"),
        time.process_time() - started,
        stats.get_value("downloader/response_status_count/200", 0),
        stats.get_value("downloader/response_status_count/404", 0),
        stats.get_value("item_scraped_count", 0),
    )


def change(page: Path) -> None:
    """Add a paragraph in the middle of the page, as if its author had done so an hour later."""
    modified = page.stat().st_mtime + HOUR
    parts = re.split(rb"(?i)(?=<p\b)", page.read_bytes())
    parts.insert(len(parts) // 2, b"<p>This paragraph was not there at the first visit.</p>")
    page.write_bytes(b"".join(parts))
    os.utime(page, (modified, modified))


def crawl_twice(site: Path, start: str, changed: str, revisit: str | None) -> tuple[Crawl, Crawl]:
    """The first and the second crawl of a copy of the site."""
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as one_each,
    ):
        copy = Path(folder, "site")
        shutil.copytree(site, copy)
        with served(copy) as url:
            first = one_each.submit(crawl, url + start, revisit, folder).result()
            change(copy / changed)
            return first, one_each.submit(crawl, url + start, revisit, folder).result()


def main() -> None:
    """Crawl the site twice with each setting, in turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path, help="a folder of .html files")
    parser.add_argument("--start", default="index.html", help="(default index.html)")
    parser.add_argument("--changed", help="the page that changes (default: the first one)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    changed = arguments.changed or arguments.start
    found: dict[str | None, list[tuple[Crawl, Crawl]]] = {revisit: [] for revisit in REVISITS}
    for _ in range(arguments.rounds):
        for revisit, crawls in found.items():
            crawls.append(crawl_twice(arguments.site, arguments.start, changed, revisit))
    (first, _), *_ = found[None]
    print(f"first crawl: {first.bytes:,} bytes, {first.downloaded} pages, {first.stored} stored\n")
    print("| SIMHASH_REVISIT | bytes | CPU | downloaded | not found | stored |")
    print("|---|---|---|---|---|---|")
    for revisit, crawls in found.items():
        shares = [(two.bytes / one.bytes, two.cpu / one.cpu) for one, two in crawls]
        size, cpu = (median(share) for share in zip(*shares, strict=True))
        last = crawls[-1][1]
        print(
            f"| {revisit!r} | {size:.1%} | {cpu:.1%} "
            f"| {last.downloaded} | {last.missing} | {last.stored} |"
        )


if __name__ == "__main__":
    main()
