"""What this crawl has claimed and not settled yet: twins wait for it, outcomes settle it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.index.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.tracking import Subject
    from scrapy_simhash.crawl.trouble import Trouble
    from scrapy_simhash.crawl.worker import Worker
    from scrapy_simhash.index.verdict import Document, Match

__all__ = ["Claims"]


class Claims:
    """The claims of a crawl that pend.

    Args:
        worker: asks the database.
        settings: what is left out of storage, and how long anybody waits at most.
        stats: where outcomes are counted.
        trouble: is told of each answer.
    """

    def __init__(
        self, worker: Worker, settings: Settings, stats: CrawlStats, trouble: Trouble
    ) -> None:
        self._worker = worker
        self._settings = settings
        self._stats = stats
        self._trouble = trouble
        self._held: dict[tuple[str, int], Subject] = {}

    async def claim(self, subject: Subject, document: Document) -> Verdict:
        """The verdict on a document, which stands whatever becomes of what it was compared with.

        The match of a duplicate may not be stored yet. Then there are three cases: it is held in
        this crawl, and its outcome is waited for; it was, and its outcome was decided while this
        verdict was on its way, so that the index is asked again; or it pends in another process:
        the quarantine has the item, and lists it as an orphan if that claim is released.

        Raises:
            IndexUnavailable, SchemeMismatch, SchemaMismatch: see :meth:`Worker.claim`.
        """
        namespace = subject.page.namespace
        deadline = math.inf
        asked_again: int | None = None
        while True:
            verdict = await self._worker.claim(namespace, document)
            self._trouble.note_answer()
            # From the first verdict on: that may itself have taken long.
            deadline = min(deadline, time.monotonic() + self._settings.timeout)
            if verdict.claim is not None:
                self._held[namespace, verdict.claim.id] = subject
                return verdict
            match = verdict.match
            if match is None or not match.pending or not self._waits_for_others(verdict):
                return verdict
            if twin := self._held.get((namespace, match.claim)):
                if not await self._gives_way(twin, deadline):
                    return verdict
                # This one takes its place.
            elif self._was_just_settled(match) and match.claim != asked_again:
                asked_again = match.claim
            else:
                return verdict

    def _waits_for_others(self, verdict: Verdict) -> bool:
        """Whether it matters that what a verdict rests on is stored.

        A copy that says in whose group it is would name one that nobody else will ever be in.
        """
        names_group = verdict.kind == "duplicate" and self._settings.group_field is not None
        return names_group or self._settings.leaves_out(verdict)

    async def foresee(self, namespace: str, document: Document) -> Verdict:
        """What would be said of a page, as far as what stands for it is stored; claims nothing.

        Raises:
            IndexUnavailable, SchemeMismatch, SchemaMismatch: see :meth:`Worker.foresee`.
        """
        verdict = await self._worker.foresee(namespace, document)
        self._trouble.note_answer()
        match = verdict.match
        if match is None or not match.pending:
            return verdict
        twin = self._held.get((namespace, match.claim))
        deadline = time.monotonic() + self._settings.timeout
        if twin is None or await self._gives_way(twin, deadline):
            return Verdict("unique")
        return verdict

    async def _gives_way(self, twin: Subject, deadline: float) -> bool:
        """Whether the first one turns out not to be stored, as far as that is known in time."""
        patience = deadline - time.monotonic()
        if patience <= 0:
            return False
        self._stats.count("twin_waits")
        try:
            return not await wait(twin.outcome, patience)
        except TimeoutError:
            return False

    def _was_just_settled(self, match: Match) -> bool:
        """Whether what pended when it was met, and is held no more, was this crawl's own."""
        return match.run == self._worker.figures.run

    def settle(self, subject: Subject, stored: bool) -> None:
        """Confirm or release what a subject has claimed, if anything."""
        verdict = subject.verdict
        if verdict is None or verdict.claim is None:
            return
        namespace = subject.page.namespace
        self._held.pop((namespace, verdict.claim.id), None)
        if stored:
            self._worker.confirm(namespace, verdict.claim)
        else:
            self._worker.release(namespace, verdict.claim)
        self._stats.count_outcome(verdict, stored=stored)

    def open_count(self) -> int:
        """How many unique ones have no outcome."""
        verdicts = [subject.verdict for subject in self._held.values()]
        return sum(verdict.kind == "unique" for verdict in verdicts if verdict is not None)
