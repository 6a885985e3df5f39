"""The end of a crawl: the last stats and warnings, closing the run, the report."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.feeds import FeedCheck
from scrapy_simhash.crawl.revisit import Revisits
from scrapy_simhash.crawl.scrapy_internals import may_know_requests, replaces_feeds
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import page_key
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.words import (
    changes_in_words,
    field_label,
    items_in_words,
    kept_in_words,
    pages_in_words,
)
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

# Fields that are logged.
_LOGGED_FIELDS = 10

# More items than these, and more than half of all, show that many downloads can be saved.
_REPEATED = 50

# The statuses of responses by which a site says that a page is gone.
_GONE_STATUSES = (404, 410)

# Requests that deltafetch has skipped, as an earlier crawl has made them.
_SKIPPED_REQUESTS = "deltafetch/skipped"

# Warnings of exhausted budgets, by the stats that count what was deleted or not dropped.
_LACKS_OF_ROOM = {
    "index/texts_pushed_out": "Texts deleted, as SIMHASH_TEXT_BUDGET is used up: %d. Copies of "
    "their items are found only if they are equal",
    "quarantine/pushed_out": "Dropped items that can't be restored any more, as SIMHASH_QUARANTINE "
    "is used up: %d",
    "quarantine/orphans_pushed_out": "Dropped items without a stored original among them: %d",
    "quarantine/too_large": "Duplicates stored instead of dropped, as they take more than an "
    "eighth of SIMHASH_QUARANTINE, or are too large for the database: %d",
}

# A retry of a failed response or download: "503 Service Unavailable", "twisted.internet...".
_FAILED_RETRY = re.compile(r"[45]\d\d |\w+\.")


@dataclass(eq=False)
class CrawlEnd:
    """Handles the end of the spider, and then of the engine."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    open_count: Callable[[], int]
    feeds: FeedCheck
    revisits: Revisits | None
    reason: str = "finished"
    # Of item pipelines that failed when they closed: what they held back may not be stored.
    pipeline_errors: list[Exception] = field(default_factory=list)
    # The hashes of the identity keys of pages that the site says are gone.
    gone: set[int] = field(default_factory=set)
    # Whether the filter of duplicates may drop requests that this crawl has not made.
    knows_requests: bool | None = False

    def spider_opened(self) -> None:
        """Handle the signal: before any request."""
        self.knows_requests = may_know_requests(self.crawler)

    def response_received(self, response: Response, request: Request) -> None:
        """Handle the signal."""
        if response.status in _GONE_STATUSES:
            self.gone.add(identity_hash(page_key(self.crawler, request)))

    async def spider_closed(self, reason: str) -> None:
        """Handle the signal: stats are logged, and monitors run, before the engine stops."""
        self.reason = reason
        if self.revisits is not None:
            await self.revisits.close()
        await self.worker.flush()
        self.stats.finish(self.worker.thread, self.open_count())
        self._log_result()
        self._warn_of_losses()
        self.feeds.log_missing()

    def _command(self, command: str) -> str:
        """A command as it must be called to find the index of this crawl."""
        priority = self.crawler.settings.getpriority("SIMHASH_DATABASE_URL")
        # Commands read the settings of the project only.
        is_own = priority is not None and priority >= SETTINGS_PRIORITIES["spider"]
        database = f" --database {quote(self.settings.shown_database)}" if is_own else ""
        return f"scrapy simhash {command}{database}"

    def _log_result(self) -> None:
        """What was dropped, what was kept although another item is similar, and what to call."""
        stats, run = self.stats, self.worker.thread.run
        checked = stats.get("checked")
        if not checked and self.reason.startswith("simhash_"):
            return
        which = "Which" if self.settings.drops else "Which would be left out"
        more = f"{which}, and why: {self._command(f'drops --run {run}')}"
        # `drops` does not list unchanged items.
        has_copies = run and stats.get("duplicates")
        logger.info(
            "%s. %s",
            items_in_words(stats.ended),
            more if has_copies else f"More: {self._command('stats')}",
        )
        if (repeated := stats.get("duplicates/same_site")) > max(_REPEATED, checked / 2):
            logger.info(
                "Items that repeat others of their site: %d. To see which parts of their URLs "
                "cause this: %s",
                repeated,
                self._command("patterns"),
            )
        if pages := pages_in_words(stats.below("")):
            logger.info(pages)
        if (kept := Counter(stats.below("kept/other_facts/"))) and run:
            named = [
                f"{field_label(name)} {count}" for name, count in kept.most_common(_LOGGED_FIELDS)
            ]
            logger.info(
                "%s: %s%s. To see both values: %s",
                kept_in_words(kept.total()),
                ", ".join(named),
                ", ..." if len(kept) > _LOGGED_FIELDS else "",
                self._command(f"drops --kept --run {run}"),
            )

    @property
    def _namespace(self) -> str:
        """The namespace of the spider, or the one that was used instead."""
        used = self.worker.thread.sizes
        name = self.settings.namespace_of(self.crawler.spider)
        return name if name in used else next(iter(used), name)

    def _warn_of_losses(self) -> None:
        """Warn of drops whose original may be missing, and of what is no longer kept."""
        if orphans := self.stats.get("orphans"):
            logger.warning(
                "Items dropped as duplicates of items of a crawl that later crashed: %d. Those "
                "originals may not be stored. To restore what was dropped: %s",
                orphans,
                self._command(f"restore --orphans --run {self.worker.thread.run}"),
            )
        changes = self.stats.below("changes/")
        known = changes.get("unchanged", 0) + changes.get("moved", 0)
        if known and self.settings.known == "drop" and replaces_feeds(self.crawler):
            logger.warning(
                "Items that earlier crawls have stored, left out by SIMHASH_KNOWN = 'drop': %d. A "
                "feed that replaces theirs lacks them. With SIMHASH_KNOWN = 'pass' it is complete",
                known,
            )
        copies = self.stats.get("duplicates") if self.settings.drops else 0
        is_whole = self.settings.known == "pass" and replaces_feeds(self.crawler)
        if is_whole and 0 < copies == self.stats.get("checked"):
            logger.warning(
                "All items are copies of what other spiders of the namespace, or crawls at the "
                "same time, have met: %d. A feed that replaces theirs lacks them. A renamed spider "
                "needs a new namespace",
                copies,
            )
        for name, message in _LACKS_OF_ROOM.items():
            if count := self.stats.get(name):
                logger.warning(message, count)

    async def engine_stopped(self) -> None:
        """Handle the signal: every item has its outcome, and the feeds are stored or not."""
        problem = await self.feeds.problem(self.settings.timeout)
        for error in self.pipeline_errors:
            what = f"{type(error).__name__}: {error}"
            problem = f"An item pipeline failed in close_spider ({shortened(what, 2000)})"
        if problem:
            logger.warning(
                "%s. All claims of this crawl are released, so that later crawls store its items "
                "again",
                problem,
            )
        absent = await self.worker.close(
            settled=not problem,
            complete=self._is_complete(),
            gone=self.gone,
            reason=self.reason,
            stats=self.stats.all(),
        )
        self._log_changes(absent or {})
        run, sizes = self.worker.thread.run, self.worker.thread.sizes
        similar = self.stats.get("kept/other_facts") + self.stats.get("changes/changed")
        # A run without any page has nothing to report.
        if absent is not None and run is not None and sizes and (self.settings.report or similar):
            try:
                await run_in_thread(self._look_back, run, bool(problem))
            except Exception:
                logger.exception("The report could not be written")

    def _is_complete(self) -> bool:
        """Whether the crawl met everything that it was to meet.

        Nothing has failed for good, and nothing was left out because an earlier crawl met it.
        """
        stats = self.crawler.stats.get_stats() if self.crawler.stats else {}
        return (
            # Where nothing was found, or next to nothing in the items, the selectors fit no more,
            # fields are misspelt, or robots.txt forbids everything.
            self.stats.get("checked") > 2 * self.stats.unread
            and self.settings.on_duplicate != "skip"
            and not stats.get("spider_exceptions/count")
            and not self.stats.get("failed_open")
            and not self.knows_requests
            and _failures(stats) <= 0
        )

    def _log_changes(self, absent: Mapping[str, int]) -> None:
        """What is new, changed, and so on; nothing for a first crawl."""
        self.stats.set({f"changes/{status}": count for status, count in absent.items()})
        found = self.stats.below("changes/")
        if shown := changes_in_words(found):
            run, namespace = self.worker.thread.run, quote(self._namespace)
            command = self._command(f"changes --run {run} --namespace {namespace}")
            logger.info("%s. To list them: %s", shown, command)
        if absent and (unidentified := self.stats.get("unidentified")):
            logger.info(
                "%d of the new items: entries of lists without a URL of their own. If earlier "
                "versions of them count as missing, SIMHASH_KEY has to name what identifies them",
                unidentified,
            )

    def _look_back(self, run: int, is_released: bool) -> None:
        """Log what to change, and write the report."""
        # Slow to import, and few crawls need it.
        from scrapy_simhash.history.advice import advise, find_noise  # noqa: PLC0415
        from scrapy_simhash.history.changes import read_changes  # noqa: PLC0415
        from scrapy_simhash.history.sql import Selection, choose_namespace  # noqa: PLC0415

        settings = self.settings
        database = settings.open_database()
        try:
            namespace, of_run = choose_namespace(database, self._namespace), Selection([run])
            for advice in advise(namespace, of_run):
                logger.info("To drop more: %s", advice)
            known = self.stats.below("changes/")
            others = known.get("unchanged", 0) + known.get("moved", 0)
            # Where few items change, these may be corrections.
            if known.get("changed", 0) > others and not is_released:
                changes = read_changes(namespace, of_run, ["changed"])
                for advice in find_noise(changes, settings.rule):
                    logger.info("To see fewer changes: %s: %s", advice.setting, advice.effect)
            if settings.report is not None:
                from scrapy_simhash.report.data import read_report  # noqa: PLC0415
                from scrapy_simhash.report.html import write_report  # noqa: PLC0415  (as above)

                write_report(read_report(namespace, settings.rule, of_run), settings.report)
                logger.info("The report is in %s", settings.report)
        finally:
            database.close()


def _failures(stats: Mapping[str, Any]) -> int:
    """Responses and downloads that failed, and were not tried again, and skipped requests.

    Scrapy counts each attempt. An answer of 304 that nobody asked for is no page. What robots.txt
    forbids is no failure; that other requests are ignored, or skipped as deltafetch does, may be
    because an earlier crawl has made them.
    """
    failed = 0
    for name, value in stats.items():
        kind, _, which = str(name).rpartition("/")
        status = int(which) if which.isdigit() else 0
        is_bad = status not in _GONE_STATUSES and (status >= 400 or status == 304)
        if (
            (kind == "downloader/response_status_count" and is_bad)
            or kind == "downloader/exception_type_count"
            or name == _SKIPPED_REQUESTS
        ):
            failed += value
        elif name == "robotstxt/forbidden" or (
            kind == "retry/reason_count" and _FAILED_RETRY.match(which)
        ):
            failed -= value
    return failed
