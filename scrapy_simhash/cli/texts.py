"""A URL or a file to its text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

from scrapy_simhash.text.extractor import page_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from scrapy.http import Response
    from scrapy.settings import Settings as ScrapySettings

    from scrapy_simhash.cli.project import Project

__all__ = ["texts_of"]


def texts_of(project: Project, sources: Sequence[str]) -> list[str]:
    """The texts of URLs and files."""
    urls = [source for source in sources if source.startswith(("http://", "https://"))]
    pages = _download(project.scrapy, urls) if urls else {}
    texts = []
    for source in sources:
        if source in pages:
            texts.append(page_text(pages[source], extractor=project.settings.extractor))
            continue
        content = Path(source).read_bytes()
        is_page = content.lstrip()[:1] == b"<"
        texts.append(
            page_text(content, extractor=project.settings.extractor)
            if is_page
            else content.decode("utf-8-sig", "replace")
        )
    return texts


class _Downloads(Spider):
    """Fetches pages the way the project's spiders would."""

    name = "simhash"
    urls: list[str]
    bodies: dict[str, bytes]

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, self.parse, cb_kwargs={"asked": url}, dont_filter=True)

    def parse(self, response: Response, asked: str) -> None:
        self.bodies[asked] = response.body


def _download(settings: ScrapySettings, urls: Iterable[str]) -> dict[str, bytes]:
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
    process.start()
    for url in urls:
        if url not in bodies:
            raise ConnectionError(f"{url} could not be fetched")
    return bodies
