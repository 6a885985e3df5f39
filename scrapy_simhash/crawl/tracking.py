"""Which item belongs to which page, who still holds that page, and how its items end."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from secrets import randbits
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.index.verdict import Document, Verdict

__all__ = ["Page", "Subject", "Tracker", "is_item"]

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Page:
    """One visit of a page.

    Attributes:
        response: what was fetched; None for what ``start()`` yields.
        namespace: where it is compared.
        key: the owner key of what it claims.
        visit: tells this visit from others of the same page.
        is_left_alone: whether its request asked for that.
        item_count: the items that came from it so far.
    """

    response: Response | None
    namespace: str
    key: str
    visit: int
    is_left_alone: bool = False
    item_count: int = 0

    @property
    def url(self) -> str:
        """Where it was found; empty for what ``start()`` yields."""
        return self.response.url if self.response is not None else ""


@dataclass(slots=True, eq=False)
class Subject:
    """What gets one verdict: a page with all its items, or one item where fields are compared.

    Attributes:
        page: the page, or that of the item.
        position: of the item in its page.
        holders: items without an outcome yet, and the callback as long as it runs.
        document: what was compared.
        verdict: done once it is known; None as long as nobody has asked for it.
        outcome: done with whether it was stored, for twins that wait.
        has_kept_text: whether its text was given to be kept beside what it is a duplicate of.
    """

    page: Page
    position: int = 0
    holders: int = 1
    document: Document | None = None
    verdict: Future[Verdict] | None = None
    outcome: Future[bool] = field(default_factory=Future)
    has_kept_text: bool = False


@dataclass(slots=True, eq=False)
class _ItemInFlight:
    """An item on its way through the pipelines."""

    item: Any
    subject: Subject
    has_ended: bool = False


# The outcome's signals are sent from the task that ran process_item, so they see what it set.
_current: ContextVar[_ItemInFlight | None] = ContextVar("simhash_item", default=None)


class Tracker:
    """Follows items from the callback to their end.

    An item is never hashed, weakly referenced or written to: it may allow none of it. It is known
    by its identity until the pipeline sees it, and from then on by a context variable, as later
    pipelines may put another object in its place. Scrapy's item_scraped gives what the last
    pipeline made of it; item_dropped and item_error give what the callback yielded. An item ends in
    one of five ways:

    ====================================================  =======  ================================
    an item is                                            outcome  what shows which one it is
    ====================================================  =======  ================================
    1. stored                                             stored   the context
    2. dropped, or met an error, in our pipeline or later  not      the context, which has this item
    3. the same before our pipeline                       not      its identity; the context is
                                                                   empty, or that of another item
    4. replaced before our pipeline, then stored          none     the context has an item from
                                                                   nowhere: one of its page ends
    5. replaced before our pipeline, then not stored      none     both: the context has the other
                                                                   object, its identity the item
    ====================================================  =======  ================================

    In 4 and 5 it is the other object that has an outcome, and the page is not checked. A subject
    that nobody holds any more, and of which nothing was stored, was not stored.

    Args:
        crawler: whose items they are.
        settings: of the crawl.
        settle: called once with each subject, and whether it was stored.
    """

    def __init__(
        self, crawler: Crawler, settings: Settings, settle: Callable[[Subject, bool], None]
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._settle = settle
        # An object may be yielded more than once.
        self._in_flight: dict[int, list[_ItemInFlight]] = {}
        self._visit = randbits(63)
        self._unplaced = 0
        self._has_warned = False

    # From a callback to the pipeline

    def open(self, response: Response) -> Subject:
        """A page, held by its callback."""
        request = response.request
        meta = request.meta if request is not None else {}
        fingerprinter = self._crawler.request_fingerprinter
        key = response.url
        if request is not None and fingerprinter is not None:
            key = fingerprinter.fingerprint(request).hex()
        namespace = meta.get("simhash_namespace")
        return Subject(
            Page(
                response,
                str(namespace) if namespace is not None else self._namespace(),
                key,
                randbits(63),
                is_left_alone=meta.get("simhash") is False,
            )
        )

    async def follow(self, subject: Subject, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on what the callback of a page yields, and hold the page until it is done."""
        try:
            async for output in result:
                if is_item(output):
                    self.expect(output, subject)
                yield output
            if not subject.page.item_count:
                # It was read for its links alone, without an error: that is its outcome.
                self._end(subject, stored=True)
        finally:
            self.let_go(subject)

    def expect(self, item: Any, subject: Subject) -> None:
        """An item of a page is on its way to the pipeline."""
        page = subject.page
        if self._settings.fields is not None:
            subject = Subject(page, position=page.item_count)
        else:
            subject.holders += 1
        page.item_count += 1
        self._in_flight.setdefault(id(item), []).append(_ItemInFlight(item, subject))

    def take(self, item: Any) -> Subject:
        """What the verdict on an item is to be on; called in its task, by the pipeline."""
        _current.set(None)
        in_flight = self._pop(item) or _ItemInFlight(item, self._from_nowhere())
        _current.set(in_flight)
        return in_flight.subject

    def let_go(self, subject: Subject) -> None:
        """One of its items has ended, or its callback."""
        subject.holders -= 1
        if not subject.holders:
            self._end(subject, stored=False)

    # Ends

    def item_scraped(self, response: Any) -> None:
        """Handles the signal."""
        if in_flight := _current.get():
            self._end(in_flight.subject, stored=True)
            self._finish(in_flight)
            # What an errback yields has a failure for its response, and passes no middleware.
            if isinstance(response, Response) and in_flight.subject.page.response is None:
                self._forget_replaced(response)

    def item_dropped(self, item: Any) -> None:
        """Handles the signal."""
        self._not_stored(item)

    def item_error(self, item: Any) -> None:
        """Handles the signal."""
        self._not_stored(item)

    def _not_stored(self, item: Any) -> None:
        in_flight = _current.get()
        is_known = in_flight is not None and in_flight.item is item
        if in_flight is not None and (is_known or in_flight.subject.page.response is None):
            self._finish(in_flight)
        if not is_known and (unseen := self._pop(item)):
            self._finish(unseen)

    def _finish(self, in_flight: _ItemInFlight) -> None:
        _current.set(None)
        if not in_flight.has_ended:
            in_flight.has_ended = True
            self.let_go(in_flight.subject)

    def _end(self, subject: Subject, *, stored: bool) -> None:
        if not subject.outcome.done():
            self._settle(subject, stored)
            subject.outcome.set_result(stored)

    # Items that are not where they should be

    def _pop(self, item: Any) -> _ItemInFlight | None:
        waiting = self._in_flight.get(id(item))
        if waiting is None:
            return None
        in_flight = waiting.pop(0)
        if not waiting:
            del self._in_flight[id(item)]
        return in_flight

    def _from_nowhere(self) -> Subject:
        """For an item of ``start()``, or one that an earlier pipeline put in another's place."""
        self._unplaced += 1
        return Subject(Page(None, self._namespace(), "", self._visit), position=self._unplaced)

    def _forget_replaced(self, response: Response) -> None:
        """Stop waiting for an item that a pipeline before ours put another in the place of."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "SimhashPipeline was given an object that SimhashSpiderMiddleware has not seen: "
                "which page it comes from is not known, so its page is not checked. Both must be "
                "enabled, and what puts other objects in the place of items must come after the "
                "pipeline (a higher number in ITEM_PIPELINES) or before the middleware (a higher "
                "number in SPIDER_MIDDLEWARES)"
            )
        for first, *_ in self._in_flight.values():
            if first.subject.page.response is response:
                self._pop(first.item)
                self.let_go(first.subject)
                return

    def _namespace(self) -> str:
        return self._settings.namespace_of(self._crawler.spider)


def is_item(output: Any) -> bool:
    """Whether what a callback yields is an item, as Scrapy takes it."""
    return output is not None and not isinstance(output, Request)
