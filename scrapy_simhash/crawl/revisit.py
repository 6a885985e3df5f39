"""Known pages are asked for conditionally, or not at all: SIMHASH_REVISIT.

A page that its server calls unmodified needs no callback: its items are stored, and the pages that
it links to are known. So a visit asks for every known page, whether or not one that links to it is
read again: first for those that the spider requests, then, when it is idle, for the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from typing import Any, cast
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.asked_page import (
    CONDITIONS,
    SCHEDULED,
    AskedPage,
    conditions,
    is_early,
    may_stay,
)
from scrapy_simhash.crawl.checks import Revisit, optional, revisit
from scrapy_simhash.crawl.scrapy_internals import crawl_all, watch_requests
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy
from scrapy_simhash.crawl.stored_request import Plain, StoredRequests, redirected
from scrapy_simhash.crawl.tracking import Page, TrackedItem
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.pages import KnownPage, PageVisit, unpack_request

logger = logging.getLogger(__name__)

#: In the meta of a request that is downloaded: the number of the page that it asks for.
_ASKED = "simhash_asked"


@dataclass(eq=False)
class Revisits:
    """Asks for the known pages of a crawl."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    errors: ErrorPolicy
    #: Whether a known page could not be asked for.
    has_failed: bool = False
    _asked: dict[int, AskedPage] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    # The pages of requests that are made again, as far as they wait in memory.
    _again: WeakKeyDictionary[Request, AskedPage] = field(default_factory=WeakKeyDictionary)
    # Whether any page is known; None if nobody has looked.
    _has_known: bool | None = None
    # Pages are asked for from here on, first those without links; None at the end.
    _place: tuple[int | None, bool] | None = (None, False)
    _is_reading: bool = False
    _warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for handler, signal in (
            (self._spider_opened, signals.spider_opened),
            (self._spider_error, signals.spider_error),
            (self._spider_idle, signals.spider_idle),
        ):
            self.crawler.signals.connect(handler, signal)

    @property
    def _namespace(self) -> str:
        return self.settings.namespace_of(self.crawler.spider)

    @cached_property
    def _stored(self) -> StoredRequests:
        return StoredRequests(cast("Spider", self.crawler.spider))

    # Requests

    def _spider_opened(self) -> None:
        """Handle the signal."""
        # A shell does not crawl.
        if getattr(self.crawler, "crawling", True):
            watch_requests(self.crawler, self._schedule)

    def _schedule(self, request: Request) -> None:
        """A request of the spider, a redirect or a retry is to be made."""
        request.meta.setdefault(SCHEDULED, 0)
        number = request.meta.pop(_ASKED, 0)
        asked = self._asked.get(number)
        if asked is None or asked.is_answered:
            return
        del self._asked[number]
        asked.drop_conditions(request)
        again = self._page(request, asked.plain, asked.parent)
        again.is_only_known = asked.is_only_known
        if again.identity != asked.identity:
            # A redirect, whose target is a page of its own.
            self._note(asked.failed())
            again.plain = redirected(request, asked.plain)
            again.parent, again.is_only_known = asked.identity, False
        self._again[request] = again

    async def ask(self, request: Request) -> Response | None:
        """Make a request conditional, if it can be; or answer it, if it need not be made."""
        # Callbacks and pipelines that download a page themselves need its response.
        parent = request.meta.pop(SCHEDULED, None)
        is_first = request.meta.get("is_start_request") and not request.meta.get("depth")
        if parent is None or is_first:
            return None
        asked = self._again.pop(request, None)
        if asked is None:
            plain = self._stored.plain(request)
            if plain is None:
                return None
            asked = self._page(request, plain, parent)
        if asked.known is None:
            asked.known = await self._find(asked.identity)
        if asked.known is not None:
            self.stats.count("revisit/known")
        asked.is_sound = not (
            any(name in request.headers for name in CONDITIONS)
            or request.meta.get("simhash") is False
            or request.meta.get("simhash_namespace", self._namespace) != self._namespace
        )
        mode = self._mode(request)
        is_near = bool(self.crawler.settings.getint("DEPTH_LIMIT"))
        if mode is not None and asked.known and may_stay(asked, depth_counts=is_near):
            if is_early(asked.known, mode):
                self._save("left_out", asked.unmodified(asked=False))
                return _quiet(request, Response(request.url, status=304))
            if not self.crawler.settings.getbool("HTTPCACHE_ENABLED"):
                asked.conditions = conditions(asked.known.row)
                request.headers.update(asked.conditions)
        number = request.meta[_ASKED] = next(self._numbers)
        self._asked[number] = asked
        return None

    def answer(self, request: Request, response: Response) -> Response:
        """Note a response; one to a page that is not modified runs no callback."""
        number = request.meta.get(_ASKED, 0)
        asked = self._asked.get(number)
        if asked is None or asked.is_answered:
            return response
        asked.drop_conditions(request)
        if response.status == 200:
            asked.read(request, response)
            return response
        del self._asked[number]
        if response.status == 304 and asked.conditions:
            self._save("not_modified", asked.unmodified())
            return _quiet(request, response)
        self._note(asked.failed(is_gone=response.status in {404, 410}))
        return response

    def fail(self, request: Request) -> None:
        """Note that a request failed for good, or that a component ignores it."""
        asked = self._asked.pop(request.meta.get(_ASKED, 0), None)
        if asked is not None:
            asked.drop_conditions(request)
            self._note(asked.failed())

    # Responses

    @contextmanager
    def reading(self, page: Page, response: Response) -> Iterator[AskedPage | None]:
        """Surrounds a callback whose output is passed on; its page, if it is asked for."""
        request = response.request
        asked = page.asked = self._asked.pop(request.meta.get(_ASKED, 0), None) if request else None
        well = False
        try:
            yield asked
            well = True
        finally:
            if asked is not None and asked.end(well=well and not page.has_waited):
                self._finish(asked)

    def settle(self, tracked: TrackedItem, *, stored: bool) -> None:
        """Note the outcome of an item."""
        asked, verdict = tracked.page.asked, tracked.verdict
        left_out = verdict is not None and self.settings.leaves_out(verdict)
        if asked is not None and asked.settle(verdict, is_safe=stored or left_out):
            self._finish(asked)

    def _finish(self, asked: AskedPage) -> None:
        if asked.is_late():
            self.stats.count("revisit/late")
            self._warn(
                "A page has changed that its server called unmodified at each visit until it was "
                "read, as at every tenth one: %s. If there are many, the server is wrong: give its "
                'requests the meta "simhash_revisit": None',
                asked.plain["url"],
            )
        self._note(asked.visit())

    def _spider_error(self, response: Any) -> None:
        """Handle the signal: a callback failed before it yielded anything."""
        if (request := getattr(response, "request", None)) is not None:
            self.fail(request)

    def close(self) -> None:
        """Note that pages whose callback was not reached have to be read."""
        while self._asked:
            self._note(self._asked.popitem()[1].failed())

    # When the spider is idle

    def _spider_idle(self) -> None:
        """Handle the signal: ask for the known pages that this visit has not asked for."""
        if self._place is None:
            return
        if not self._is_reading:
            self._is_reading = True
            deferred_from_coro(self._ask_for_others())
        raise DontCloseSpider

    async def _ask_for_others(self) -> None:
        requests: list[Request] = []
        while not requests and self._place is not None:
            after, has_links = self._place
            try:
                pages = await self.worker.unasked_pages(self._namespace, after, has_links)
            except Exception as error:  # noqa: BLE001 - any error: the crawl goes on
                self.errors.report(error)
                self.has_failed, pages, has_links = True, [], True
            following = None if has_links else (None, True)
            self._place = (pages[-1].row.identity, has_links) if pages else following
            requests = [request for page in pages if (request := self._restored(page))]
        self._is_reading = False
        crawl_all(self.crawler, requests)

    def _restored(self, known: KnownPage) -> Request | None:
        """The request of a known page; None if it need not be made, or can't be."""
        try:
            plain = unpack_request(known.row.request)
            request = self._stored.restore(plain)
        except ValueError as error:
            self.has_failed = True
            self.stats.count("revisit/not_restored")
            self._warn("A known page can't be requested, as its request does not fit: %s", error)
            return None
        asked = self._page(request, plain, known.row.parent)
        asked.known, asked.is_only_known = known, True
        mode = self._mode(request)
        if mode is not None and known.is_trusted and is_early(known, mode):
            self.stats.count("revisit/known")
            self._save("left_out", asked.unmodified(asked=False))
            return None
        self._again[request] = asked
        return request

    # What both need

    def _page(self, request: Request, plain: Plain, parent: int) -> AskedPage:
        fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
        return AskedPage(identity_hash(fingerprint.hex()), plain, parent, self._stored)

    async def _find(self, identity: int) -> KnownPage | None:
        """What is known of a page, as far as the index answers."""
        with self.errors:
            if self._has_known is None:
                ask = partial(self.worker.unasked_pages, self._namespace, None)
                self._has_known = bool(await ask(False) or await ask(True))
            if self._has_known:
                return await self.worker.find_page(self._namespace, identity)
        return None

    def _mode(self, request: Request) -> Revisit | None:
        """How a page is asked for; None if it is always read."""
        given = request.meta.get("simhash_revisit", self.settings.revisit)
        try:
            mode: Revisit | None = optional(revisit)(given)
        except ValueError as error:
            self._warn('meta["simhash_revisit"] = %r of %s: %s', given, request.url, error)
            return self.settings.revisit
        return mode

    def _save(self, how: str, visit: PageVisit) -> None:
        self._note(visit)
        self.stats.count(f"revisit/{how}")
        self.stats.count("revisit/bytes_not_downloaded", visit.row.size)

    def _note(self, visit: PageVisit) -> None:
        self.worker.note_visit(self._namespace, visit)

    def _warn(self, message: str, *values: object) -> None:
        """Log a warning the first time."""
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message, *values)


def is_unread(response: Response) -> bool:
    """Whether this is the response of a page that stays as it is."""
    return response.request is not None and response.request.callback is _nothing


def _nothing(response: Response) -> None:
    """The callback of a page that stays as it is."""


def _quiet(request: Request, response: Response) -> Response:
    """A response that neither callback nor errback get."""
    meta = {"depth": request.meta.get("depth", 0), "handle_httpstatus_list": [response.status]}
    response.request = Request(request.url, callback=_nothing, meta=meta)
    return response
