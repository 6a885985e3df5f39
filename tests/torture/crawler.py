"""One crawl as a process of its own: ``python crawler.py PLAN``.

The plan is a JSON file with "urls", "settings" and "stats", the file that the stats are written to
when the crawl is over.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import sleep


class PageSpider(Spider):
    """Yields the entries of a list, or an item for the page; knows nothing of duplicates."""

    name = "torture"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self):
        for url in self.urls:
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
    """Another pipeline, which takes its time."""

    async def process_item(self, item):
        await sleep(random.random() * 0.03)
        return item


def fate_of(url: str) -> str:
    """What becomes of a page's item: the same in every run."""
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
    """Writes each item at once, where the feed would be."""

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


class BrokenStorage:
    """A storage for feeds that can't be reached when the crawl is over."""

    def __init__(self, uri: str, *, feed_options: object = None) -> None:
        pass

    def open(self, spider: Spider):
        return Path("feed.part").open("w+b")

    def store(self, file):
        file.close()
        raise OSError("the storage can't be reached")


def main(plan: dict) -> None:
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ITEM_PIPELINES": {Slow: 500},
        "RETRY_ENABLED": False,
        "FEED_STORAGES": {"broken": BrokenStorage},
        **plan["settings"],
    }
    without_reactor = settings.get("TWISTED_REACTOR_ENABLED") is False
    process = (AsyncCrawlerProcess if without_reactor else CrawlerProcess)(settings)
    crawler = process.create_crawler(PageSpider)
    process.crawl(crawler, urls=plan["urls"])
    process.start()
    Path(plan["stats"]).write_text(json.dumps(crawler.stats.get_stats(), default=str), "utf-8")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")))
