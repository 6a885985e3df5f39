"""The same crawl with every event loop that Scrapy runs on, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import scrapy
from loopback import article, path_of, serve, sums_that_are_wrong

LOOPS = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "none": {"TWISTED_REACTOR_ENABLED": False},
}
NONE = pytest.param(
    "none",
    marks=pytest.mark.skipif(scrapy.version_info < (2, 18), reason="Scrapy needs a reactor"),
)
#: A hard limit: a crawl that hangs fails.
LIMIT = 60
PATHS = [f"/{group}/{copy}" for group in range(30) for copy in range(3)]

CRAWL = """
import asyncio, json, random, sys
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.task import deferLater

async def sleep(seconds):
    if is_asyncio_available():
        await asyncio.sleep(seconds)
    else:
        from twisted.internet import reactor
        await deferLater(reactor, seconds)

plan = json.loads(sys.argv[1])

def fate(item):
    return int(item["url"].split("/")[3]) % 3

class Unreliable:
    async def process_item(self, item):
        await sleep(random.random() * 0.02)
        if fate(item) == 0:
            raise DropItem("not wanted")
        if fate(item) == 1 and item["url"].endswith("0"):
            raise ValueError("an error in a pipeline")
        if fate(item) == 2 and item["url"].endswith("0"):
            return {**item, "odd": object()}  # a feed can't write that
        return dict(item)

class PageSpider(Spider):
    name = "loops"
    async def start(self):
        for url in plan["urls"]:
            yield Request(url)
    def parse(self, response):
        yield {"url": response.url}

settings = {
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "ITEM_PIPELINES": {Unreliable: 500},
    "TELNETCONSOLE_ENABLED": False,
    **plan["settings"],
}
without = settings.get("TWISTED_REACTOR_ENABLED") is False
process = (AsyncCrawlerProcess if without else CrawlerProcess)(settings)
crawler = process.create_crawler(PageSpider)
process.crawl(crawler)
process.start()
print(json.dumps(crawler.stats.get_stats(), default=str))
"""


@pytest.mark.parametrize(
    "loop",
    # Without a reactor; all other crawls of the tests use that of asyncio.
    [NONE, *(pytest.param(name, marks=pytest.mark.slow) for name in ("asyncio", "select"))],
)
def test_nothing_is_lost_or_kept_twice_with_any_event_loop(loop, tmp_path):
    feed = tmp_path / "feed.jsonl"
    settings = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "FEEDS": {str(feed): {"format": "jsonlines"}},
        **LOOPS[loop],
    }
    with serve({path: article(path.split("/")[1]) for path in PATHS}) as site:
        plan = json.dumps({"urls": [site + path for path in PATHS], "settings": settings})
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", CRAWL, plan],
            capture_output=True,
            timeout=LIMIT,
            check=True,
        )
    lines = Path(feed).read_text("utf-8").splitlines()
    kept = sorted(int(path_of(json.loads(line)["url"]).split("/")[1]) for line in lines)
    assert kept == [group for group in range(30) if group % 3]
    every = json.loads(done.stdout)
    stats = {name.removeprefix("simhash/"): value for name, value in every.items()}
    assert (
        sums_that_are_wrong({name: stats[name] for name in stats if f"simhash/{name}" in every})
        == []
    )
    assert stats["checked"] == 90
    assert stats["claims/open"] == 0
    assert stats["in_flight_waits"] > 0
    assert stats["feeds/not_exported"] > 0
    # Scrapy logs the errors in the other pipeline and in the feed, and nothing else is logged.
    assert (
        stats.get("log_count/ERROR", 0)
        == stats["claims/released"] - stats["item_dropped_reasons_count/DropItem"]
    )
