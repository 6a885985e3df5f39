"""What a second crawl of a site costs where one page has changed, beside the first crawl.

    python benchmarks/recrawl.py FOLDER              # a site of .html files that link each other
    python benchmarks/recrawl.py FOLDER --start toc.html --rounds 5

nginx serves a copy of the folder over loopback, compressed; without nginx, `http.server` does. The
spider follows all links to pages; its items have URL and title. It runs without the plugin and with
Scrapy's own cache (RFC2616Policy, files), and with the plugin, SIMHASH_KNOWN being "drop". Each
crawl runs in a process of its own, and each way has its own database. Printed are medians of the
second crawl: bytes received as a share of the first crawl without the plugin, CPU of the crawling
process from its first request to its end beside that of Scrapy's cache, and how many pages were
downloaded, were not found and were stored; and of the first crawl its CPU beside that without
SIMHASH_REVISIT.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from socket import create_connection, socket
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

#: The settings of each way.
WAYS: dict[str, dict[str, Any]] = {
    "without the plugin": {"ADDONS": {}},
    "HTTPCACHE_ENABLED, RFC2616": {
        "ADDONS": {},
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        # Without it, the policy derives from Last-Modified that pages need not be asked for.
        "DEFAULT_REQUEST_HEADERS": {"Cache-Control": "max-age=0"},
    },
    "SIMHASH_REVISIT = None": {},
    "SIMHASH_REVISIT = 'conditional'": {"SIMHASH_REVISIT": "conditional"},
}
_SCRAPYS, _WITHOUT, _OURS = list(WAYS)[1:]
SPAWN = get_context("spawn")
HOUR = 3600


class Crawl(NamedTuple):
    """What one crawl cost."""

    bytes: int
    cpu: float  # seconds
    downloaded: int
    missing: int
    stored: int


# Otherwise nginx drops the right to read the folder.
USER = "user root;" if os.geteuid() == 0 else ""
NGINX = """
daemon off; {user} pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{}}
http {{
    include /etc/nginx/mime.types; access_log off; gzip on; gzip_proxied any;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{ listen 127.0.0.1:{port}; root {site}; }}
}}
"""


@contextmanager
def served(
    site: Path, command: Sequence[str] = ("nginx", "-c"), configuration: str = NGINX
) -> Iterator[str]:
    """The URL of a folder, served while the block runs; by `http.server` without the program."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if shutil.which(command[0]):
        file = site.parent / "server.conf"
        file.write_text(configuration.format(folder=site.parent, site=site, port=port, user=USER))
        command = [*command, str(file)]
    else:
        http = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
        command = [*http, "--protocol", "HTTP/1.1", "--directory", str(site)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(100):
                time.sleep(0.1)
                with suppress(OSError), create_connection(("127.0.0.1", port)):
                    break
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def crawl(url: str, way: str, folder: str) -> Crawl:
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
            "HTTPCACHE_DIR": f"{folder}/httpcache",
            "HTTPPROXY_ENABLED": False,
            "LOG_FILE": f"{folder}/crawl.log",
            "LOG_LEVEL": "INFO",
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.sqlite",
            "SIMHASH_KNOWN": "drop",
            "TELNETCONSOLE_ENABLED": False,
            **WAYS[way],
        }
    )
    crawler = process.create_crawler(SiteSpider)
    started, received, downloaded = 0.0, 0, 0

    def start() -> None:
        nonlocal started
        started = time.process_time()

    def headers_received(headers: Any) -> None:
        nonlocal received
        received += len(headers.to_string())

    def response_downloaded(response: Any) -> None:
        nonlocal received, downloaded
        # As it was downloaded: middlewares decompress it later.
        received += len(response.body)
        downloaded += response.status == 200

    crawler.signals.connect(start, signals.spider_opened)
    crawler.signals.connect(headers_received, signals.headers_received)
    crawler.signals.connect(response_downloaded, signals.response_downloaded)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats
    assert stats is not None
    if process.bootstrap_failed or stats.get_value("log_count/ERROR"):
        raise SystemExit("there are errors in the log: these figures mean nothing")
    return Crawl(
        received,
        time.process_time() - started,
        downloaded,
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


def crawl_twice(site: Path, start: str, changed: str, way: str) -> tuple[Crawl, Crawl]:
    """The first and the second crawl of a copy of the site."""
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as one_each,
    ):
        copy = Path(folder, "site")
        shutil.copytree(site, copy)
        with served(copy) as url:
            first = one_each.submit(crawl, url + start, way, folder).result()
            change(copy / changed)
            second = one_each.submit(crawl, url + start, way, folder).result()
        if (pages := Path(folder, "index-pages.sqlite")).exists():
            print(f"{pages.stat().st_size / first.downloaded:,.0f} bytes on disk a stored page")
        return first, second


def main() -> None:
    """Crawl the site twice in each way, in turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path, help="a folder of .html files")
    parser.add_argument("--start", default="index.html", help="(default index.html)")
    parser.add_argument("--changed", help="the page that changes (default: the first one)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    changed = arguments.changed or arguments.start
    found: dict[str, list[tuple[Crawl, Crawl]]] = {way: [] for way in WAYS}
    for _ in range(arguments.rounds):
        for way, crawls in found.items():
            crawls.append(crawl_twice(arguments.site, arguments.start, changed, way))
    bare = [first for first, _ in next(iter(found.values()))]
    print(f"first crawl: {bare[0].bytes:,} bytes, {bare[0].downloaded} pages\n")
    print("| second crawl | bytes | CPU | downloaded | not found | stored |")
    print("|---|---|---|---|---|---|")
    for way, crawls in found.items():
        size = median(two.bytes / one.bytes for one, (_, two) in zip(bare, crawls, strict=True))
        cpus = [
            two.cpu / cached.cpu
            for (_, two), (_, cached) in zip(crawls, found[_SCRAPYS], strict=True)
        ]
        last = crawls[-1][1]
        print(
            f"| {way} | {size:.1%} | {median(cpus):.2f} ({min(cpus):.2f} to {max(cpus):.2f}) "
            f"| {last.downloaded} | {last.missing} | {last.stored} |"
        )
    firsts = [
        ours.cpu / without.cpu
        for (ours, _), (without, _) in zip(found[_OURS], found[_WITHOUT], strict=True)
    ]
    print(f"\nfirst crawl, {_OURS}: {median(firsts):.3f} of the CPU of {_WITHOUT}")


if __name__ == "__main__":
    main()
