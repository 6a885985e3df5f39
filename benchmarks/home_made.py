"""What a project writes by itself to leave near-duplicates out, with the packages that there are.

Each compares the text of the page's body, or that which an item carries, with all that this
process has seen; none remembers anything, or knows what became of an item.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from itertools import count, pairwise
from typing import Any

from peers import PEERS
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response

__all__ = ["HomeMadeMiddleware", "HomeMadePipeline", "is_installed"]

SIMILARITY = 0.9
_TEXT = "_text"  # of the item that is on its way from the middleware to the pipeline


class HomeMadeMiddleware:
    """Gives each item the text of its page, if it has none of its own."""

    def __init__(self, text_of: Callable[[Response], str]) -> None:
        self._text_of = text_of

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HomeMadeMiddleware:
        """Built by Scrapy."""
        is_trafilatura = crawler.settings["HOME_MADE"] == "trafilatura"
        return cls(_trafilatura() if is_trafilatura else _body)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Called by Scrapy with what a callback yields."""
        async for item in result:
            item[_TEXT] = item.get("text") or self._text_of(response)
            yield item


class HomeMadePipeline:
    """Drops an item whose text is near that of an earlier one.

    With trafilatura texts are only extracted: nothing is compared.
    """

    def __init__(self, name: str) -> None:
        self._matcher = PEERS[name](_pairs, SIMILARITY) if name in PEERS else None
        self._numbers = count()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HomeMadePipeline:
        """Built by Scrapy."""
        return cls(crawler.settings["HOME_MADE"])

    def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item.

        Raises:
            DropItem: it is near an earlier one.
        """
        text = item.pop(_TEXT)
        if self._matcher and self._matcher.meet(next(self._numbers), text) is not None:
            raise DropItem("near-duplicate")
        return item


def _body(response: Response) -> str:
    return response.xpath("string(//body)").get() or ""


def _trafilatura() -> Callable[[Response], str]:
    from trafilatura import extract

    return lambda response: extract(response.text) or ""


def _pairs(text: str) -> list[str]:
    """The neighbouring words of a text, or its letters where it has no spaces."""
    words = text.split() if " " in text[:50] else list(text)
    return [" ".join(pair) for pair in pairwise(words)]


def is_installed(name: str) -> bool:
    """Whether a package is there."""
    return find_spec(name) is not None
