"""Downloads pages with the project's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings

from scrapy_simhash.cli.output import working


class _Downloads(Spider):
    """Asks for the pages."""

    name = "simhash"
    urls: list[str]
    bodies: dict[str, bytes]

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, self.parse, cb_kwargs={"asked": url}, dont_filter=True)

    def parse(self, response: Response, asked: str) -> None:
        self.bodies[asked] = response.body


def download(settings: Settings, urls: Iterable[str]) -> dict[str, bytes]:
    """The bodies of pages, by the URLs as given."""
    bodies: dict[str, bytes] = {}
    quiet = settings.copy()
    quiet.setdict(
        {
            "SIMHASH_ENABLED": False,
            "ITEM_PIPELINES": {},
            "FEEDS": {},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        },
        priority="cmdline",
    )
    process = AsyncCrawlerProcess(quiet)
    process.crawl(_Downloads, urls=list(urls), bodies=bodies)
    with working("Downloading"):
        process.start()
    for url in urls:
        if url not in bodies:
            raise ConnectionError(f"{url} could not be downloaded")
    return bodies
