"""What the plugin costs a crawl: CPU per page with it and without it, on real pages.

    python benchmarks/crawl.py pages.tar.xz
    python benchmarks/crawl.py folder --set SIMHASH_SIMILARITY=0.8 --rounds 9
    python benchmarks/crawl.py folder --bare      # the bare crawl twice: the noise

Pages are served over loopback by a process of their own, as text/html without a charset. Each
crawl is a process too; the two kinds take turns and every round gives one ratio. CPU is that of
the crawling process, all threads, from the end of the warm-up to the end of the crawl: imports
and start-up are left out, storing and closing are in.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tarfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

WARM_UP = 20  # pages before the clock starts, where there are at least ten times as many
SPAWN = get_context("spawn")


@dataclass
class Crawl:
    """What one crawl cost, in seconds of CPU for so many pages, and what it dropped."""

    cpu: float
    pages: int
    stored: int
    errors: int
    drops: list[tuple[str, str, float]]  # URL, URL of the match, similarity

    @property
    def cpu_per_page(self) -> float:
        """In milliseconds."""
        return 1000 * self.cpu / self.pages


def read_pages(source: Path) -> dict[str, bytes]:
    """The .html files below a folder, or in a tar archive, by the path of their URL."""
    if source.is_dir():
        files = {
            path.relative_to(source).as_posix(): path.read_bytes()
            for path in sorted(source.rglob("*.html"))
        }
    else:
        with tarfile.open(source) as archive:
            files = {
                member.name: file.read()
                for member in archive
                if member.name.endswith(".html") and (file := archive.extractfile(member))
            }
    if not files:
        raise SystemExit(f"{source}: no .html file in it")
    return {f"/{quote(name)}": body for name, body in files.items()}


def serve_pages(source: Path, parent: Connection) -> None:
    """Serve the pages of a folder or an archive, and tell the parent the port and the paths."""
    pages = read_pages(source)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = pages[self.path]
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    parent.send([f"http://127.0.0.1:{server.server_port}{path}" for path in pages])
    server.serve_forever()


@contextmanager
def served(source: Path) -> Iterator[list[str]]:
    """The URLs of the pages, served while the block runs."""
    here, there = SPAWN.Pipe()
    server = SPAWN.Process(target=serve_pages, args=(source, there), daemon=True)
    server.start()
    there.close()
    try:
        yield here.recv()
    finally:
        server.terminate()
        server.join()


def crawl(urls: list[str], settings: dict[str, Any], folder: str) -> Crawl:
    """Crawl the pages in this process, which is good for one crawl only."""
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess

    class PagesSpider(Spider):
        name = "pages"

        async def start(self) -> Any:
            for url in urls:
                yield Request(url)

        def parse(self, response: Any) -> Any:
            yield {
                "url": response.url,
                "title": response.css("title::text").get(),
                "links": response.css("a::attr(href)").getall(),
            }

    process = CrawlerProcess(
        {
            "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines", "encoding": "utf-8"}},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "HTTPPROXY_ENABLED": False,
            "LOG_FILE": f"{folder}/crawl.log",
            "LOG_LEVEL": "INFO",
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.sqlite",
            **settings,
        }
    )
    crawler = process.create_crawler(PagesSpider)
    warm_up = WARM_UP if len(urls) >= 10 * WARM_UP else 0
    received = 0
    started = 0.0
    drops = []

    def on_open() -> None:
        nonlocal started
        started = time.process_time()

    def on_response() -> None:
        nonlocal received, started
        received += 1
        if received == warm_up:
            started = time.process_time()

    def on_drop(item: Any, exception: Any) -> None:
        drops.append((item["url"], exception.match.url, exception.match.similarity))

    crawler.signals.connect(on_open, signals.spider_opened)
    crawler.signals.connect(on_response, signals.response_received)
    crawler.signals.connect(on_drop, signals.item_dropped)
    process.crawl(crawler)
    process.start()
    cpu = time.process_time() - started
    assert crawler.stats is not None
    if process.bootstrap_failed:
        reason = crawler.stats.get_value("finish_reason")
        raise SystemExit(f"a crawl was not started ({reason}): these figures mean nothing")
    with Path(folder, "items.jsonl").open(encoding="utf-8") as feed:
        stored = sum(1 for line in feed if json.loads(line))
    return Crawl(
        cpu=cpu,
        pages=received - warm_up,
        stored=stored,
        errors=crawler.stats.get_value("log_count/ERROR", 0),
        drops=drops,
    )


def compare(
    urls: list[str], contestants: dict[str, dict[str, Any]], rounds: int
) -> dict[str, list[Crawl]]:
    """Let two configurations crawl the same pages in turn, each first in every other round."""
    crawls: dict[str, list[Crawl]] = {name: [] for name in contestants}
    with ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as one_each:
        for round_ in range(rounds):
            names = list(contestants)
            for name in names if round_ % 2 == 0 else reversed(names):
                with TemporaryDirectory() as folder:
                    result = one_each.submit(crawl, urls, contestants[name], folder).result()
                crawls[name].append(result)
            first, second = (crawls[name][-1].cpu_per_page for name in names)
            print(
                f"round {round_ + 1:>2}: {names[0]} {first:6.2f} ms a page, "
                f"{names[1]} {second:6.2f} ms, ratio {second / first:.3f}",
                flush=True,
            )
    return crawls


def print_drops(crawl: Crawl) -> None:
    """The pages that were dropped, each with its match."""
    print(f"\n{crawl.stored} stored, {len(crawl.drops)} dropped")
    for url, match_url, similarity in sorted(crawl.drops, key=lambda drop: -drop[2]):
        print(f"  {similarity:.3f}  {urlsplit(url).path}  =  {urlsplit(match_url).path}")


def setting(argument: str) -> tuple[str, str]:
    """NAME=VALUE of the command line."""
    name, separator, value = argument.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{argument!r} is not NAME=VALUE")
    return name, value


def main() -> None:
    """Compare the crawls and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path, help="a folder or a tar archive of .html files")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of crawls (default 5)")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the crawl with the plugin; may be given several times",
    )
    parser.add_argument("--bare", action="store_true", help="leave the plugin out of both crawls")
    arguments = parser.parse_args()

    other = "bare again" if arguments.bare else "plugin"
    addons = {} if arguments.bare else {"scrapy_simhash.Addon": 500}
    contestants = {"bare": {}, other: {"ADDONS": addons, **dict(arguments.set)}}
    with served(arguments.pages) as urls:
        print(f"{len(urls)} pages, {arguments.rounds} rounds")
        crawls = compare(urls, contestants, arguments.rounds)
    ratios = [
        with_plugin.cpu_per_page / bare.cpu_per_page
        for bare, with_plugin in zip(crawls["bare"], crawls[other], strict=True)
    ]
    print()
    for name, results in crawls.items():
        print(f"{name:>10}: median {statistics.median(r.cpu_per_page for r in results):.2f} ms")
    print(
        f"     ratio: median {statistics.median(ratios):.3f}"
        f" (from {min(ratios):.3f} to {max(ratios):.3f})"
    )
    print_drops(crawls[other][-1])
    errors = sum(result.errors for results in crawls.values() for result in results)
    if errors:
        # A plugin that fails lets every page pass, and is cheap for the wrong reason.
        raise SystemExit(f"{errors} errors in the logs of the crawls: these figures mean nothing")


if __name__ == "__main__":
    main()
