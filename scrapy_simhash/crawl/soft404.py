"""Whether a page is what its host answers to any address: an error that is not sent as one."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.text.rest import containment, sketch

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.document import Reason, Text
    from scrapy_simhash.crawl.stats import CrawlStats

__all__ = ["SoftNotFound"]

logger = logging.getLogger(__name__)

#: Two pages say the same if the larger one has so much of the smaller, which is as large as that.
#: An address that is repeated in the answer, or the time of day, is no difference.
_SHARE, _SIZE = 0.95, 0.9
#: Pages whose bytes differ by more are not read for it.
_BYTES = 0.8


class _Answer(NamedTuple):
    """What a host says to an address that can't exist: bytes, sketches of its text and of all."""

    length: int
    text: bytes
    rest: bytes


class SoftNotFound:
    """Asks each host once for a page that can't exist.

    Args:
        crawler: whose engine downloads it, within all limits of the crawl.
        read: what finds the text of a page.
        stats: where it is counted.
        timeout: seconds that the answer may take.
    """

    def __init__(
        self,
        crawler: Crawler,
        read: Callable[[Page], Text | Reason],
        stats: CrawlStats,
        timeout: float,
    ) -> None:
        self._crawler = crawler
        self._read = read
        self._stats = stats
        self._timeout = timeout
        self._answers: dict[str, Future[_Answer | None]] = {}

    async def is_one(self, page: Page) -> bool:
        """Whether a page is such an answer; false where that can't be known."""
        response = page.response
        if not isinstance(response, HtmlResponse) or page.is_left_alone:
            return False
        split = urlsplit(response.url)
        answer = await self._answer(f"{split.scheme}://{split.netloc}")
        if answer is None:
            return False
        shorter, longer = sorted((len(response.body), answer.length))
        if shorter < _BYTES * longer:
            return False
        mine = self._sums(page)
        return mine is not None and _same(mine.text, answer.text) and _same(mine.rest, answer.rest)

    async def _answer(self, host: str) -> _Answer | None:
        if host in self._answers:
            try:
                return await wait(self._answers[host], self._timeout)
            except TimeoutError:
                return None
        future = self._answers[host] = Future()
        found = None
        try:
            found = await self._ask(host)
        finally:
            future.set_result(found)
        return found

    async def _ask(self, host: str) -> _Answer | None:
        request = Request(
            f"{host}/{token_hex(12)}",
            callback=NO_CALLBACK,
            meta={"download_timeout": self._timeout, "dont_retry": True},
        )
        engine = self._crawler.engine
        if engine is None:
            return None
        self._stats.count("prune/probes")
        try:
            response = await engine.download_async(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is known of this host
            logger.debug("%s gave no answer to an address that can't exist: %s", host, error)
            return None
        if not 200 <= response.status < 300:
            return None
        return self._sums(Page(response, ""))

    def _sums(self, page: Page) -> _Answer | None:
        found = self._read(page)
        # A page that says nothing is like any other such.
        if isinstance(found, str) or not found.text.strip() or found.rest is None:
            return None
        length = len(page.response.body) if page.response is not None else 0
        return _Answer(length, sketch(found.text), found.rest)


def _same(one: bytes, other: bytes) -> bool:
    smaller, larger = sorted(int.from_bytes(packed[:4], "little") for packed in (one, other))
    return smaller >= _SIZE * larger and containment(one, other) >= _SHARE
