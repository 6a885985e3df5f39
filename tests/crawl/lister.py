"""A crawl of lists as a process of its own: ``python lister.py PLAN``.

The plan is a JSON file with "urls" and "settings".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess


class ListSpider(Spider):
    """Yields the entries of lists; knows nothing of duplicates."""

    name = "lists"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self):
        for url in self.urls:
            yield Request(url)

    def parse(self, response):
        for entry in response.css(".entry"):
            yield {
                "url": response.urljoin(entry.css("a::attr(href)").get()),
                "title": entry.css("a::text").get(),
                "text": entry.css("p::text").get(),
            }


def main(plan: dict) -> None:
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "INFO",
            **plan["settings"],
        }
    )
    process.crawl(ListSpider, urls=plan["urls"])
    process.start()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")))
