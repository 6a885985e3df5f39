"""The open claims of a crawl: their in-flight duplicates wait for them, outcomes settle them."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats, ErrorPolicy
from scrapy_simhash.crawl.tracking import STALLED, TrackedItem
from scrapy_simhash.crawl.worker import Worker, wait
from scrapy_simhash.index.verdict import Document, Verdict
from scrapy_simhash.index.words import Ending

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
        before: Verdict | None = None
        while True:
            if before is not None:
                # That verdict no longer holds.
                self.worker.release(namespace, before)
            verdict = before = await self.worker.claim(namespace, document)
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
            # Its item was settled meanwhile, or has been stored unchecked as the answer was late.
            elif match.claim != asked_again and (
                (match.pending and match.run == self.worker.figures.run)
                or (namespace, match.claim) in self._lost
            ):
                asked_again = match.claim
            else:
                return verdict

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
                return await wait(original.outcome, remaining)
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
        # A new file of the database gives the numbers again.
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
