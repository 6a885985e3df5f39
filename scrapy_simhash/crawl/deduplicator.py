"""Decides on each page and item of a crawl.

One object per crawler, shared by the spider middleware (which knows the response an item came from)
and the item pipeline (which drops it). Everything here runs in the thread of the crawl; only the
worker uses the database.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.claims import Claims
from scrapy_simhash.crawl.document import DocumentMaker
from scrapy_simhash.crawl.end import CrawlEnd
from scrapy_simhash.crawl.feeds import FeedCheck
from scrapy_simhash.crawl.fields import UnusedFieldCheck
from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.crawl.repeats import Repeats
from scrapy_simhash.crawl.revisit import Revisits
from scrapy_simhash.crawl.scrapy_internals import (
    counted_as_load,
    release_tree,
    watch_closing,
    watch_items,
)
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.snapshot import Snapshot
from scrapy_simhash.crawl.start import CrawlStart, database_of, settings_of
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy, NearDuplicateItem
from scrapy_simhash.crawl.tracking import Page, TrackedItem, Tracker
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.budgets import largest
from scrapy_simhash.index.verdict import Document, LeftOut, Match, Verdict
from scrapy_simhash.item.keys import UNIDENTIFIED
from scrapy_simhash.signals import item_change, near_duplicate
from scrapy_simhash.text.packed import TooLarge
from scrapy_simhash.visible import iso_time, shortened

logger = logging.getLogger(__name__)


class Deduplicator:
    """Drops the near-duplicates of one crawl. Get it with :meth:`of`.

    The tracker knows which page an item belongs to, the document maker extracts what is compared,
    the claims hold the verdict, and the tracker then settles the claim by what became of the item.
    """

    # By the id of the crawler, which lives at least as long: the value refers to it.
    _of: ClassVar[WeakValueDictionary[int, Deduplicator]] = WeakValueDictionary()

    def __init__(self, crawler: Crawler, settings: Settings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._has_warned = False
        self._stats = CrawlStats(crawler.stats)
        self._errors = ErrorPolicy(crawler, self._stats, settings.on_error == "close")
        self._worker = Worker(database_of(crawler, settings), settings.timeout)
        self._claims = Claims(self._worker, settings, self._stats, self._errors)
        self._documents = DocumentMaker(settings, self._stats, self._worker.secret)
        self._unused = UnusedFieldCheck(
            SIMHASH_FIELDS=settings.fields,
            SIMHASH_IGNORE_FIELDS=settings.ignore_fields,
            SIMHASH_KEY=settings.key,
        )
        self._repeats = Repeats(crawler, settings.closespider_repeats)
        feeds = self._feeds = FeedCheck(crawler, self._stats)
        here = (crawler, settings, self._worker, self._stats)
        #: The pages of earlier crawls, if that is configured; Scrapy's own cache comes first.
        is_cached = crawler.settings.getbool("HTTPCACHE_ENABLED")
        has_cache = settings.revisit is not None and not is_cached
        self.revisits = Revisits(*here) if has_cache else None
        self._tracker = Tracker(crawler, settings, self._claims.settle, feeds.has)
        self._start = CrawlStart(crawler, settings, self._worker, self._stats, self._errors)
        self._end = CrawlEnd(*here, self._claims, feeds, self.revisits)
        for handler, signal in (
            (self._start.spider_opened, signals.spider_opened),
            (self._start.spider_closed, signals.spider_closed),
            (self._tracker.item_scraped, signals.item_scraped),
            (self._end.response_received, signals.response_received),
            (feeds.spider_opened, signals.spider_opened),
            (feeds.slot_closed, signals.feed_slot_closed),
            (feeds.exporter_closed, signals.feed_exporter_closed),
            (self._unused.report, signals.spider_closed),
            (self._end.spider_closed, signals.spider_closed),
            (self._end.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(handler, signal)
        if self.revisits is not None:
            crawler.signals.connect(self.revisits.spider_opened, signals.spider_opened)

    @classmethod
    def of(cls, crawler: Crawler) -> Deduplicator:
        """The one of this crawler, created by the first call; raises as :func:`settings_of`."""
        settings = settings_of(crawler)
        deduplicator = cls._of.get(id(crawler))
        if deduplicator is None:
            deduplicator = cls._of[id(crawler)] = cls(crawler, settings)
        return deduplicator

    def watch_storage(self, *, may_store_after: bool) -> None:
        """Called when the spider is open: see how its items are stored.

        `may_store_after` tells whether an item pipeline after ours may store them.
        """
        self._feeds.is_stored_elsewhere = may_store_after
        if self._settings.revisit is not None and self.revisits is None:
            logger.warning("SIMHASH_REVISIT has no effect, as HTTPCACHE_ENABLED is True")
        watch_closing(self._crawler, self._end.pipeline_errors.append)
        watch_items(self._crawler, self._tracker.watch)

    async def output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output of a callback, recording which page each item came from."""
        page = self._tracker.open(response)
        held, error = list[Request](), None
        if self.revisits is not None:
            self.revisits.begin(page, response)
        has_links = False
        try:
            async for output in self._tracker.follow(page, result):
                has_links |= isinstance(output, Request)
                if isinstance(output, Request) and self._holds(page):
                    held.append(output)
                else:
                    yield output
        except Exception as raised:  # noqa: BLE001 - raised again behind what is held
            error = raised
        if self.revisits is not None and error is None:
            self.revisits.end(page, has_links=has_links)
        if held and await self._tracker.is_copy(page):
            self._stats.count("pages/skipped")
            held.clear()
        for request in held:
            yield request
        if error is not None:
            raise error

    def _holds(self, page: Page) -> bool:
        """Whether requests wait for the verdict on the only item of their page, so far."""
        return self._settings.on_duplicate == "skip" and page.items == 1

    async def process(self, item: Any) -> Any:
        """Return the item if it is to be stored; NearDuplicateItem is raised to drop it."""
        snapshot, tracked = Snapshot(item), self._tracker.current()
        drop: NearDuplicateItem | None = None
        with self._errors:
            drop = await self._check(tracked, snapshot)
        verdict, tracked.is_left_out = tracked.verdict, drop is not None
        tracked.page.note_copy(drop is not None and verdict is not None and verdict.kind != "same")
        if drop is not None:
            raise drop
        item = snapshot.take()
        if snapshot.is_changed and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s changed an item after it had yielded it. A copy with the values of before is "
                "stored; further ones are not logged. Let it yield a copy of what it still uses",
                self._tracker.callback_name(tracked.page),
            )
        with self._errors:
            self._write_fields(tracked, item)
        return item

    async def _check(self, tracked: TrackedItem, snapshot: Snapshot) -> NearDuplicateItem | None:
        """The exception that drops an item, if it is to be dropped."""
        verdict = Verdict("failed_open")
        with self._errors:
            verdict = await self._decide(tracked, snapshot)
        match, item = verdict.match, snapshot.take()
        is_copy, is_unwanted = verdict.kind == "duplicate", self._settings.leaves_out(verdict)
        # What equals a stored item in everything need not be kept.
        is_left_out = is_unwanted and not is_copy and verdict.is_equal
        if is_unwanted and not is_left_out:
            is_left_out = await self._leave_out(tracked.page, verdict, item)
        tracked.verdict = verdict
        self._stats.count_verdict(tracked.page.url, verdict)
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
                # It is stored in any case, and the items after it must not overtake it.
                deferred_from_coro(self._leave_out(tracked.page, verdict, item))
        if not is_left_out:
            return None
        message = _message(verdict.kind, document, match)
        return NearDuplicateItem(message, match, self._settings.log_level)

    async def _decide(self, tracked: TrackedItem, snapshot: Snapshot) -> Verdict:
        self._unused.see(snapshot.item)
        await self._tracker.until_counted(tracked.page)
        draft = self._documents.draft(tracked.page, snapshot.take())
        if isinstance(draft, str):
            return Verdict("skipped", reason=draft)
        tracked.document = draft.document
        if (met := await self._meet(tracked.page, draft.document)) is not None:
            return met
        document = self._documents.of_item(draft)
        if isinstance(document, str):
            tracked.document = None
            return Verdict("skipped", reason=document)
        with counted_as_load(self._crawler):
            verdict = await self._claims.claim(tracked, document)
        if verdict.status == "new" and document.key.startswith(UNIDENTIFIED):
            self._stats.count("unidentified")
        if document.reason is not None and verdict.kind == "unique":
            return replace(verdict, kind="skipped", reason=document.reason)
        return verdict

    async def _meet(self, page: Page, document: Document) -> Verdict | None:
        """The verdict on an item that is unchanged, as its page was not modified since it was met.

        With "pass" it is stored, and has to be compared with what this visit has met.
        """
        if page.read_in is None or self._settings.known != "drop":
            return None
        document.downloaded_in = page.read_in
        with counted_as_load(self._crawler):
            met = await self._worker.meet(page.namespace, document)
        document.downloaded_in = 0
        if met is not None and page.has_one_item:
            release_tree(page.response)
        return met

    def _write_fields(self, tracked: TrackedItem, item: Any) -> None:
        groups, changes = self._settings.group_field, self._settings.change_field
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
        is_copy, budget = verdict.kind == "duplicate", self._settings.quarantine
        stays = is_copy and self._settings.on_duplicate == "report"
        left_out = LeftOut(verdict, "report" if stays else "drop" if is_copy else "same")
        with self._errors:
            try:
                if budget and not stays:
                    left_out.item, left_out.item_type = pack(item, largest(budget))
                await self._worker.leave_out(page.namespace, left_out)
            except TooLarge:
                # It could not be restored, so it is stored.
                self._stats.count("quarantine/too_large")
                if not is_copy:
                    return False
                left_out = LeftOut(verdict, "report")
                await self._worker.leave_out(page.namespace, left_out)
            return left_out.action != "report"
        self._stats.count("quarantine/failed")
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
