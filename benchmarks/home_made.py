"""What a project writes by itself to leave near-duplicates out, with the packages that there are.

Each compares the text of the page's body, or that which an item carries, with all that this
process has seen; none remembers anything, or knows what became of an item.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from importlib.util import find_spec
from itertools import count, pairwise
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response

__all__ = ["HomeMadeMiddleware", "HomeMadePipeline", "is_installed"]

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
    """Drops an item whose text is near that of an earlier one."""

    def __init__(self, is_new: Callable[[str], bool]) -> None:
        self._is_new = is_new

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HomeMadePipeline:
        """Built by Scrapy."""
        return cls(_MATCHERS[crawler.settings["HOME_MADE"]]())

    def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item.

        Raises:
            DropItem: it is near an earlier one.
        """
        if not self._is_new(item.pop(_TEXT)):
            raise DropItem("near-duplicate")
        return item


def _body(response: Response) -> str:
    return response.xpath("string(//body)").get() or ""


def _trafilatura() -> Callable[[Response], str]:
    from trafilatura import extract

    return lambda response: extract(response.text) or ""


def _simhash() -> Callable[[str], bool]:
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=3)
    numbers = count()

    def is_new(text: str) -> bool:
        # With numpy 2 it fails on a shingle that stands more than 255 times in a text.
        with suppress(OverflowError):
            fingerprint = Simhash(text)
            if index.get_near_dups(fingerprint):
                return False
            index.add(str(next(numbers)), fingerprint)
        return True

    return is_new


def _datasketch() -> Callable[[str], bool]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.9, num_perm=128)
    numbers = count()

    def is_new(text: str) -> bool:
        sketch = MinHash(num_perm=128)
        sketch.update_batch([pair.encode("utf-8", "replace") for pair in _pairs(text)])
        if index.query(sketch):
            return False
        index.insert(next(numbers), sketch)
        return True

    return is_new


def _gaoya() -> Callable[[str], bool]:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(jaccard_threshold=0.9, num_bands=20, band_size=5, analyzer=_pairs)
    numbers = count()

    def is_new(text: str) -> bool:
        if index.query(text):
            return False
        index.insert_document(next(numbers), text)
        return True

    return is_new


def _pairs(text: str) -> list[str]:
    """The neighbouring words of a text, or its letters where it has no spaces."""
    words = text.split() if " " in text[:50] else list(text)
    return [" ".join(pair) for pair in pairwise(words)]


def _equal() -> Callable[[str], bool]:
    """For a text that is only extracted: nothing is compared."""
    return lambda _text: True


_MATCHERS: dict[str, Callable[[], Callable[[str], bool]]] = {
    "simhash": _simhash,
    "datasketch": _datasketch,
    "gaoya": _gaoya,
    "trafilatura": _equal,
}


def is_installed(name: str) -> bool:
    """Whether a package is there."""
    return find_spec(name) is not None
