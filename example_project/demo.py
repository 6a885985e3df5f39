"""Serve the example site, crawl it three times, and compare what was stored with the truth.

The first crawl meets the site for the first time. The second fetches the same pages again, in
another order. The third does so with SIMHASH_SAME_URL = "drop", which leaves out what has not
changed since. `python demo.py` ends with 1 if any of them stored too little or too much.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
from website.catalogue import manifest
from website.server import serve

from scrapy_simhash import NearDuplicateItem

if TYPE_CHECKING:
    from newsroom.items import Story
    from scrapy.exceptions import DropItem
    from scrapy.http import Response
    from website.catalogue import Page

STATE = Path(".scrapy")  # what Scrapy and its plugins remember, the feed and the logs
CRAWLS: list[tuple[str, dict[str, Any]]] = [
    ("first visit", {}),
    (
        "again, in another order",
        {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "CONCURRENT_REQUESTS_PER_DOMAIN": 3,
        },
    ),
    ("again, SIMHASH_SAME_URL = drop", {"SIMHASH_SAME_URL": "drop"}),
]
KINDS = {
    "original": "originals",
    "copy": "copies in another paper",
    "print": "print views",
    "session": "with a session id",
    "revision": "lightly revised",
    "digest": "digests",
    "list": "lists",
    "empty": "without a byte",
    "blank": "without a text",
    "binary": "binary",
    "mislabelled": "binary but declared as HTML",
}
ROW = "{:<32}{:>6}{:>7}{:>9}{:>18}{:>17}"


@dataclass
class Drop:
    """An item that was kept out of storage, and the page that stands for it."""

    url: str
    match_url: str
    similarity: float
    distance: int


@dataclass
class Crawl:
    """What one crawl did."""

    pages: int
    items: int
    errors: int
    stored: list[str]  # the URLs in the feed
    drops: list[Drop]


@dataclass
class Score:
    """One crawl, judged by the manifest."""

    duplicates_found: int
    wrongly_kept: list[str]
    wrongly_dropped: list[str]


def crawl(site: str, number: int, overrides: dict[str, Any]) -> Crawl:
    """Run the spider as `scrapy crawl news -a site=...` would, and note what it drops."""
    settings = get_project_settings()
    settings.setdict({"LOG_FILE": f"{STATE}/crawl-{number}.log", **overrides}, priority="cmdline")
    process = CrawlerProcess(settings)
    crawler = process.create_crawler("news")
    drops: list[Drop] = []

    def note(item: Story, response: Response, exception: DropItem, spider: Spider) -> None:
        if isinstance(exception, NearDuplicateItem):
            match = exception.match
            drops.append(Drop(item.url, match.url, match.similarity, match.distance))

    crawler.signals.connect(note, signals.item_dropped)
    process.crawl(crawler, site=site)
    process.start()
    assert crawler.stats is not None
    stats = crawler.stats.get_stats()
    (feed,) = settings["FEEDS"]
    stories = Path(feed).rename(STATE / f"stories-{number}.jsonl")
    return Crawl(
        pages=stats.get("response_received_count", 0),
        items=stats.get("item_scraped_count", 0) + stats.get("item_dropped_count", 0),
        errors=stats.get("log_count/ERROR", 0) + stats.get("log_count/CRITICAL", 0),
        stored=[json.loads(line)["url"] for line in stories.read_text("utf-8").splitlines()],
        drops=drops,
    )


def score(
    stored: list[str], groups: dict[str, list[str]], before: frozenset[str] = frozenset()
) -> Score:
    """Judge what was stored: exactly one page of every group, and nothing else.

    Args:
        stored: the URLs in the feed of a crawl.
        groups: the URLs of each group of duplicates; many groups have only one.
        before: what earlier crawls stored, where that should not be stored again.
    """
    found = 0
    wrongly_kept = [url for url in stored if not any(url in urls for urls in groups.values())]
    wrongly_dropped = []
    for urls in groups.values():
        kept = [url for url in stored if url in urls]
        due = 0 if before.intersection(urls) else 1
        found += min(len(urls) - len(kept), len(urls) - 1)
        wrongly_kept += kept[due:]
        if len(kept) < due:
            wrongly_dropped.append(urls[0])
    return Score(found, wrongly_kept, wrongly_dropped)


def main() -> int:
    """Run the crawls, print what came of them, and return the exit code."""
    os.chdir(Path(__file__).parent)
    shutil.rmtree(STATE, ignore_errors=True)  # the first crawl starts with an empty index
    STATE.mkdir()
    # A reactor runs once in a process, so every crawl gets a process of its own.
    one_each = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with serve() as (port, pages), one_each:
        truth = manifest(pages, port)
        (STATE / "manifest.json").write_text(json.dumps(truth, indent=1), "utf-8")
        groups = truth["groups"]
        stories = sum(len(urls) for urls in groups.values())
        duplicates = stories - len(groups)
        introduce(f"http://127.0.0.1:{port}/", truth["kinds"], stories, duplicates)
        print(
            ROW.format("crawl", "pages", "kept", "dropped", "duplicates found", "wrongly dropped")
        )
        done: list[Crawl] = []
        problems: list[str] = []
        for number, (name, overrides) in enumerate(CRAWLS, start=1):
            result = one_each.submit(crawl, f"http://127.0.0.1:{port}/", number, overrides).result()
            unchanged_dropped = overrides.get("SIMHASH_SAME_URL") == "drop"
            before = frozenset(done[0].stored if unchanged_dropped else ())
            judged = score(result.stored, groups, before)
            kept = len(result.stored)
            print(
                ROW.format(
                    name,
                    result.pages,
                    kept,
                    result.items - kept,
                    f"{judged.duplicates_found} of {duplicates}",
                    len(judged.wrongly_dropped),
                ),
                flush=True,
            )
            problems += [f"{name}: {url} was kept" for url in judged.wrongly_kept]
            problems += [f"{name}: {url} was lost" for url in judged.wrongly_dropped]
            if (result.pages, result.items) != (len(pages), stories):
                problems.append(f"{name}: {len(pages)} pages and {stories} stories were expected")
            if result.errors:
                problems.append(f"{name}: {result.errors} errors in the log")
            done.append(result)
    if set(done[0].stored) != set(done[1].stored):
        problems.append("the second crawl did not deliver the same pages as the first")
    explain(done[0].drops, {page.url(port): page for page in pages})
    print(f"\nThe manifest, the feeds and the logs are in {STATE.resolve()}")
    if problems:
        print("\nThis is not as it should be:", *problems[:20], sep="\n  ")
        print(f"  {len(problems)} problems in all" if len(problems) > 20 else "")
    return 1 if problems else 0


def introduce(site: str, kinds: dict[str, int], stories: int, duplicates: int) -> None:
    """Say what the site is made of."""
    print(f"{sum(kinds.values())} pages of six newspapers, English and Chinese, served at {site}")
    made_of = ", ".join(f"{kinds[kind]} {name}" for kind, name in KINDS.items())
    print(fill(made_of, 90, initial_indent="  ", subsequent_indent="  "))
    print(f"  {stories} stories, {duplicates} of them duplicates of another\n")


def explain(drops: list[Drop], pages: dict[str, Page]) -> None:
    """Show the least similar story that was dropped under a headline of its own."""
    reworded = [
        drop for drop in drops if pages[drop.url].headline != pages[drop.match_url].headline
    ]
    if reworded:
        drop = min(reworded, key=lambda drop: drop.similarity)
        print(f"\nOne of the drops: “{pages[drop.url].headline}”\n    {drop.url}")
        print(f"  is {drop.similarity:.0%} similar ({drop.distance} of 128 bits differ) to")
        print(f"“{pages[drop.match_url].headline}”, stored before\n    {drop.match_url}")


if __name__ == "__main__":
    sys.exit(main())
