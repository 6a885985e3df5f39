"""Decides on each page and item of a crawl.

One object per crawler, shared by the spider middleware (which knows the response an item came from)
and the item pipeline (which drops it). Everything here runs in the thread of the crawl; only the
worker uses the database.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast
from weakref import WeakValueDictionary

from scrapy import signals
from scrapy.crawler import Crawler

from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.end import CrawlEnd
from scrapy_simhash.crawl.feeds import FeedCheck
from scrapy_simhash.crawl.fields import UnusedFieldCheck
from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.crawl.repeats import Repeats
from scrapy_simhash.crawl.revisit import Revisits
from scrapy_simhash.crawl.scrapy_internals import counted_as_load, release_tree
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.start import CrawlStart, database_of, settings_of
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy, NearDuplicateItem
from scrapy_simhash.crawl.tracking import STALLED, Page, TrackedItem, Tracker
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.verdict import Document, LeftOut, Match, Verdict
from scrapy_simhash.index.words import Ending
from scrapy_simhash.index.writer import largest
from scrapy_simhash.item.keys import UNIDENTIFIED
from scrapy_simhash.signals import item_change, near_duplicate
from scrapy_simhash.text.packed import TooLarge
from scrapy_simhash.visible import iso_time, shortened

logger = logging.getLogger(__name__)

# More than the verdicts that can be on their way.
_MOST_LOST = 4096


@dataclass(eq=False)
class Claims:
    """The open claims of a crawl."""

    worker: Worker
    settings: Settings
    stats: CrawlStats
    errors: ErrorPolicy
    _open: dict[tuple[str, int], TrackedItem] = field(default_factory=dict)
    # The last claims whose items were not stored: a verdict that names one may be on its way.
    _lost: dict[tuple[str, int], None] = field(default_factory=dict)
    _last_outcome: float = 0.0
    _has_warned: bool = False

    async def claim(self, tracked: TrackedItem, document: Document) -> Verdict:
        """The final verdict on a document.

        The match of a duplicate may not be stored yet. If this crawl holds the matching claim, its
        outcome is awaited, however long its pipelines take; where they stall, the item is stored
        unchecked. If this crawl settled it while the verdict was on its way, the index is asked
        again. If another process holds it, the item is dropped: the quarantine has it, and lists it
        as an orphan should that claim be released.
        """
        namespace = tracked.page.namespace
        asked_again: int | None = None
        while True:
            verdict = cast("Verdict", await self.worker.claim(namespace, document))
            self.errors.note_answer()
            if verdict.claim is not None:
                self._open[namespace, verdict.claim.id] = tracked
                return verdict
            match = verdict.match
            if match is None or not self._depends_on_match(verdict):
                return verdict
            # An unchanged item that was found again may be dropped by a later pipeline, too.
            if original := self._open.get((namespace, match.claim)):
                is_stored = await self._wait_for(original)
                if is_stored is None:
                    return Verdict("failed_open")
                if is_stored:
                    return verdict
                # This one takes its place.
            else:
                # Its item was settled meanwhile, or stored unchecked as the answer was late.
                is_ours = match.pending and match.run == self.worker.thread.run
                is_lost = is_ours or (namespace, match.claim) in self._lost
                if not is_lost or match.claim == asked_again:
                    return verdict
                asked_again = match.claim
            # That verdict no longer holds.
            self.worker.release(namespace, verdict)

    def _depends_on_match(self, verdict: Verdict) -> bool:
        """Whether it matters that the match is stored.

        A copy that carries its group would name one without any other member.
        """
        names_group = verdict.kind == "duplicate" and self.settings.group_field is not None
        return names_group or self.settings.leaves_out(verdict)

    async def _wait_for(self, original: TrackedItem) -> bool | None:
        """Whether an item in flight is stored in the end; None if the pipelines stall."""
        self.stats.count("in_flight_waits")
        started = time.monotonic()
        while True:
            remaining = max(started, self._last_outcome) + STALLED - time.monotonic()
            if remaining <= 0:
                break
            with suppress(TimeoutError):
                return await original.outcome.wait(remaining)
        if not self._has_warned:
            self._has_warned = True
            logger.error(
                "The item pipelines have finished no item for %g s. The duplicates of the items "
                "they hold wait no longer, and are stored unchecked",
                STALLED,
            )
        return None

    def settle(self, tracked: TrackedItem, stored: bool) -> None:
        """Count how an item ended, and confirm or release its claim, if it has one."""
        self._last_outcome = time.monotonic()
        verdict, namespace = tracked.verdict, tracked.page.namespace
        if verdict is None:
            return
        end: Ending = "stored" if stored else "dropped by later pipelines or feeds"
        self.stats.count_item(verdict, "left out" if tracked.is_left_out else end)
        if (claim := verdict.claim) is None:
            return
        # A namespace that was reset gives the numbers again.
        if self._open.get((namespace, claim.id)) is tracked:
            del self._open[namespace, claim.id]
        if not stored:
            self._lost[namespace, claim.id] = None
            if len(self._lost) > _MOST_LOST:
                del self._lost[next(iter(self._lost))]
            self.worker.release(namespace, verdict)
        elif not verdict.has_old_claim:
            self.worker.confirm(namespace, verdict)
        if not verdict.has_old_claim:
            self.stats.count_outcome(verdict, stored=stored)

    def open_count(self) -> int:
        """How many unique items have no outcome yet."""
        verdicts = [tracked.verdict for tracked in self._open.values()]
        return sum(verdict.kind == "unique" for verdict in verdicts if verdict is not None)


class Deduplicator:
    """Drops the near-duplicates of one crawl. Get it with :meth:`of`.

    The tracker knows which page an item belongs to, the document maker extracts what is compared,
    the claims hold the verdict, and the tracker then settles the claim by what became of the item.
    """

    # By the id of the crawler, which lives at least as long: the value refers to it.
    _of: ClassVar[WeakValueDictionary[int, Deduplicator]] = WeakValueDictionary()

    def __init__(self, crawler: Crawler, settings: Settings) -> None:
        self._crawler = crawler
        self.settings = settings
        self._has_warned = False
        self.stats = CrawlStats(crawler.stats)
        self._errors = ErrorPolicy(crawler, self.stats, settings.on_error == "close")
        self._worker = Worker(database_of(crawler, settings), settings.timeout)
        self._claims = Claims(self._worker, settings, self.stats, self._errors)
        self._documents = DocumentMaker(settings, self.stats, self._worker.secret)
        self._unused = UnusedFieldCheck(
            SIMHASH_FIELDS=settings.fields,
            SIMHASH_IGNORE_FIELDS=settings.ignore_fields,
            SIMHASH_KEY=settings.key,
        )
        self._repeats = Repeats(crawler, settings.closespider_repeats)
        feeds = self.feeds = FeedCheck(crawler, self.stats)
        here = (crawler, settings, self._worker, self.stats)
        #: The pages of earlier crawls, if that is configured; Scrapy's own cache comes first.
        self.revisits = None
        if settings.revisit is not None:
            if crawler.settings.getbool("HTTPCACHE_ENABLED"):
                logger.warning("SIMHASH_REVISIT has no effect, as HTTPCACHE_ENABLED is True")
            else:
                self.revisits = Revisits(*here, settings.revisit)
                crawler.signals.connect(self.revisits.spider_opened, signals.spider_opened)
        self.tracker = Tracker(crawler, settings, self._claims.settle, feeds.has)
        self._start = CrawlStart(crawler, settings, self._worker, self.stats, self._errors)
        self.end = CrawlEnd(*here, self._claims.open_count, feeds, self.revisits)
        for handler, signal in (
            (self._start.spider_opened, signals.spider_opened),
            (self.tracker.item_scraped, signals.item_scraped),
            (self.end.spider_opened, signals.spider_opened),
            (self.end.response_received, signals.response_received),
            (feeds.spider_opened, signals.spider_opened),
            (feeds.slot_closed, signals.feed_slot_closed),
            (feeds.exporter_closed, signals.feed_exporter_closed),
            (self._unused.report, signals.spider_closed),
            (self.end.spider_closed, signals.spider_closed),
            (self.end.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(handler, signal)

    @classmethod
    def of(cls, crawler: Crawler) -> Deduplicator:
        """The one of this crawler, created by the first call; raises as :func:`settings_of`."""
        deduplicator = cls._of.get(id(crawler))
        if deduplicator is None:
            deduplicator = cls._of[id(crawler)] = cls(crawler, settings_of(crawler))
        return deduplicator

    async def process(self, item: Any) -> Any:
        """Return the item if it is to be stored; NearDuplicateItem is raised to drop it."""
        tracked = self.tracker.current()
        tracked.keep(item)
        drop: NearDuplicateItem | None = None
        with self._errors:
            drop = await self._check(tracked)
        verdict, tracked.is_left_out = tracked.verdict, drop is not None
        is_copy = drop is not None and verdict is not None and verdict.kind != "same"
        tracked.page.is_copy.resolve(is_copy)
        if drop is not None:
            raise drop
        item = tracked.take()
        if tracked.is_changed and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s changed an item after it had yielded it. A copy with the values of before is "
                "stored; further ones are not logged. Let it yield a copy of what it still uses",
                self.tracker.callback_name(tracked.page),
            )
        with self._errors:
            self._write_fields(tracked, item)
        return item

    async def _check(self, tracked: TrackedItem) -> NearDuplicateItem | None:
        """The exception that drops an item, if it is to be dropped."""
        verdict = Verdict("failed_open")
        with self._errors:
            verdict = await self._decide(tracked)
        match, item = verdict.match, tracked.take()
        is_copy, is_unwanted = verdict.kind == "duplicate", self.settings.leaves_out(verdict)
        # What equals a stored item in everything need not be kept.
        is_left_out = is_unwanted and not is_copy and verdict.is_equal
        if is_unwanted and not is_left_out:
            is_left_out = await self._leave_out(tracked.page, verdict, item)
        tracked.verdict = verdict
        self.stats.count_verdict(tracked.page.url, verdict)
        self._repeats.see(tracked.page.url, verdict)
        if self.revisits is not None and verdict.status in {"new", "changed", "moved"}:
            self.revisits.note_change(tracked.page)
        if verdict.status is not None:
            self._send(item_change, tracked, item, change=_change(verdict))
        document = tracked.document
        if match is None or document is None:
            return None
        if is_copy:
            self._send(near_duplicate, tracked, item, match=match)
            if not is_unwanted:
                self._worker.note(tracked.page.namespace, LeftOut(verdict, "report"))
        if not is_left_out:
            return None
        message = _message(verdict.kind, document, match)
        return NearDuplicateItem(message, match)

    async def _decide(self, tracked: TrackedItem) -> Verdict:
        self._unused.see(tracked.item)
        await self.tracker.until_counted(tracked.page)
        draft = self._documents.draft(tracked.page, tracked.take())
        if isinstance(draft, str):
            return Verdict("skipped", reason=draft)
        tracked.document = draft.document
        if (met := await self._meet(tracked.page, draft.document)) is not None:
            return met
        document = self._documents.of_item(draft)
        del draft  # which holds the tree of the page
        if isinstance(document, str):
            tracked.document = None
            return Verdict("skipped", reason=document)
        with counted_as_load(self._crawler):
            verdict = await self._claims.claim(tracked, document)
        if verdict.status == "new" and document.key.startswith(UNIDENTIFIED):
            self.stats.count("unidentified")
        if document.reason is not None and verdict.kind == "unique":
            return replace(verdict, kind="skipped", reason=document.reason)
        return verdict

    async def _meet(self, page: Page, document: Document) -> Verdict | None:
        """The verdict on an item that is unchanged, as its page was not modified since it was met.

        With "pass" it is stored, and has to be compared with what this visit has met.
        """
        downloaded_in = page.cached.run if page.cached is not None else 0
        if downloaded_in in {0, self._worker.thread.run} or self.settings.known != "drop":
            return None
        document.downloaded_in = downloaded_in
        with counted_as_load(self._crawler):
            met = await self._worker.claim(page.namespace, document)
        document.downloaded_in = 0
        if met is not None and page.has_one_item:
            release_tree(page.response)
        return met

    def _write_fields(self, tracked: TrackedItem, item: Any) -> None:
        groups, changes = self.settings.group_field, self.settings.change_field
        document, verdict = tracked.document, tracked.verdict
        if groups and verdict and document and document.reason is None:
            groups.write(item, verdict.group)
        if changes and verdict and verdict.status:
            changes.write(item, _change(verdict))

    def _send(self, signal: object, tracked: TrackedItem, item: Any, **more: Any) -> None:
        response, spider = tracked.page.response, self._crawler.spider
        self._crawler.signals.send_catch_log(
            signal, item=item, response=response, spider=spider, **more
        )

    async def _leave_out(self, page: Page, verdict: Verdict, item: Any) -> bool:
        """Note that an item is left out; whether it may be, as that is committed."""
        is_copy, budget = verdict.kind == "duplicate", self.settings.quarantine
        left_out = LeftOut(verdict, "drop" if is_copy else "same")
        with self._errors:
            try:
                if budget:
                    left_out.item, left_out.item_type = pack(item, largest(budget))
                await self._worker.leave_out(page.namespace, left_out)
            except TooLarge:
                # It could not be restored, so it is stored.
                self.stats.count("quarantine/too_large")
                if is_copy:
                    self._worker.note(page.namespace, LeftOut(verdict, "report"))
                return False
            return True
        self.stats.count("quarantine/failed")
        return False


def _change(verdict: Verdict) -> dict[str, Any]:
    """What an item is, compared with earlier visits, as items and signals carry it.

    Plain values, without what it does not have.
    """
    change: dict[str, Any] = {"status": verdict.status, "since": iso_time(verdict.since or 0.0)}
    if verdict.similarity is not None:
        change["similarity"] = round(verdict.similarity, 4)
    fields = {name: list(values) for name, values in verdict.fields.items()}
    more = {"original": verdict.moved_from, "fields": fields, "back": verdict.is_back}
    return change | {name: value for name, value in more.items() if value}


def _message(kind: str, document: Document, match: Match) -> str:
    what = "unchanged since" if kind == "same" else "near-duplicate of"
    about = "about " if match.estimated else ""
    near = "equal" if document.exact else f"similarity {about}{match.similarity:.2f}"
    which = document.key if document.exact or not document.url else document.url
    name, other = (shortened(name, 2000) for name in (which, match.url or match.key))
    return (
        f"{name}: {what} {other} ({near}, distance {match.distance}, "
        f"first seen {match.first_seen:%Y-%m-%d %H:%M:%S} UTC)"
    )
