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
from functools import cached_property
from typing import cast

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.asked_page import AskedPage, is_conditional, is_fresh
from scrapy_simhash.crawl.checks import Revisit, optional, revisit
from scrapy_simhash.crawl.scrapy_internals import watch_downloads
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy
from scrapy_simhash.crawl.stored_request import (
    ASKED,
    Plain,
    StoredRequests,
    are_same,
    hash_of,
    redirected,
)
from scrapy_simhash.crawl.tracking import Page, TrackedItem
from scrapy_simhash.crawl.unasked import UnaskedPages
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.pages import KnownPage, PageVisit, unpack_request

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Revisits:
    """Asks for the known pages of a crawl."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    errors: ErrorPolicy
    # Whether a known page could not be asked for.
    _has_failed: bool = False
    # By the ids of their requests as they are stored, which are in the meta.
    _asked: dict[int, AskedPage] = field(default_factory=dict)
    _unasked: UnaskedPages = field(init=False)
    # The hashes of the requests that were restored, by the identities of their pages.
    _restored_as: dict[int, int] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self._unasked = UnaskedPages(
            self.crawler, self.settings, self.worker, self.errors, self._restored
        )

    @property
    def has_failed(self) -> bool:
        """Whether a known page could not be asked for."""
        return self._has_failed or self._unasked.has_failed

    @property
    def _namespace(self) -> str:
        return self.settings.namespace_of(self.crawler.spider)

    @cached_property
    def _stored(self) -> StoredRequests:
        return StoredRequests(cast("Spider", self.crawler.spider))

    # Requests

    def _spider_opened(self) -> None:
        """Handle the signal: callbacks and pipelines that download a page need its response."""
        watch_downloads(self.crawler, lambda request: request.meta.update({ASKED: False}))

    async def ask(self, request: Request) -> Response | None:
        """Look up what is known of a page, and answer its request if it need not be made."""
        if _is_left_alone(request, self.crawler):
            return None
        plain: Plain | None
        given = request.meta.get(ASKED)
        if given and isinstance(given, dict):
            # Restored, or made by a component of one that was to be recorded.
            self.fail(request)
            plain, is_redirected = redirected(request, given), request.url != given["url"]
            if not is_redirected:
                # A redirect would carry it on, past the middleware for allowed_domains.
                request.dont_filter = given.get("dont_filter", False)
        else:
            plain, is_redirected, given = self._stored.plain(request), False, None
        if plain is None:
            return None
        request.meta[ASKED] = plain
        fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
        identity = identity_hash(fingerprint.hex())
        restored_as = self._restored_as.get(identity) if not given or is_redirected else None
        if restored_as and not request.dont_filter and restored_as == hash_of(plain):
            # The duplicate filter has not seen the restored one.
            return _quiet(request, Response(request.url, status=304))
        callback = plain.get("callback", "")
        is_other = self._unasked.asked.get(identity, callback) != callback
        if not is_redirected:
            self._unasked.asked[identity] = callback
        recorded = await self._recorded(identity)
        if is_redirected and (is_other or (recorded and _callback_of(recorded) != callback)):
            request.meta[ASKED] = False  # such as a category, to which its former products lead
            return None
        self._unasked.asked[identity] = callback
        return self._ask_for(request, identity, plain, recorded)

    async def _recorded(self, identity: int) -> KnownPage | None:
        """What earlier visits have recorded of a page."""
        recorded = self._unasked.waiting.pop(identity, None)
        if recorded is None and self.worker.figures.known_pages:
            with self.errors:
                return await self.worker.find_page(self._namespace, identity)
        return recorded

    def _ask_for(
        self, request: Request, identity: int, plain: Plain, recorded: KnownPage | None
    ) -> Response | None:
        """Note that a page is asked for; the answer, if its request need not be made."""
        depth = request.meta.get("depth", 0)
        asked = AskedPage(identity, plain, depth, self._stored, recorded)
        asked.is_sound = not (
            is_conditional(request)
            or request.meta.get("simhash") is False
            or request.meta.get("simhash_namespace", self._namespace) != self._namespace
        )
        if recorded is not None:
            self.stats.count("revisit/known")
            if self._can_stay(asked, recorded, request):
                if self._leaves_out(recorded, request, depth):
                    return _quiet(request, Response(request.url, status=304))
                if not recorded.in_full_visit:
                    asked.revalidate(recorded)
        self._asked[id(plain)] = asked
        return None

    def _can_stay(self, asked: AskedPage, recorded: KnownPage, request: Request) -> bool:
        """Whether a page need not be read if it was not modified."""
        if not (recorded.is_trusted and asked.is_sound) or self._mode(request) is None:
            return False
        settings = self.crawler.settings
        # Where it is nearer to the start than before, more of its links are followed.
        is_nearer = settings.getint("DEPTH_LIMIT") and asked.depth < recorded.row.depth
        if is_nearer or settings.getbool("HTTPCACHE_ENABLED"):
            return False
        return _is_request_of(recorded, asked.plain)

    def _leaves_out(self, recorded: KnownPage, request: Request, depth: int) -> bool:
        """Note a page that need not be asked for yet; whether it is one."""
        mode = self._mode(request)
        is_left_out = mode is not None and recorded.is_trusted and is_fresh(recorded, mode)
        if is_left_out:
            visit = PageVisit(recorded.row._replace(depth=depth), "left_out", recorded.process)
            self._save("left_out", visit)
        return is_left_out

    # Responses

    def make_conditional(self, request: Request) -> None:
        """Let the server answer with 304 if a page that may stay as it is was not modified."""
        if (asked := self._of(request)) is not None:
            asked.add_conditions(request)

    def answer(self, request: Request, response: Response) -> Response:
        """Note a response; one to a page that is not modified runs no callback."""
        asked = self._of(request)
        if asked is not None and asked.conditions and response.status == 304:
            del self._asked[id(asked.plain)]
            self._save("not_modified", asked.unmodified())
            return _quiet(request, response)
        if response.status == 304 and not (is_conditional(request) or is_unread(response)):
            self._has_failed = True
            self._warn("A server answers that a page was not modified, unasked: %s", request.url)
        if asked is not None and response.status == 200:
            asked.drop_conditions(request)
            asked.read(request, response)
            return response
        if asked is not None and response.status in {404, 410}:
            # It has no items any more.
            asked.recorded = None
        self.fail(request)
        return response

    def fail(self, request: Request) -> None:
        """Note that a request or a callback has failed: the page has to be read again."""
        if (asked := self._of(request)) is not None:
            del self._asked[id(asked.plain)]
            asked.drop_conditions(request)
            asked.is_sound = False
            self._note(asked.visit())

    @contextmanager
    def reading(self, page: Page, response: Response) -> Iterator[AskedPage | None]:
        """Surrounds a callback whose output is passed on; its page, if it is asked for."""
        request = response.request
        asked = page.asked = None if request is None else self._of(request)
        if request is None or asked is None:
            yield None
            return
        number = request.meta[ASKED] = id(asked.plain)
        well = False
        try:
            yield asked
            well = True
        finally:
            self._asked.pop(number, None)
            request.meta.pop(ASKED, None)
            if asked.end(response, well=well and not page.has_waited):
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

    def close(self) -> None:
        """Note that pages whose callback was not reached have to be read."""
        while self._asked:
            self._note(self._asked.popitem()[1].visit())

    def _of(self, request: Request) -> AskedPage | None:
        given = request.meta.get(ASKED)
        return self._asked.get(given if isinstance(given, int) else id(given))

    def _restored(self, recorded: KnownPage) -> Request | None:
        """The request of a known page; None if it need not be made, or can't be."""
        depth = recorded.row.depth
        try:
            request = self._stored.restore(unpack_request(recorded.row.request), depth)
        except ValueError as error:
            self._has_failed = True
            self.stats.count("revisit/not_restored")
            self._warn("A known page can't be requested, as its request does not fit: %s", error)
            return None
        if not self._leaves_out(recorded, request, depth):
            # A page that is read later may lead there with other values.
            request.dont_filter = True
            self._restored_as[recorded.row.identity] = hash_of(request.meta[ASKED])
            return request
        self.stats.count("revisit/known")
        return None

    # What both need

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


def _is_left_alone(request: Request, crawler: Crawler) -> bool:
    """Whether a request is always made: that of a component, of `start()`, or of a shell."""
    if (given := request.meta.get(ASKED)) is not None:
        return given is False
    # Copies of its meta have a depth.
    is_first = request.meta.get("is_start_request") and not request.meta.get("depth")
    return bool(is_first) or not getattr(crawler, "crawling", True)


def _is_request_of(recorded: KnownPage, plain: Plain) -> bool:
    """Whether a known page was recorded with this request, as far as its items depend on it."""
    try:
        return are_same(plain, unpack_request(recorded.row.request))
    except ValueError:
        return False


def _callback_of(recorded: KnownPage) -> str | None:
    """The name of the callback of a known page, "" for the default; None if it is damaged."""
    try:
        return str(unpack_request(recorded.row.request).get("callback", ""))
    except ValueError:
        return None


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
