"""A crawl in a process of its own.

The plan is a JSON file:

- "urls", "settings": of the crawl;
- "stats": the file for the stats at the end of the crawl;
- "verdicts": the file for one line per verdict, written at once: time, page, kind, whether
  a claim was made;
- "constants": values that replace constants of the package, by name;
- "host": the id of the machine that the process claims to run on;
- "clock": a file with the number of seconds by which the clock of the process is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from importlib import import_module
from pathlib import Path

import psutil
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import DropItem

from scrapy_simhash.crawl.stats import CrawlStats


class PageSpider(Spider):
    """Yields the entries of a list, or an item for the page."""

    name = "torture"

    async def start(self):
        # No argument: crawls in another order are crawls of the same.
        for url in self.settings["URLS"]:
            yield Request(url)

    def parse(self, response):
        entries = response.css(".entry")
        for entry in entries:
            yield {
                "url": response.urljoin(entry.css("a::attr(href)").get()),
                "title": entry.css("a::text").get(),
                "text": entry.css("p::text").get(),
            }
        if not entries:
            yield {"url": response.url}


class Slow:
    """A slow pipeline."""

    async def process_item(self, item):
        await asyncio.sleep(random.random() * 0.03)
        return item


def fate_of(url: str) -> str:
    """The outcome of the item of a page, the same in every run."""
    chance = random.Random(url.partition("?")[0].split("/", 3)[3]).random()
    return "dropped" if chance < 0.3 else "failed" if chance < 0.4 else "stored"


class Unreliable(Slow):
    """Drops 30 % of the items and fails on 10 %."""

    async def process_item(self, item):
        await super().process_item(item)
        match fate_of(item["url"]):
            case "dropped":
                raise DropItem("not wanted")
            case "failed":
                raise ValueError("an error in a pipeline")
        return item


class Durable(Slow):
    """Writes each item at once, to the file of the feed."""

    @classmethod
    def from_crawler(cls, crawler):
        self = cls()
        self.path = crawler.settings["DURABLE"]
        return self

    async def process_item(self, item):
        await super().process_item(item)
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(item) + "\n")
        return item


def write_down_verdicts(path: str) -> None:
    """Write each verdict to a file: pages without one were not checked."""
    count, file = CrawlStats.count_verdict, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def count_verdict(self, url, verdict):
        line = json.dumps([time.monotonic(), url, verdict.kind, bool(verdict.claim)]) + "\n"
        os.write(file, line.encode())
        count(self, url, verdict)

    CrawlStats.count_verdict = count_verdict


def put(name: str, value: object) -> None:
    """Replace a value in every module of the package that has the name."""
    import_module("scrapy_simhash.crawl.deduplicator")
    modules = [vars(sys.modules[module]) for module in sys.modules if "scrapy_simhash" in module]
    having = [module for module in modules if name in module]
    assert having, f"there is no {name}"
    for module in having:
        module[name] = value


def set_wrong(clock: Path) -> None:
    """Add the seconds in a file to the clock, as a step of the clock does.

    The boot time moves too: the system computes it from the clock.
    """
    now, boot = time.time, psutil._psplatform.boot_time
    time.time = lambda: now() + float(clock.read_text())
    time.time_ns = lambda: int(time.time() * 1e9)
    psutil._psplatform.boot_time = lambda: boot() + float(clock.read_text())


def main(plan: dict) -> None:
    if "verdicts" in plan:
        write_down_verdicts(plan["verdicts"])
    if "clock" in plan:
        set_wrong(Path(plan["clock"]))
    if "host" in plan:
        put("host_id", lambda: plan["host"])
    for name, value in plan.get("constants", {}).items():
        put(name, value)
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ITEM_PIPELINES": {Slow: 500},
        "RETRY_ENABLED": False,
        **plan["settings"],
        "URLS": plan["urls"],
    }
    without_reactor = settings.get("TWISTED_REACTOR_ENABLED") is False
    process = (AsyncCrawlerProcess if without_reactor else CrawlerProcess)(settings)
    crawler = process.create_crawler(PageSpider)
    process.crawl(crawler)
    process.start()
    Path(plan["stats"]).write_text(json.dumps(crawler.stats.get_stats(), default=str), "utf-8")


def main_of(plan: Path) -> None:
    main(json.loads(plan.read_text("utf-8")))


if __name__ == "__main__":
    main_of(Path(sys.argv[1]))
