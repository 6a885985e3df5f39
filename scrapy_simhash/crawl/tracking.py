"""Which page an item belongs to, whether the page has others, what it held, and how it ends."""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from types import coroutine
from typing import Any
from weakref import ref

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl.checks import COMPARE, Compare, one_of, optional
from scrapy_simhash.crawl.future import Future
from scrapy_simhash.crawl.scrapy_internals import callback_name, release_tree
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.pages import StoredPage
from scrapy_simhash.db.values import check_name
from scrapy_simhash.index.verdict import Document, Verdict, random_number
from scrapy_simhash.item.content import stands_for_page
from scrapy_simhash.item.keys import untracked
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

#: Turns of the event loop in which a callback is not asked for more, after which nobody waits for
#: it: where items are processed one by one, it is asked when the item before has been stored.
_IDLE_TURNS = 10

#: Seconds without the outcome of any item after which waiting for one ends: a pipeline may buffer
#: items until it has received more of them, which are those that wait.
STALLED = 120.0

_END = object()

_check_compare = optional(one_of(*COMPARE))

#: Types whose values can't be changed.
_PLAIN = frozenset({str, int, float, bool, type(None), bytes, datetime, date, Decimal})

#: How many containers inside each other are copied.
_DEEPEST = 64

_is_item_class: Callable[[type], bool] = lru_cache(maxsize=1024)(ItemAdapter.is_item_class)


@dataclass(slots=True, eq=False)
class Page:
    """One download of a page, and what its callback has yielded so far."""

    namespace: str
    #: The response, if Scrapy still has it. Items of start() and of errbacks have none.
    source: Callable[[], Response | None] = lambda: None
    key: str = ""
    #: A random number of this download.
    download: int = 0
    compare: Compare | None = None  # overrides SIMHASH_COMPARE
    is_left_alone: bool = False  # the request disables the check
    items: int = 0
    #: Whether the first item has the URL of the page, and the second item has a different one.
    has_own_item: bool = False
    #: The page as SIMHASH_REVISIT caches it, and whether an item of it is new or has changed.
    cached: StoredPage | None = None
    has_changed: bool = False
    #: Turns of the event loop since its last output.
    idle: int = 0
    #: Whether its first item is the only one, as soon as that is known; False if nobody knows.
    is_only: Future[bool] = field(default_factory=Future)
    #: Whether its first item was dropped as a copy, as soon as that is known.
    is_copy: Future[bool] = field(default_factory=Future)

    @property
    def response(self) -> Response | None:
        """The response, as long as Scrapy has it: until all its items have ended."""
        return self.source()

    @property
    def url(self) -> str:
        """The URL of the response, empty without one."""
        return "" if (response := self.response) is None else response.url

    @property
    def has_one_item(self) -> bool:
        """Whether its callback has yielded one item, and will yield no other."""
        return self.items == 1 and bool(self.is_only.result)

    @property
    def may_have_more(self) -> bool:
        """Whether its callback has yielded one item, and nobody knows whether others come."""
        return self.items == 1 and not self.has_one_item


def page_key(crawler: Crawler, request: Request) -> str:
    """The key by which later visits know the page of a request."""
    url, fingerprinter = untracked(request.url), crawler.request_fingerprinter
    if url != request.url:
        request = request.replace(url=url)
    return url if fingerprinter is None else fingerprinter.fingerprint(request).hex()


@dataclass(slots=True, eq=False)
class TrackedItem:
    """An item from its first pipeline to its outcome.

    It keeps what the item held: the callback may change it while it waits.
    """

    page: Page
    item: Any = None
    #: Whether the item was changed meanwhile.
    is_changed: bool = False
    document: Document | None = None
    verdict: Verdict | None = None
    #: Whether it is dropped by the verdict.
    is_left_out: bool = False
    #: Whether the item is stored, for in-flight duplicates that wait.
    outcome: Future[bool] = field(default_factory=Future)
    _copy: Any = None

    def keep(self, item: Any) -> None:
        """Keep an item as it is now, as it comes to its check."""
        self.item = self._copy = item
        self.is_changed = False
        with suppress(Exception):  # item classes are users' code
            copied = _copied(item, {}, _DEEPEST)
            if _are_equal(item, copied):
                self._copy = copied

    def take(self) -> Any:
        """The very item; if it was changed, a copy with the values that it had."""
        self.is_changed = self.is_changed or not _are_equal(self.item, self._copy)
        return self._copy if self.is_changed else self.item


# The item whose pipelines run in this task, and the handlers of the signals that end it.
_current: ContextVar[TrackedItem | None] = ContextVar("simhash_item", default=None)


@dataclass(eq=False)
class Tracker:
    """Follows items from the callback to their outcome.

    Any object is an item, and pipelines may replace it. So it is recognised by a context variable,
    from the moment at which Scrapy starts its first pipeline until the handlers of its last signal
    have run. Scrapy then also says which response it is from. "Stored" means that the pipelines
    have passed it and that no feed failed to write it; whatever else ends it, it is not stored.

    `settle` is called once with each item, and whether it was stored; `has_feed` once with each
    item that passed all pipelines, and its response: whether the feeds have written it.
    """

    crawler: Crawler
    settings: Settings
    settle: Callable[[TrackedItem, bool], None]
    has_feed: Callable[[Any, Any], bool]
    # By the ids of their responses, which are alive.
    _pages: dict[int, Page] = field(default_factory=dict)
    # The names of callbacks that wait after their first item.
    _waiting: set[str] = field(default_factory=set)
    _has_warned: bool = False

    # From the callback to the pipeline

    def open(self, response: Response) -> Page:
        """The page of a response whose callback is about to run, or has failed."""
        if page := self._pages.get(id(response)):
            return page
        request = response.request
        meta = request.meta if request is not None else {}
        key = response.url if request is None else page_key(self.crawler, request)
        namespace, compare = meta.get("simhash_namespace"), meta.get("simhash_compare")
        namespace = self._namespace() if namespace is None else str(namespace)
        is_left_alone, name = meta.get("simhash") is False, "simhash_namespace"
        try:
            check_name(namespace)
            name = "simhash_compare"
            compare = _check_compare(compare)
        except ValueError as error:
            logger.error(  # noqa: TRY400 - the message is complete
                'meta["%s"] of %s: %s. Its items are stored unchecked',
                name,
                shortened(response.url, 2000),
                error,
            )
            is_left_alone = True
        number = id(response)
        source = ref(response, lambda _: self._pages.pop(number, None))
        page = Page(namespace, source, key, random_number(), compare, is_left_alone)
        self._pages[number] = page
        if self._waiting and self.callback_name(page) in self._waiting:
            page.is_only.resolve(False)
        return page

    async def follow(self, page: Page, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output of a callback, as it comes."""
        note_wait, first = partial(self._note_wait, page), None
        try:
            while True:
                output = await _watched(anext(result, _END), note_wait)
                if output is _END:
                    return
                page.idle = 0
                if output is not None and not isinstance(output, Request):
                    page.items += 1
                    if page.items == 2:
                        both = (stands_for_page(one, page.url) for one in (first, output))
                        page.has_own_item = [*both] == [True, False]
                        page.is_only.resolve(False)
                    first = output
                yield output
        finally:
            page.is_only.resolve(page.items == 1)
            if not page.has_one_item and (page.compare or self.settings.compare) != "page":
                release_tree(page.response)

    def _note_wait(self, page: Page) -> None:
        """Note for the whole crawl that nobody knows whether the first item is the only one."""
        if page.items != 1 or page.is_only.done:
            return
        page.is_only.resolve(False)
        if (name := self.callback_name(page)) not in self._waiting:
            self._waiting.add(name)
            logger.info(
                "%s waits after its first item (or CONCURRENT_ITEMS is 1), so nobody knows whether "
                "it yields others: its items are compared like those of a list. To have an only "
                "item compared by its page, yield it last",
                name,
            )

    async def until_counted(self, page: Page) -> None:
        """Wait until it is known whether a page has one item, as long as its callback runs on."""
        while page.items == 1 and not page.is_only.done:
            page.idle += 1
            if page.idle > _IDLE_TURNS:
                self._note_wait(page)
            with suppress(TimeoutError):
                await page.is_only.wait(0)

    async def is_copy(self, page: Page) -> bool:
        """Whether the only item of a page was dropped as a copy; called when its callback ended."""
        if page.items == 1:
            with suppress(TimeoutError):
                return await page.is_copy.wait(STALLED)
        return False

    @contextmanager
    def watch(self, response: Any) -> Iterator[None]:
        """Surrounds the pipelines and the signals of an item; its response may be a failure."""
        page = self._pages.get(id(response))
        if page is None and isinstance(response, Response) and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "SimhashPipeline is enabled without SimhashSpiderMiddleware: items are compared "
                "without their pages. Enable both, or the add-on"
            )
        tracked = TrackedItem(page or Page(self._namespace()))
        _current.set(tracked)
        try:
            yield
        finally:
            self._finish(tracked, stored=False)

    def current(self) -> TrackedItem:
        """What the pipelines of this task are about."""
        tracked = _current.get()
        if tracked is None or tracked.outcome.done:
            # Another Scrapy, or whoever calls the pipelines without it.
            tracked = TrackedItem(Page(self._namespace()))
            _current.set(tracked)
        return tracked

    # Outcomes

    def item_scraped(self, item: Any, response: Any) -> None:
        """Handle the signal: the item is stored, unless a feed could not write it."""
        is_stored = self.has_feed(item, response)
        self._finish(_current.get(), stored=is_stored)

    def _finish(self, tracked: TrackedItem | None, *, stored: bool) -> None:
        if tracked is not None and not tracked.outcome.done:
            self.settle(tracked, stored)
            tracked.outcome.resolve(stored)
            # Unless it has been checked: an earlier pipeline may have dropped it.
            tracked.page.is_copy.resolve(False)

    def _namespace(self) -> str:
        return self.settings.namespace_of(self.crawler.spider)

    def callback_name(self, page: Page) -> str:
        """The name of what yielded the items of a page."""
        return callback_name(page.response, self.crawler.spider)


@coroutine
def _watched(awaitable: Awaitable[Any], note_wait: Callable[[], None]) -> Generator[Any, Any, Any]:
    """Await something in this very task and turn; note whether it has to be waited for."""
    step: Any = awaitable.__await__()
    try:
        awaited = step.send(None)
        note_wait()
        while True:
            try:
                result = yield awaited
            except BaseException as error:  # noqa: BLE001 - the callback gets it
                awaited = step.throw(error)
            else:
                awaited = step.send(result)
    except StopIteration as stop:
        return stop.value


def _copied(value: Any, known: dict[int, Any], depth: int) -> Any:
    """A container with its containers copied; any other value as it is.

    `known` are the copies that were made, by the ids of the originals.
    """
    if id(value) in known:
        return known[id(value)]
    is_container = isinstance(value, (dict, list, set, tuple)) or _is_item_class(type(value))
    if not depth or not is_container:
        return value
    if isinstance(value, tuple):
        changed = [_copied(one, known, depth - 1) for one in value]
        is_new = any(one is not old for one, old in zip(changed, value, strict=True))
        return tuple.__new__(type(value), changed) if is_new else value
    copied = value.copy() if type(value) in {dict, list, set} else copy.copy(value)
    if copied is value or type(copied) is not type(value):
        return value
    known[id(value)] = copied
    parts: Iterable[tuple[Any, Any]] = ()
    replace: Any = None
    if isinstance(value, dict):
        parts, replace = dict.items(value), dict.__setitem__
    elif isinstance(value, list):
        # Lists of hundreds of links are common.
        is_plain = _PLAIN.issuperset(map(type, value))
        parts, replace = () if is_plain else enumerate(value), list.__setitem__
    elif not isinstance(value, set):
        parts, replace = _attributes(value), object.__setattr__  # of frozen classes as well
    for place, one in parts:
        if type(one) not in _PLAIN:
            replace(copied, place, _copied(one, known, depth - 1))
    return copied


def _attributes(item: Any) -> list[tuple[str, Any]]:
    """The attributes of an item, and their values."""
    state: Any = object.__getstate__(item)
    # Those with slots have a tuple.
    parts = state if isinstance(state, tuple) else (state,)
    return [pair for attributes in parts if attributes for pair in attributes.items()]


def _are_equal(item: Any, copied: Any) -> bool:
    """Whether an item has the values of its copy, which has mostly the same objects."""
    if item is copied:
        return True
    try:
        if not isinstance(item, (dict, list, set, tuple)):
            item, copied = _attributes(item), _attributes(copied)
        return bool(item == copied)
    except Exception:  # noqa: BLE001 - item classes are users' code; and a cycle has no end
        return False
