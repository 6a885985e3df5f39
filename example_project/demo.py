"""Serve the example's sites, crawl them three times, and compare what was stored with the truth.

The first visit meets the sites for the first time. The second fetches the same pages again, in
another order. Then two prices change, and the third visit has SIMHASH_KNOWN = "drop", which
leaves out what has not changed since. `python demo.py` ends with 1 if any of them stored too little
or too much.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations, islice
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
from website.catalogue import manifest
from website.server import serve

from scrapy_simhash import NearDuplicateItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.exceptions import DropItem
    from scrapy.http import Response
    from website.pages import Page

STATE = Path(".scrapy")  # what Scrapy and its plugins remember, the feeds and the logs
SPIDERS = ("news", "town", "manual")
NAMESPACE = "example"  # one for all spiders, and one report


class Visit(NamedTuple):
    """A crawl of all sites: its name, whether prices have changed before it, its settings."""

    name: str
    later: bool
    settings: dict[str, Any]


VISITS = [
    Visit("first visit", False, {}),
    Visit(
        "again, in another order",
        False,
        {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "CONCURRENT_REQUESTS_PER_DOMAIN": 3,
        },
    ),
    Visit("two prices later, SIMHASH_KNOWN = drop", True, {"SIMHASH_KNOWN": "drop"}),
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
    "offer": "offers",
    "offer again": "offers with a session id",
    "meeting": "meetings",
    "events": "lists of events",
    "chapter": "chapters of a manual",
    "chapter again": "chapters again",
}
ROW = "{:<20}{:>6}{:>6}{:>9}{:>18}{:>17}"


@dataclass
class Drop:
    """An item that was kept out of storage, and the page that stands for it."""

    label: str
    match_url: str
    similarity: float
    distance: int


@dataclass
class Crawl:
    """What one visit did."""

    pages: int
    errors: int
    stored: list[str]  # the labels of the items in the feeds
    drops: list[Drop]
    kept_for: Counter[str]  # the fields that kept items whose text was near, and how many


@dataclass
class Score:
    """What one visit stored, judged by the manifest."""

    duplicates_found: int
    wrongly_kept: list[str]
    wrongly_dropped: list[str]


def label(item: Mapping[str, Any]) -> str:
    """What an item is known by in the manifest: its URL, or all that it says."""
    return item.get("url") or ", ".join(item.values())


def crawl(proxy: str, number: int, overrides: dict[str, Any]) -> Crawl:
    """Run all spiders as `http_proxy=... scrapy crawl` would, and note what they drop."""
    os.environ |= {"http_proxy": proxy, "no_proxy": ""}
    settings = get_project_settings()
    own = {
        "LOG_FILE": f"{STATE}/crawl-{number}.log",
        "SIMHASH_NAMESPACE": NAMESPACE,
        # It logs an error where the user has no home folder.
        "REMOTE_CONTROL_ENABLED": False,
    }
    settings.setdict(own | overrides, priority="cmdline")
    process = CrawlerProcess(settings)
    crawlers = [process.create_crawler(name) for name in SPIDERS]
    drops: list[Drop] = []

    def note(item: object, response: Response, exception: DropItem, spider: Spider) -> None:
        if isinstance(exception, NearDuplicateItem):
            match = exception.match
            drops.append(
                Drop(label(ItemAdapter(item)), match.url, match.similarity, match.distance)
            )

    for crawler in crawlers:
        crawler.signals.connect(note, signals.item_dropped)
        process.crawl(crawler)
    process.start()
    (feed,) = settings["FEEDS"]
    stored = []
    for name in SPIDERS:
        items = Path(feed % {"name": name}).rename(STATE / f"{name}-{number}.jsonl")
        stored += [label(json.loads(line)) for line in items.read_text("utf-8").splitlines()]
    stats: Counter[str] = Counter()
    for crawler in crawlers:
        assert crawler.stats is not None
        every = crawler.stats.get_stats().items()
        stats.update({key: value for key, value in every if isinstance(value, int)})
    differs = "simhash/kept/other_facts/"
    return Crawl(
        pages=stats["response_received_count"],
        errors=stats["log_count/ERROR"] + stats["log_count/CRITICAL"],
        stored=stored,
        drops=drops,
        kept_for=Counter(
            {key.removeprefix(differs): stats[key] for key in stats if key.startswith(differs)}
        ),
    )


def score(
    stored: list[str], groups: dict[str, list[str]], before: frozenset[str] = frozenset()
) -> Score:
    """Judge what was stored: exactly one item of every group, and nothing else.

    Args:
        stored: the labels of the items in the feeds of a visit.
        groups: the labels of each group of duplicates; many groups have only one.
        before: what earlier visits stored, where that should not be stored again.
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
    """Make the visits, print what came of them, and return the exit code."""
    os.chdir(Path(__file__).parent)
    shutil.rmtree(STATE, ignore_errors=True)  # the first visit starts with an empty index
    STATE.mkdir()
    done: list[Crawl] = []
    problems: list[str] = []
    # A reactor runs once in a process, so every visit gets a process of its own.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as one_each:
        for number, visit in enumerate(VISITS, start=1):
            with serve(later=visit.later) as (port, pages):
                truth = manifest(pages)
                if not done:
                    introduce(truth)
                    (STATE / "manifest.json").write_text(json.dumps(truth, indent=1), "utf-8")
                    by_url = {page.url: page for page in pages}
                proxy = f"http://127.0.0.1:{port}"
                result = one_each.submit(crawl, proxy, number, visit.settings).result()
            unchanged_dropped = visit.settings.get("SIMHASH_KNOWN") == "drop"
            before = frozenset(done[0].stored if unchanged_dropped else ())
            problems += [
                f"{visit.name}: {problem}" for problem in judge(visit, result, truth, before)
            ]
            done.append(result)
    # In another order, another copy may be the first.
    if len(done[0].stored) != len(done[1].stored):
        problems.append("the second visit did not deliver as many items as the first")
    explain_drop(done[0].drops, by_url)
    explain_kept(done[0])
    print(f"\nThe manifest, the feeds and the logs are in {STATE.resolve()}", flush=True)
    write_report()
    if problems:
        print("\nThis is not as it should be:", *problems[:20], sep="\n  ")
        print(f"  {len(problems)} problems in all" if len(problems) > 20 else "")
    return 1 if problems else 0


def write_report() -> None:
    """Write the report on all visits; the command prints its path, or what it lacks."""
    path = STATE.resolve() / "report.html"
    command = ("simhash", "report", "--namespace", NAMESPACE, "--since", "1", "-o", str(path))
    subprocess.run([sys.executable, "-m", "scrapy", *command], check=False)


def judge(visit: Visit, result: Crawl, truth: dict[str, Any], before: frozenset[str]) -> list[str]:
    """Print the lines of a visit, and say what is not as it should be."""
    print(visit.name)
    changed = {name for group in truth["changed"] for name in truth["others"][group]}
    others = {name for names in truth["others"].values() for name in names}
    dropped = [drop.label for drop in result.drops]
    problems = []
    for name, groups in (("stories", truth["groups"]), ("all else", truth["others"])):
        is_other = groups is truth["others"]
        stored = [item for item in result.stored if (item in others) is is_other]
        left_out = [item for item in dropped if (item in others) is is_other]
        judged = score(stored, groups, before - changed)
        items = sum(map(len, groups.values()))
        print(
            ROW.format(
                f"  {name}",
                items,
                len(stored),
                len(left_out),
                f"{judged.duplicates_found} of {items - len(groups)}",
                len(judged.wrongly_dropped),
            ),
            flush=True,
        )
        problems += [f"{kept} was kept" for kept in judged.wrongly_kept]
        problems += [f"{lost} was lost" for lost in judged.wrongly_dropped]
        if len(stored) + len(left_out) != items:
            problems.append(f"{items} items were expected of {name}")
    if result.pages != len(truth["pages"]):
        problems.append(f"{result.pages} pages were fetched of {len(truth['pages'])}")
    if result.errors:
        problems.append(f"{result.errors} errors in the log")
    return problems


def introduce(truth: dict[str, Any]) -> None:
    """Say what the sites are made of."""
    kinds, things = truth["kinds"], truth["things"]
    print(
        f"{sum(kinds.values())} pages in English and Chinese, on this machine, of six newspapers,"
    )
    print("four shops, two councils and a manual")
    made_of = ", ".join(f"{kinds[kind]} {name}" for kind, name in KINDS.items())
    print(fill(made_of, 80, initial_indent="  ", subsequent_indent="  "))
    others = ", ".join(f"{count} {thing}s" for thing, count in things.items())
    for items, groups in (
        ("stories", truth["groups"]),
        (f"other items ({others})", truth["others"]),
    ):
        count = sum(map(len, groups.values()))
        made_of = f"{count} {items}, {count - len(groups)} of them duplicates of another"
        print(fill(made_of, 80, initial_indent="  ", subsequent_indent="  "))
    print("\n" + ROW.format("", "items", "kept", "dropped", "duplicates found", "wrongly dropped"))


def explain_drop(drops: list[Drop], pages: dict[str, Page]) -> None:
    """Show the story of the farthest fingerprint that was dropped under a headline of its own."""
    stories = [drop for drop in drops if drop.label in pages and pages[drop.label].story]
    reworded = [
        drop for drop in stories if pages[drop.label].headline != pages[drop.match_url].headline
    ]
    if reworded:
        drop = max(reworded, key=lambda drop: (drop.distance, -drop.similarity))
        print(f"\nOne of the dropped items\n  “{pages[drop.label].headline}”\n    {drop.label}")
        print(f"is {drop.similarity:.0%} similar ({drop.distance} of 128 bits differ) to")
        print(f"  “{pages[drop.match_url].headline}”\n    {drop.match_url}")


def explain_kept(result: Crawl) -> None:
    """Show an offer that was kept beside one with its text, and which fields kept such things."""
    lines = (STATE / "town-1.jsonl").read_text("utf-8").splitlines()
    offers = [item for item in map(json.loads, lines) if "price" in item and not item["size"]]
    offers.sort(key=itemgetter("url"))
    in_batch = ((a, b) for a, b in combinations(offers, 2) if a["description"] == b["description"])
    for a, b in islice(in_batch, 1):
        print(f"\nOne of the kept items\n  “{a['name']}” at {a['price']}\n    {a['url']}")
        print(f"has the text of\n  “{b['name']}” at {b['price']}")
        print(f"    {b['url']}")
    reasons = ", ".join(f"{name} ({count})" for name, count in result.kept_for.most_common())
    print(f"Similar items were kept because they differ in:\n  {reasons}")


if __name__ == "__main__":
    sys.exit(main())
