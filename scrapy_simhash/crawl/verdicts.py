"""What happens to each page and item of a crawl: verdicts, twins that wait, outcomes, figures.

One object a crawler, shared by the spider middleware (which knows the response an item came from)
and the item pipeline (which decides). Everything here runs in the crawl's own thread; only the
worker touches the database.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, ClassVar, cast
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter, ItemFilter
from scrapy.http import HtmlResponse, Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.project import data_path

from scrapy_simhash.crawl.callbacks import is_lazy
from scrapy_simhash.crawl.connection import CrawlDatabase
from scrapy_simhash.crawl.drop import NearDuplicateItem
from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.waiting import follow, wait
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    SchemaMismatch,
    SchemeMismatch,
)
from scrapy_simhash.index.verdict import Document, Duplicate, Verdict
from scrapy_simhash.item.sites import same_site
from scrapy_simhash.item.values import item_text
from scrapy_simhash.keys.plan import choose_limits
from scrapy_simhash.signals import near_duplicate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from sqlalchemy.engine import URL

    from scrapy_simhash.index.verdict import Match

__all__ = ["Verdicts"]

logger = logging.getLogger(__name__)

#: A text of fewer features that is so small a part of its page is a shell, a consent wall or what
#: the parser saved of a hostile page, the same for many different pages.
_SHELL_FEATURES, _SHELL_RATIO = 32, 500


@dataclass(slots=True, eq=False)
class _Subject:
    """What gets one verdict: a page with all its items, or one item where fields are compared.

    Attributes:
        response: where it came from; None for an item of ``start()``.
        holders: items without an outcome yet, and the callback as long as it runs.
        verdict: set once it is known.
        stored: whether one of its items was.
        explained: whether its text was given to be kept beside what it is a duplicate of.
        position: of the item in its page.
        yielded: items that came from the page so far.
    """

    response: Response | None
    namespace: str
    key: str
    visit: int
    position: int = 0
    holders: int = 1
    yielded: int = 0
    stored: bool = False
    explained: bool = False
    disabled: bool = False
    verdict: Future[Verdict] | None = None
    document: Document | None = None
    #: Done with whether it was stored, for twins that wait.
    outcome: Future[bool] = field(default_factory=Future)

    @property
    def url(self) -> str:
        return self.response.url if self.response is not None else ""


@dataclass(slots=True, eq=False)
class _Entry:
    """An item on its way through the pipelines."""

    item: Any
    subject: _Subject
    finished: bool = False


# The outcome's signals are sent from the task that ran process_item, so they see what it set.
_current: ContextVar[_Entry | None] = ContextVar("simhash_entry", default=None)


class Verdicts:
    """The verdicts of one crawl. Get it with :meth:`of`.

    Args:
        crawler: whose settings, stats and signals are used.

    Raises:
        SettingError: a setting is wrong.
    """

    # By the identity of the crawler, which lives as long as its verdicts: they hold it.
    _of: ClassVar[WeakValueDictionary[int, Verdicts]] = WeakValueDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self.settings = Settings.read(crawler.settings)
        self._crawler = crawler
        self._stats = crawler.stats
        # An item is never hashed, weakly referenced or written to: it may allow none of it.
        self._entries: dict[int, list[_Entry]] = {}
        self._held: dict[tuple[str, int], _Subject] = {}
        self._visit = randbits(63)
        self._unplaced = 0
        self._recovered = 0
        self._unplaced_said = False
        self._exported: Counter[str] = Counter()
        self._in_trouble = False
        self._said: set[type[Exception]] = set()
        self._closing = False
        self._reason = "finished"
        self._worker = Worker(self._connect, self.settings.timeout)
        for handler, signal in (
            (self._item_scraped, signals.item_scraped),
            (self._item_dropped, signals.item_dropped),
            (self._item_error, signals.item_error),
            (self._feed_slot_closed, signals.feed_slot_closed),
            (self._spider_closed, signals.spider_closed),
            (self._engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(handler, signal)

    @classmethod
    def of(cls, crawler: Crawler) -> Verdicts:
        """The verdicts of this crawler, made on the first call.

        Raises:
            NotConfigured: SIMHASH_ENABLED is false.
            SettingError: a setting is wrong.
        """
        verdicts = cls._of.get(id(crawler))
        if verdicts is None:
            verdicts = cls._of[id(crawler)] = cls(crawler)
        if not verdicts.settings.enabled:
            raise NotConfigured("SIMHASH_ENABLED is False")
        return verdicts

    def _connect(self) -> CrawlDatabase:
        """Open the database; called in the worker's thread."""
        settings, spider = self.settings, self._crawler.spider
        asked = getattr(spider, "simhash_reset", None)
        return CrawlDatabase(
            self._database_url(),
            engine_options=settings.engine_options,
            # Its own words come before the one who waits gives up.
            timeout=0.8 * settings.timeout,
            spider=spider.name if spider else "",
            job=str(self._crawler.settings.get("JOBDIR") or ""),
            on_crash=settings.on_crash,
            reset=settings.reset if asked is None else asked in {True, "1", "True", "true"},
            expire=settings.expire,
            similarity=settings.similarity,
            distance=settings.distance,
            candidates=settings.candidates,
            scheme=settings.scheme,
            same_url=settings.same_url,
            text_budget=settings.text_budget,
            item_budget=settings.quarantine,
            expected_size=settings.expected_size,
        )

    def _database_url(self) -> str | URL:
        if self.settings.database_url is not None:
            return self.settings.database_url
        return f"sqlite:///{Path(data_path('simhash', createdir=True)) / 'index.db'}"

    # Pages

    def output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on what a callback yields, remembering which page each item came from."""
        page = self._page(response)
        if self.settings.on_duplicate == "skip" and not page.disabled:
            return self._output_unless_duplicate(page, result)
        return self._output(page, result)

    async def _output(self, page: _Subject, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for output in result:
                if _is_item(output):
                    self._expect(output, page)
                yield output
            if self.settings.on_duplicate == "skip" and not page.yielded:
                # The page was read for its links alone, without an error: that is its outcome.
                self._stored(page)
        finally:
            self._let_go(page)

    async def _output_unless_duplicate(
        self, page: _Subject, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        verdict = await self._verdict(page)
        if not self._is_unwanted(verdict) or not await self._keep_aside(page, verdict, None):
            async for output in self._output(page, result):
                yield output
            return
        self._count("pages/skipped")
        if not is_lazy(page.response, self._crawler.spider):
            # A generator's body does not run unless somebody asks for its first output; anything
            # else has run already, and only what it gave back can be left out.
            self._count("pages/skipped_after_callback")
            async for output in result:
                if not _is_item(output):
                    continue
                if await self._keep_aside(page, verdict, output):
                    self._announce(page, verdict, output)
                else:
                    self._expect(output, page)
                    yield output
        self._let_go(page)

    def _page(self, response: Response) -> _Subject:
        request = response.request
        meta = request.meta if request is not None else {}
        fingerprinter = self._crawler.request_fingerprinter
        key = response.url
        if request is not None and fingerprinter is not None:
            key = fingerprinter.fingerprint(request).hex()
        return _Subject(
            response,
            self._namespace(meta),
            key,
            randbits(63),
            disabled=meta.get("simhash") is False,
        )

    def _namespace(self, meta: Mapping[str, Any]) -> str:
        given = meta.get("simhash_namespace")
        if given is not None:
            return str(given)
        spider = self._crawler.spider
        return self.settings.namespace.format(spider=spider.name if spider else "")

    def _expect(self, item: Any, page: _Subject) -> None:
        subject = page
        if self.settings.fields is not None:
            subject = _Subject(
                page.response,
                page.namespace,
                page.key,
                page.visit,
                position=page.yielded,
                disabled=page.disabled,
            )
        else:
            page.holders += 1
        page.yielded += 1
        self._entries.setdefault(id(item), []).append(_Entry(item, subject))

    def _entry(self, item: Any) -> _Entry | None:
        entries = self._entries.get(id(item))
        if entries is None:
            return None
        entry = entries.pop(0)
        if not entries:
            del self._entries[id(item)]
        return entry

    # Items

    async def process(self, item: Any) -> Any:
        """Let an item pass, or not.

        Raises:
            NearDuplicateItem: it is a duplicate, kept in quarantine, and to be dropped.
        """
        _current.set(None)
        entry = self._entry(item) or _Entry(item, self._from_nowhere(item))
        _current.set(entry)
        subject = entry.subject
        verdict = await self._verdict(subject, item)
        match = verdict.match
        if match is None or not (verdict.kind == "duplicate" or self._is_unwanted(verdict)):
            return item
        self._announce(subject, verdict, item)
        if not await self._keep_aside(subject, verdict, item):
            return item
        if not self._is_unwanted(verdict):
            return item
        what = "unchanged since" if verdict.kind == "same" else "near-duplicate of"
        raise NearDuplicateItem(
            f"{what} {match.url or match.key} (similarity {match.similarity:.2f}, "
            f"distance {match.distance}, first seen {match.first_seen:%Y-%m-%d %H:%M:%S} UTC)",
            match,
            self.settings.log_level,
        )

    def _announce(self, subject: _Subject, verdict: Verdict, item: Any) -> None:
        if verdict.kind == "duplicate":
            self._crawler.signals.send_catch_log(
                near_duplicate,
                item=item,
                response=subject.response,
                match=verdict.match,
                spider=self._crawler.spider,
            )

    def _from_nowhere(self, item: Any) -> _Subject:
        """For an item of ``start()``, or one that an earlier pipeline put in another's place."""
        self._unplaced += 1
        return _Subject(None, self._namespace({}), "", self._visit, position=self._unplaced)

    def _is_unwanted(self, verdict: Verdict) -> bool:
        if verdict.kind == "same":
            return self.settings.same_url == "drop" and verdict.claim is None
        return verdict.kind == "duplicate" and self.settings.on_duplicate != "report"

    async def _keep_aside(self, subject: _Subject, verdict: Verdict, item: Any) -> bool:
        """Remember a duplicate; whether it may be dropped, because that is done."""
        match, document = cast("Match", verdict.match), cast("Document", subject.document)
        action = "same" if verdict.kind == "same" else self.settings.on_duplicate
        packed, kind = None, None
        if subject.explained:
            # One text is enough for all items of a page.
            document = replace(document, text=None)
        subject.explained = True
        try:
            if item is not None and action != "report" and self.settings.quarantine:
                packed, kind = pack(item)
            duplicate = Duplicate(document, match, action, packed, kind)
            await self._worker.remember(subject.namespace, duplicate)
        except Exception as error:  # noqa: BLE001 - whatever it is, the item is not lost by it
            self._trouble(error)
            self._count("quarantine/failed")
            return False
        return True

    # Verdicts

    async def _verdict(self, subject: _Subject, item: Any = None) -> Verdict:
        """The verdict on a subject, decided once and shared by all its items."""
        if subject.verdict is not None:
            try:
                # Whoever decides waits twice at most, for the database and for a twin.
                return await wait(follow(subject.verdict), 4 * self.settings.timeout)
            except TimeoutError:
                return Verdict("failed_open")
        subject.verdict = Future()
        verdict = Verdict("failed_open")
        try:
            verdict = await self._decide(subject, item)
        except Exception as error:  # noqa: BLE001 - whatever it is, the item is not lost by it
            self._trouble(error)
        finally:
            subject.verdict.set_result(verdict)
            self._count_verdict(subject, verdict)
        return verdict

    async def _decide(self, subject: _Subject, item: Any) -> Verdict:
        reason, document = self._document(subject, item)
        if document is None:
            return Verdict("skipped", reason=reason)
        subject.document = document
        deadline = time.monotonic() + self.settings.timeout
        missed = None
        while True:
            verdict = await self._worker.claim(subject.namespace, document)
            self._note_answer()
            if verdict.claim is not None:
                self._held[subject.namespace, verdict.claim.id] = subject
                return verdict
            match = verdict.match
            if match is None or not match.pending or not self._is_unwanted(verdict):
                return verdict
            twin = self._held.get((subject.namespace, match.claim))
            patience = deadline - time.monotonic()
            if twin is None and match.run == self._worker.figures.run and match.claim != missed:
                # Its outcome was decided while this verdict was on its way: ask again.
                missed = match.claim
                continue
            if twin is None or patience <= 0:
                # It pends in another process, or for too long: the quarantine has the item, and
                # lists it as an orphan if that claim is released.
                return verdict
            self._count("twin_waits")
            try:
                stored = await wait(follow(twin.outcome), patience)
            except TimeoutError:
                return verdict
            if stored:
                return verdict
            # The first one was not stored after all: this one takes its place.

    def _text(self, subject: _Subject, item: Any) -> tuple[str | None, str]:
        """The text that is to be compared, or why none is."""
        response, fields = subject.response, self.settings.fields
        if fields is not None:
            text = item_text(item, fields.of(item))
            if response is None:
                # The same item of start() in another run is the same owner's.
                digest = blake2b(text.encode("utf-8", "replace"), digest_size=16)
                subject.key = f"item:{digest.hexdigest()}"
            return None, text
        if response is None:
            return "no_text", ""
        if not isinstance(response, HtmlResponse):
            return "not_text", ""
        root = response.selector.root
        if not isinstance(getattr(root, "tag", None), str):
            return "no_text", ""
        return None, self.settings.extractor(root)

    def _document(self, subject: _Subject, item: Any) -> tuple[str | None, Document | None]:
        """What is to be compared, or why nothing is."""
        if subject.disabled:
            return "disabled", None
        started = time.perf_counter()
        reason, text = self._text(subject, item)
        self._spend("text_seconds", started)
        if reason is not None:
            return reason, None
        if not text.strip():
            return "no_text", None
        if len(text) > self.settings.max_text:
            return "too_large", None
        started = time.perf_counter()
        sketch = self.settings.scheme.sketch(text)
        self._spend("fingerprint_seconds", started)
        if sketch.fingerprint is None:
            return "no_text", None
        is_shell = (
            self.settings.fields is None
            and subject.response is not None
            and sketch.size < _SHELL_FEATURES
            and len(subject.response.body) > _SHELL_RATIO * len(text)
        )
        if sketch.size < self.settings.min_features or is_shell:
            return "too_short", None
        return None, Document(
            sketch,
            subject.key,
            subject.url,
            position=subject.position,
            visit=subject.visit,
            text=text,
        )

    # Outcomes

    def _item_scraped(self, response: Response | None) -> None:
        if entry := _current.get():
            self._stored(entry.subject)
            self._finish(entry)
            # What an errback yields has a failure for its response, and passes no middleware.
            if isinstance(response, Response) and entry.subject.response is None:
                self._forget_replaced(response)

    def _item_dropped(self, item: Any) -> None:
        self._not_stored(item)

    def _item_error(self, item: Any) -> None:
        self._not_stored(item)

    def _not_stored(self, item: Any) -> None:
        entry = _current.get()
        if entry is not None and (entry.item is item or entry.subject.response is None):
            self._finish(entry)
        # Otherwise an earlier pipeline dropped it, and the context is that of another item; or
        # one put another object in its place.
        if (entry is None or entry.item is not item) and (missed := self._entry(item)):
            self._finish(missed)

    def _forget_replaced(self, response: Response) -> None:
        """Stop waiting for an item that a pipeline before ours put another in the place of."""
        if not self._unplaced_said:
            self._unplaced_said = True
            logger.warning(
                "SimhashPipeline was given an object that SimhashSpiderMiddleware has not seen: "
                "which page it comes from is not known, so its page is not checked. Both must be "
                "enabled, and what puts other objects in the place of items must come after the "
                "pipeline (a higher number in ITEM_PIPELINES) or before the middleware (a higher "
                "number in SPIDER_MIDDLEWARES)"
            )
        for entries in self._entries.values():
            if entries[0].subject.response is response:
                entry = entries[0]
                self._entry(entry.item)
                self._let_go(entry.subject)
                return

    def _finish(self, entry: _Entry) -> None:
        _current.set(None)
        if not entry.finished:
            entry.finished = True
            self._let_go(entry.subject)

    def _let_go(self, subject: _Subject) -> None:
        subject.holders -= 1
        if not subject.holders and not subject.stored:
            self._settle(subject, stored=False)

    def _stored(self, subject: _Subject) -> None:
        if not subject.stored:
            subject.stored = True
            self._settle(subject, stored=True)

    def _settle(self, subject: _Subject, *, stored: bool) -> None:
        if subject.verdict is None or not subject.verdict.done():
            return
        verdict = subject.verdict.result()
        if verdict.claim is None:
            return
        self._held.pop((subject.namespace, verdict.claim.id), None)
        if stored:
            self._worker.confirm(subject.namespace, verdict.claim)
        else:
            self._worker.release(subject.namespace, verdict.claim)
        if verdict.kind == "unique":
            self._count("claims/confirmed" if stored else "claims/released")
        elif stored:
            self._count("claims/refreshed")
        subject.outcome.set_result(stored)

    # Figures

    def _count(self, name: str, count: int = 1) -> None:
        self._stats.inc_value(f"simhash/{name}", count)

    def _spend(self, name: str, started: float) -> None:
        spent = self._stats.get_value(f"simhash/{name}", 0.0) + time.perf_counter() - started
        self._stats.set_value(f"simhash/{name}", round(spent, 6))

    def _count_verdict(self, subject: _Subject, verdict: Verdict) -> None:
        self._count("checked")
        match verdict.kind:
            case "unique":
                self._count("unique")
            case "skipped":
                self._count(f"skipped/{verdict.reason}")
            case "duplicate":
                match = cast("Match", verdict.match)
                self._count("duplicates")
                self._count(f"duplicates/distance/{match.distance}")
                same = same_site(subject.url, match.url)
                self._count("duplicates/same_site" if same else "duplicates/other_site")
            case kind:
                self._count(kind)

    def _note_answer(self) -> None:
        if self._in_trouble:
            self._in_trouble = False
            logger.info("The index answers again")
        if count := self._worker.figures.recovered - self._recovered:
            self._recovered += count
            self._count("claims/recovered", count)
            logger.info(
                "Released %d claims of earlier crawls that never closed: the pages they stood for "
                "are stored again when they are met",
                count,
            )

    def _trouble(self, error: Exception) -> None:
        """Say once what is wrong, count it always, and close the crawl where that is asked for."""
        is_mismatch = isinstance(error, (SchemeMismatch, SchemaMismatch))
        cause = error.__cause__ if isinstance(error, IndexUnavailable) else None
        self._count(f"index/errors/{type(cause or error).__name__}")
        if not is_mismatch and not isinstance(error, IndexUnavailable):
            if type(error) not in self._said:
                self._said.add(type(error))
                logger.error(
                    "Not checked for duplicates, passed through, as will be all that fail with a "
                    "%s: %s",
                    type(error).__name__,
                    error,
                    exc_info=error,
                )
            return
        close = is_mismatch or self.settings.on_error == "close"
        if not self._in_trouble:
            self._in_trouble = True
            then = "the crawl is closed" if close else "what it can't check is stored"
            logger.error("The index can't be used, %s: %s", then, error)
        if close:
            self._close("simhash_index_mismatch" if is_mismatch else "simhash_index_unavailable")

    def _close(self, reason: str) -> None:
        engine = self._crawler.engine
        if engine is not None and not self._closing:
            self._closing = True
            # Awaiting it from here would wait for this very item.
            deferred_from_coro(engine.close_spider_async(reason=reason))

    # The end

    def _feed_slot_closed(self, slot: FeedSlot) -> None:
        self._exported[slot.uri_template] += slot.itemcount

    async def _spider_closed(self, reason: str) -> None:
        self._reason = reason
        # The stats are shown, and monitors run, before the engine has stopped.
        await self._worker.flush()
        held = [subject.verdict for subject in self._held.values()]
        self._stats.set_value(
            "simhash/claims/open",
            sum(verdict.result().kind == "unique" for verdict in held if verdict is not None),
        )
        figures = self._worker.figures
        self._stats.set_value("simhash/index/batches", figures.batches)
        self._stats.set_value("simhash/index/seconds", round(figures.seconds, 3))
        self._stats.set_value("simhash/index/seconds_max", round(figures.seconds_max, 3))
        self._stats.set_value("simhash/index/size", sum(figures.sizes.values()))
        for name in ("candidates", "crowded", "exact_only"):
            if count := figures.counts.get(name):
                self._stats.set_value(f"simhash/index/{name}", count)

    async def _engine_stopped(self) -> None:
        stats = self._stats
        lost = self._lost_in_feeds()
        if lost:
            logger.warning(
                "%s: what this crawl claimed is released when the next one opens, so that nothing "
                "is taken for stored that is not",
                lost,
            )
        closed = await self._worker.close(
            settled=not lost,
            reason=self._reason,
            stats={
                name: value
                for name, value in stats.get_stats().items()
                if name.startswith("simhash/")
            },
        )
        run = self._worker.figures.run
        if closed and run is not None and self.settings.report is not None:
            try:
                await run_in_thread(self._write_report, self.settings.report, run)
            except Exception:
                logger.exception("The report could not be written")
            else:
                logger.info("The report is in %s", self.settings.report)

    def _write_report(self, path: Path, run: int) -> None:
        # Jinja2 and the charts take a while to import, and only this needs them.
        from scrapy_simhash.report.html import write_report  # noqa: PLC0415

        database = Database(
            self._database_url(),
            options=self.settings.engine_options,
            timeout=self.settings.timeout,
        )
        try:
            namespace = self._namespace({})
            if namespace not in self._worker.figures.sizes:
                namespace = next(iter(self._worker.figures.sizes))
            limit = choose_limits(
                self.settings.scheme, self.settings.similarity, self.settings.distance
            )[1]
            write_report(database, path, run=run, namespace=namespace, limit=limit)
        finally:
            database.close()

    def _lost_in_feeds(self) -> str | None:
        """What shows that not everything that was scraped has been stored."""
        stats = self._stats
        figures = stats.get_stats()
        if any(name.startswith("feedexport/failed_count/") for name in figures):
            return "A feed could not be stored"
        scraped = figures.get("item_scraped_count", 0)
        exporter = self._crawler.get_extension(FeedExporter)
        for feed, chosen in exporter.filters.items() if exporter is not None else ():
            if type(chosen) is not ItemFilter or chosen.item_classes:
                # It stores a choice of the items: their number says nothing.
                continue
            if (stored := self._exported[feed]) < scraped:
                return f"The feed {feed} has {stored} items of {scraped}"
        return None


def _is_item(output: Any) -> bool:
    return output is not None and not isinstance(output, Request)
