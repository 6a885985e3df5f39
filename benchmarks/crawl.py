"""What the plugin costs a crawl: CPU a page with it and without it, on real pages.

    python benchmarks/crawl.py pages.tar.xz
    python benchmarks/crawl.py folder --spider text --set SIMHASH_SIMILARITY=0.8
    python benchmarks/crawl.py --small 500               # generated pages of 200 words
    python benchmarks/crawl.py folder --only compiled,pure --rounds 9 --drops
    python benchmarks/crawl.py folder --only "bare again"          # the noise
    python benchmarks/crawl.py pages.tar.xz --instructions         # see instructions.py

Beside the bare crawl: this plugin with its compiled core and without it, and what a project writes
by itself with other packages (benchmarks/home_made.py), as far as they are installed.

Pages are served over loopback by a process of their own, as text/html without a charset. Each
crawl is a process too; they take turns, and every round gives one ratio to the bare crawl of that
round. CPU is that of the crawling process, all threads, from the end of the warm-up to the end of
the crawl: imports and start-up are left out, storing and closing are in. The stages are those of
the stats: seconds in which text was read, fingerprints were made, and the database's thread was
busy, waiting included. A hold is the time for which the event loop runs one thing: of all holds
the longest are taken, as many as there are pages, and of these the median and the 99th percentile.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from archives import read_html
from home_made import is_installed

WARM_UP = 20  # pages before the clock starts, where there are at least ten times as many
WORDS = 200  # of a small page
SPAWN = get_context("spawn")


class Contestant(NamedTuple):
    """One kind of crawl: its settings, and the environment it runs in."""

    settings: Mapping[str, Any] = {}
    environment: Mapping[str, str] = {}


PLUGIN = {"ADDONS": {"scrapy_simhash.Addon": 500}}
OTHERS = ("simhash", "datasketch", "gaoya", "trafilatura")
SPIDERS = ("selectors", "none", "text")
STAGES = ("text_seconds", "fingerprint_seconds", "index/seconds")


@dataclass
class Crawl:
    """What one crawl cost, in seconds for so many pages, and what it dropped."""

    cpu: float
    pages: int  # after the warm-up
    received: int
    stored: int
    errors: int
    memory: int  # at most, in KiB
    stages: list[float]
    holds: tuple[float, float]  # median and 99th percentile
    drops: list[tuple[str, str, float]]  # URL, URL of the match, similarity

    @property
    def cpu_per_page(self) -> float:
        """In milliseconds."""
        return 1000 * self.cpu / self.pages


def small_page(number: int) -> bytes:
    """A page of 200 words, with links; every tenth has the text of another one."""
    chosen = random.Random(number // 10 * 10 if number % 10 == 9 else number)
    words = ("".join(chosen.choices("abcdeghiklmnoprstu", k=6)) for _ in range(WORDS))
    links = "".join(f'<li><a href="/s{number + step}.html">Next</a></li>' for step in range(8))
    return (
        f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body><ul>{links}</ul>"
        f"<article><p>{' '.join(words)}</p></article></body></html>"
    ).encode()


def read_pages(source: Path | int) -> dict[str, bytes]:
    """The .html files of a folder or tar archive, or so many small pages, by their URL's path."""
    if isinstance(source, int):
        return {f"/s{number}.html": small_page(number) for number in range(source)}
    files = {f"/{quote(name)}": body for name, body in read_html(source)}
    if not files:
        raise SystemExit(f"{source}: no .html file in it")
    return files


def serve_pages(source: Path | int, parent: Connection) -> None:
    """Serve the pages of a source; tell the parent where."""
    pages = read_pages(source)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body at once
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = pages[self.path]
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    parent.send([f"http://127.0.0.1:{server.server_port}{path}" for path in pages])
    server.serve_forever()


@contextmanager
def served(source: Path | int) -> Iterator[list[str]]:
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


def item_of(response: Any, kind: str) -> dict[str, Any]:
    """What a spider of this kind makes of a page."""
    if kind == "none":
        return {"url": response.url}
    item = {"url": response.url, "title": response.css("title::text").get()}
    if kind == "text":
        paragraphs = (" ".join(p.css("::text").getall()) for p in response.css("p"))
        return {**item, "text": "\n".join(paragraphs)}
    return {**item, "links": response.css("a::attr(href)").getall()}


def hold_times() -> list[float]:
    """The time that each callback of the event loop takes from now on, in seconds."""
    import asyncio

    run = asyncio.Handle._run
    times: list[float] = []

    def timed(handle: asyncio.Handle) -> None:
        started = time.perf_counter()
        run(handle)
        times.append(time.perf_counter() - started)

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    return times


def crawl(urls: list[str], contestant: Contestant, kind: str, folder: str) -> Crawl:
    """Crawl the pages in this process, which is good for one crawl only."""
    os.environ.update(contestant.environment)
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess

    class PagesSpider(Spider):
        name = "pages"

        async def start(self) -> Any:
            for url in urls:
                yield Request(url)

        def parse(self, response: Any) -> Any:
            yield item_of(response, kind)

    process = CrawlerProcess(
        {
            "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines", "encoding": "utf-8"}},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "HTTPPROXY_ENABLED": False,
            "LOG_FILE": f"{folder}/crawl.log",
            "LOG_LEVEL": "INFO",
            "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.sqlite",
            **contestant.settings,
        }
    )
    crawler = process.create_crawler(PagesSpider)
    warm_up = WARM_UP if len(urls) >= 10 * WARM_UP else 0
    received = 0
    started = 0.0
    drops = []
    holds = hold_times()

    def start() -> None:
        nonlocal started
        holds.clear()
        started = time.process_time()

    def on_response() -> None:
        nonlocal received
        received += 1
        if received == warm_up:
            start()

    def on_drop(item: Any, exception: Any) -> None:
        match = getattr(exception, "match", None)
        drops.append(
            (item["url"], match.url, match.similarity) if match else (item["url"], "", 0.0)
        )

    crawler.signals.connect(start, signals.spider_opened)
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
    pages = received - warm_up
    longest = sorted(holds)[-pages:]
    return Crawl(
        cpu=cpu,
        pages=pages,
        received=received,
        stored=stored,
        errors=crawler.stats.get_value("log_count/ERROR", 0),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        stages=[crawler.stats.get_value(f"simhash/{stage}", 0.0) for stage in STAGES],
        holds=(median(longest), quantiles(longest, n=100)[-1]),
        drops=drops,
    )


def contestants(settings: Mapping[str, Any], only: Sequence[str]) -> dict[str, Contestant]:
    """Those that are asked for and can be had, the bare crawl first."""
    pure = {"SIMHASH_NATIVE": "0"}
    found = {
        "bare again": Contestant(),
        "compiled": Contestant({**PLUGIN, **settings}),
        "pure": Contestant({**PLUGIN, **settings}, pure),
    }
    for name in OTHERS:
        if is_installed(name):
            found[name] = Contestant(
                {
                    "HOME_MADE": name,
                    "SPIDER_MIDDLEWARES": {"home_made.HomeMadeMiddleware": 40},
                    "ITEM_PIPELINES": {"home_made.HomeMadePipeline": 100},
                }
            )
        elif not only:
            print(f"{name} is not installed, and left out")
    names = only or [name for name in found if name != "bare again"]
    if unknown := [name for name in names if name not in found]:
        raise SystemExit(f"--only {', '.join(unknown)}: there are {', '.join(found)}")
    return {"bare": Contestant(), **{name: found[name] for name in names}}


def compare(
    urls: list[str], crawlers: Mapping[str, Contestant], kind: str, rounds: int
) -> dict[str, list[Crawl]]:
    """Let all crawl the same pages in turn, in the reverse order every other round."""
    crawls: dict[str, list[Crawl]] = {name: [] for name in crawlers}
    with ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as one_each:
        for round_ in range(rounds):
            names = list(crawlers)
            for name in names if round_ % 2 == 0 else reversed(names):
                with TemporaryDirectory() as folder:
                    job = one_each.submit(crawl, urls, crawlers[name], kind, folder)
                    crawls[name].append(job.result())
            costs = (f"{name} {crawls[name][-1].cpu_per_page:.2f}" for name in names)
            print(f"round {round_ + 1}: {', '.join(costs)} ms a page", flush=True)
    return crawls


def print_table(crawls: Mapping[str, Sequence[Crawl]]) -> None:
    """A row for each contestant, in Markdown: medians, and of the ratios their range."""
    print(
        "\n| crawl | ms a page | to bare (from, to) | text, fingerprint, index | MB at most", end=""
    )
    print(" | hold p50, p99 | p99 to bare | dropped |\n|---|---|---|---|---|---|---|---|")
    bare = crawls["bare"]
    for name, results in crawls.items():
        pairs = list(zip(results, bare, strict=True))
        ratios = [one.cpu_per_page / other.cpu_per_page for one, other in pairs]
        held = [one.holds[1] / other.holds[1] for one, other in pairs]
        stages = [
            1000 * median(of_stage) / results[0].received
            for of_stage in zip(*(one.stages for one in results), strict=True)
        ]
        half, most = (1000 * median(one.holds[place] for one in results) for place in (0, 1))
        print(
            f"| {name} | {median(one.cpu_per_page for one in results):.2f} "
            f"| {median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f}) "
            f"| {', '.join(f'{stage:.2f}' for stage in stages) if any(stages) else ''} "
            f"| {median(one.memory for one in results) / 1024:.0f} "
            f"| {half:.1f}, {most:.1f} | {median(held):.2f} | {len(results[-1].drops)} |"
        )


def print_drops(name: str, crawl: Crawl) -> None:
    """The pages that were dropped, each with its match."""
    print(f"\n{name}: {crawl.stored} stored, {len(crawl.drops)} dropped")
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
    pages = parser.add_mutually_exclusive_group(required=True)
    pages.add_argument("pages", type=Path, nargs="?", help="a folder or tar archive of .html files")
    pages.add_argument("--small", type=int, help="instead, so many generated pages of 200 words")
    parser.add_argument("--rounds", type=int, default=5, help="crawls of each (default 5)")
    parser.add_argument(
        "--spider",
        choices=SPIDERS,
        default="selectors",
        help="what it does with a page: it asks for title and links; nothing; or its items carry"
        " the text of the paragraphs (default selectors)",
    )
    parser.add_argument(
        "--only", type=lambda names: names.split(","), default=[], help="names, as in the table"
    )
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the crawls with the plugin; may be given several times",
    )
    parser.add_argument("--drops", action="store_true", help="print what was dropped")
    parser.add_argument(
        "--instructions", action="store_true", help="count them instead, with valgrind"
    )
    arguments = parser.parse_args()

    source = arguments.pages or arguments.small
    if arguments.instructions:
        from instructions import print_instructions

        crawlers = contestants(dict(arguments.set), arguments.only or ["compiled"])
        print_instructions(read_pages(source), crawlers, arguments.spider)
        return
    crawlers = contestants(dict(arguments.set), arguments.only)
    with served(source) as urls:
        print(f"{len(urls)} pages, {arguments.rounds} rounds, spider: {arguments.spider}")
        crawls = compare(urls, crawlers, arguments.spider, arguments.rounds)
    print_table(crawls)
    if arguments.drops:
        for name, results in crawls.items():
            print_drops(name, results[-1])
    errors = sum(result.errors for results in crawls.values() for result in results)
    if errors:
        # A plugin that fails lets every page pass, and is cheap for the wrong reason.
        raise SystemExit(f"{errors} errors in the logs of the crawls: these figures mean nothing")


if __name__ == "__main__":
    main()
