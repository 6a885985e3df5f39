"""Which page an item belongs to, whether the page yields others, and how the item ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.checks import COMPARE, Compare, one_of, optional
from scrapy_simhash.crawl.scrapy_internals import release_tree
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.values import check_name
from scrapy_simhash.index.verdict import Document, Verdict, random_number
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One visit of a page."""

    response: Response | None  # None for items of start()
    namespace: str
    key: str = ""
    visit: int = 0
    compare: Compare | None = None  # overrides SIMHASH_COMPARE
    is_left_alone: bool = False  # the request disables the check

    @property
    def url(self) -> str:
        """The URL of the response, empty without one."""
        return self.response.url if self.response is not None else ""


@dataclass(slots=True, eq=False)
class Subject:
    """What gets a verdict: an item, or a page before its callback runs."""

    page: Page
    is_alone: bool = False  # the page yields no other item
    item: Any = None  # as the callback yielded it
    document: Document | None = None
    verdict: Verdict | None = None
    #: Whether the item is stored, for in-flight duplicates that wait.
    outcome: Future[bool] = field(default_factory=Future)


# Scrapy sends the signals of an item's outcome in the task that ran process_item, so their handlers
# see what process_item has set.
_current: ContextVar[Subject | None] = ContextVar("simhash_item", default=None)


@dataclass(eq=False)
class Tracker:
    """Follows items from the callback to their outcome.

    Items need not be hashable, weakly referenceable or mutable. An item is recognised by its
    identity until it reaches the pipeline, and by a context variable from then on, as later
    pipelines may replace the object. Scrapy's item_scraped has what the last pipeline returned;
    item_dropped and item_error have what the callback yielded. "Stored" means that no feed failed
    to write the item.

    ====================================================  =======  ================================
    an item is                                            outcome  recognised by
    ====================================================  =======  ================================
    1. stored                                             stored   the context
    2. dropped, or met an error, in our pipeline or later  not      the context, which has this item
    3. the same before our pipeline                       not      its identity; the context is
                                                                   empty, or has another item
    4. replaced before our pipeline, then stored          none     the context has an item without a
                                                                   page: one of the response ends
    5. replaced before our pipeline, then not stored      none     both: the context has the other
                                                                   object, its identity the item
    ====================================================  =======  ================================

    In 4 and 5 the other object has the outcome, and the item is not checked.

    `settle` is called once with each subject, and whether it was stored; `has_feed` once with each
    item that passed all pipelines, and its response: whether the feeds have written it.
    """

    crawler: Crawler
    settings: Settings
    settle: Callable[[Subject, bool], None]
    has_feed: Callable[[Any, Any], bool]
    # By the id of the item. An object may be yielded more than once.
    _in_flight: dict[int, list[Subject]] = field(default_factory=dict)
    _has_warned: bool = False

    # From the callback to the pipeline

    def open(self, response: Response) -> Page:
        """The page of a response whose callback is about to run."""
        request = response.request
        meta = request.meta if request is not None else {}
        fingerprinter = self.crawler.request_fingerprinter
        key = response.url
        if request is not None and fingerprinter is not None:
            key = fingerprinter.fingerprint(request).hex()
        namespace, compare = meta.get("simhash_namespace"), meta.get("simhash_compare")
        namespace = self._namespace() if namespace is None else str(namespace)
        is_left_alone, name = meta.get("simhash") is False, "simhash_namespace"
        try:
            check_name(namespace)
            name = "simhash_compare"
            optional(one_of(*COMPARE))(compare)
        except ValueError as error:
            logger.error(  # noqa: TRY400 - the message is complete
                'meta["%s"] of %s: %s. Its items are stored unchecked',
                *(name, shortened(response.url, 2000), error),
            )
            is_left_alone = True
        return Page(response, namespace, key, random_number(), compare, is_left_alone)

    async def follow(self, page: Page, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output of a callback; the first item once it is known whether it is alone.

        What an item is compared by depends on that. Requests pass at once.
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
            # There might have been more: do not compare it as if it were alone.
            while held:
                yield self._expect(held.pop(), page, is_alone=False)
            raise
        if not held and (page.compare or self.settings.compare) != "page":
            release_tree(page.response)
        while held:
            yield self._expect(held.pop(), page, is_alone=True)

    def _expect(self, item: Any, page: Page, *, is_alone: bool) -> Any:
        """Return an item that is now on its way to the pipeline."""
        self._in_flight.setdefault(id(item), []).append(Subject(page, is_alone, item))
        return item

    def take(self, item: Any) -> Subject:
        """The subject of an item; called by the pipeline, in the item's task."""
        _current.set(None)
        # Without a page if start() yielded it, or an earlier pipeline replaced another item by it.
        subject = self._pop(item) or Subject(Page(None, self._namespace()), item=item)
        _current.set(subject)
        return subject

    # Outcomes

    def item_scraped(self, item: Any, response: Any) -> None:
        """Handle the signal: the item is stored, unless a feed could not write it."""
        is_stored = self.has_feed(item, response)
        if subject := _current.get():
            self._finish(subject, stored=is_stored)
            # The response of what an errback yields is a Failure, and no middleware saw it.
            if isinstance(response, Response) and subject.page.response is None:
                self._give_up_replaced(response)

    def item_dropped(self, item: Any) -> None:
        """Handle the signals item_dropped and item_error."""
        subject = _current.get()
        is_current = subject is not None and subject.item is item
        if subject is not None and (is_current or subject.page.response is None):
            self._finish(subject)
        if not is_current and (unseen := self._pop(item)):
            self._finish(unseen)

    def _finish(self, subject: Subject, *, stored: bool = False) -> None:
        _current.set(None)
        if not subject.outcome.done():
            self.settle(subject, stored)
            subject.outcome.set_result(stored)

    def _pop(self, item: Any) -> Subject | None:
        waiting = self._in_flight.get(id(item))
        if waiting is None:
            return None
        subject = waiting.pop(0)
        if not waiting:
            del self._in_flight[id(item)]
        return subject

    def _give_up_replaced(self, response: Response) -> None:
        """Stop waiting for an item that was replaced before it reached our pipeline."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "SimhashPipeline received an object that SimhashSpiderMiddleware has not seen, and "
                "compares it without its page, which is unknown. Enable both; components that "
                "replace items must come after SimhashPipeline (a higher number in ITEM_PIPELINES) "
                "or before SimhashSpiderMiddleware (a higher number in SPIDER_MIDDLEWARES)"
            )
        for first, *_ in self._in_flight.values():
            if first.page.response is response:
                self._pop(first.item)
                self._finish(first)
                return

    def _namespace(self) -> str:
        return self.settings.namespace_of(self.crawler.spider)


def is_item(output: Any) -> bool:
    """Whether Scrapy takes what a callback yields for an item."""
    return output is not None and not isinstance(output, Request)
