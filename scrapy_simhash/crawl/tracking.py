"""Which item belongs to which page, whether the page gives others, and how the items end."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.crawl.checks import COMPARE
from scrapy_simhash.crawl.parsed import forget_tree
from scrapy_simhash.index.namespace import check_name
from scrapy_simhash.index.verdict import random_number
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.checks import Compare
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.index.verdict import Document, Verdict

__all__ = ["Page", "Subject", "Tracker", "is_item"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One visit of a page.

    Attributes:
        response: what was fetched; None for what ``start()`` yields.
        namespace: where it is compared.
        key: its own owner key.
        visit: tells this visit from others of the same page.
        compare: what of its items is compared, where its request says so.
        is_left_alone: whether its request asked for that.
    """

    response: Response | None
    namespace: str
    key: str = ""
    visit: int = 0
    compare: Compare | None = None
    is_left_alone: bool = False

    @property
    def url(self) -> str:
        """Where it was found; empty for what ``start()`` yields."""
        return self.response.url if self.response is not None else ""


@dataclass(slots=True, eq=False)
class Subject:
    """What a verdict is on: an item.

    Attributes:
        page: that it comes from.
        is_alone: whether the page gave nothing else.
        document: what was compared.
        verdict: set once it is known.
        is_stored: set once it has come to its end.
    """

    page: Page
    is_alone: bool = False
    document: Document | None = None
    verdict: Verdict | None = None
    is_stored: bool | None = None
    _outcome: Future[bool] | None = field(default=None, init=False)

    @property
    def outcome(self) -> Future[bool]:
        """Done with whether it is stored, for twins that wait."""
        if self._outcome is None:
            self._outcome = Future()
            if self.is_stored is not None:
                self._outcome.set_result(self.is_stored)
        return self._outcome

    def end(self, *, stored: bool) -> None:
        """It has come to its end."""
        self.is_stored = stored
        if self._outcome is not None:
            self._outcome.set_result(stored)


@dataclass(slots=True, eq=False)
class _ItemInFlight:
    """An item on its way through the pipelines."""

    item: Any
    subject: Subject


# The outcome's signals are sent from the task that ran process_item, so they see what it set.
_current: ContextVar[_ItemInFlight | None] = ContextVar("simhash_item", default=None)


class Tracker:
    """Follows items from the callback to their end.

    An item is never hashed, weakly referenced or written to: it may allow none of it. It is known
    by its identity until the pipeline sees it, and from then on by a context variable, as later
    pipelines may put another object in its place. Scrapy's item_scraped gives what the last
    pipeline made of it; item_dropped and item_error give what the callback yielded. An item ends in
    one of five ways, where "stored" means that no feed failed to write it:

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

    In 4 and 5 it is the other object that has an outcome, and the item is not checked.

    Args:
        crawler: whose items they are.
        settings: of the crawl.
        settle: called once with each subject, and whether it was stored.
        has_feed: called once with each item that passed all pipelines, and the response it came
            with: whether the feeds have it.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: Settings,
        settle: Callable[[Subject, bool], None],
        has_feed: Callable[[Any, Any], bool],
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._settle = settle
        self._has_feed = has_feed
        # An object may be yielded more than once.
        self._in_flight: dict[int, list[_ItemInFlight]] = {}
        self._has_warned = False

    # From a callback to the pipeline

    def open(self, response: Response) -> Page:
        """A page whose callback is about to run."""
        request = response.request
        meta = request.meta if request is not None else {}
        fingerprinter = self._crawler.request_fingerprinter
        key = response.url
        if request is not None and fingerprinter is not None:
            key = fingerprinter.fingerprint(request).hex()
        namespace, compare = meta.get("simhash_namespace"), meta.get("simhash_compare")
        is_left_alone = meta.get("simhash") is False
        if compare not in (None, *COMPARE):
            listed = ", ".join(map(repr, COMPARE))
            logger.error(
                'meta["simhash_compare"] = %r of %s: allowed are %s. SIMHASH_COMPARE counts',
                compare,
                shortened(response.url, 2000),
                listed,
            )
            compare = None
        namespace = self._namespace() if namespace is None else str(namespace)
        try:
            check_name(namespace)
        except ValueError as error:
            logger.error(  # noqa: TRY400 - it says all that is to be said
                'meta["simhash_namespace"] of %s: %s. Its items are stored unchecked',
                shortened(response.url, 2000),
                error,
            )
            is_left_alone = True
        return Page(response, namespace, key, random_number(), compare, is_left_alone)

    async def follow(self, page: Page, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on what the callback of a page yields; the first item once it is known if it is one.

        What an item is compared by depends on whether its page gives others. Requests pass at once.
        """
        held: list[Any] = []
        is_alone = True
        try:
            async for output in result:
                if not is_item(output):
                    yield output
                elif is_alone and not held:
                    held.append(output)
                else:
                    is_alone = False
                    while held:
                        yield self._expect(held.pop(), page, is_alone=False)
                    yield self._expect(output, page, is_alone=False)
        except Exception:
            # There might have been more: it is not compared as if it were alone.
            while held:
                yield self._expect(held.pop(), page, is_alone=False)
            raise
        if not held and (page.compare or self._settings.compare) != "page":
            forget_tree(page.response)
        while held:
            yield self._expect(held.pop(), page, is_alone=True)

    def _expect(self, item: Any, page: Page, *, is_alone: bool) -> Any:
        """An item of a page is on its way to the pipeline."""
        in_flight = _ItemInFlight(item, Subject(page, is_alone))
        self._in_flight.setdefault(id(item), []).append(in_flight)
        return item

    def take(self, item: Any) -> Subject:
        """What the verdict on an item is to be on; called in its task, by the pipeline."""
        _current.set(None)
        in_flight = self._pop(item) or _ItemInFlight(item, self._from_nowhere())
        _current.set(in_flight)
        return in_flight.subject

    # Ends

    def item_scraped(self, item: Any, response: Any) -> None:
        """Handles the signal: it is stored, unless a feed could not write it."""
        is_stored = self._has_feed(item, response)
        if in_flight := _current.get():
            self._finish(in_flight, stored=is_stored)
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

    def _finish(self, in_flight: _ItemInFlight, *, stored: bool = False) -> None:
        _current.set(None)
        subject = in_flight.subject
        if subject.is_stored is None:
            self._settle(subject, stored)
            subject.end(stored=stored)

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
        return Subject(Page(None, self._namespace()))

    def _forget_replaced(self, response: Response) -> None:
        """Stop waiting for an item that a pipeline before ours put another in the place of."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "SimhashPipeline was given an object that SimhashSpiderMiddleware has not seen: "
                "which page it comes from is not known: it is compared without that page. Both "
                "must be enabled, and what puts others in the place of items must come after the "
                "pipeline (a higher number in ITEM_PIPELINES) or before the middleware (a higher "
                "number in SPIDER_MIDDLEWARES)"
            )
        for first, *_ in self._in_flight.values():
            if first.subject.page.response is response:
                self._pop(first.item)
                self._finish(first)
                return

    def _namespace(self) -> str:
        return self._settings.namespace_of(self._crawler.spider)


def is_item(output: Any) -> bool:
    """Whether what a callback yields is an item, as Scrapy takes it."""
    return output is not None and not isinstance(output, Request)
