"""The open claims of a crawl: their in-flight duplicates wait for them, outcomes settle them."""

from __future__ import annotations

import math
import time

from scrapy_simhash.crawl.errors import ErrorPolicy
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Subject
from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.index.verdict import Document, Verdict


class Claims:
    """The open claims of a crawl.

    Args:
        worker: asks the database.
        settings: which duplicates are dropped, and how long to wait at most.
        stats: where outcomes are counted.
        errors: is told of each answer.
    """

    def __init__(
        self, worker: Worker, settings: Settings, stats: CrawlStats, errors: ErrorPolicy
    ) -> None:
        self._worker = worker
        self._settings = settings
        self._stats = stats
        self._errors = errors
        self._open: dict[tuple[str, int], Subject] = {}

    async def claim(self, subject: Subject, document: Document) -> Verdict:
        """The final verdict on a document.

        The match of a duplicate may not be stored yet. If this crawl holds the matching claim, its
        outcome is awaited. If this crawl settled it while the verdict was on its way, the index is
        asked again. If another process holds it, the item is dropped: the quarantine has it, and
        lists it as an orphan should that claim be released.

        Raises:
            IndexUnavailable, SchemeMismatch, SchemaMismatch: see :meth:`Worker.claim`.
        """
        namespace = subject.page.namespace
        deadline = math.inf
        asked_again: int | None = None
        while True:
            verdict = await self._worker.claim(namespace, document)
            self._errors.note_answer()
            # Counted from the first verdict, which may itself have taken long.
            deadline = min(deadline, time.monotonic() + self._settings.timeout)
            if verdict.claim is not None:
                self._open[namespace, verdict.claim.id] = subject
                return verdict
            match = verdict.match
            if match is None or not match.pending or not self._depends_on_match(verdict):
                return verdict
            if original := self._open.get((namespace, match.claim)):
                if not await self._fails(original, deadline):
                    return verdict
                # This one takes its place.
            elif match.run == self._worker.figures.run and match.claim != asked_again:
                asked_again = match.claim
            else:
                return verdict

    def _depends_on_match(self, verdict: Verdict) -> bool:
        """Whether it matters that the match is stored.

        A copy that carries its group would name one without any other member.
        """
        names_group = verdict.kind == "duplicate" and self._settings.group_field is not None
        return names_group or self._settings.leaves_out(verdict)

    async def foresee(self, namespace: str, document: Document) -> Verdict:
        """The verdict that a page would get, without a claim.

        Raises:
            IndexUnavailable, SchemeMismatch, SchemaMismatch: see :meth:`Worker.foresee`.
        """
        verdict = await self._worker.foresee(namespace, document)
        self._errors.note_answer()
        match = verdict.match
        if match is None or not match.pending:
            return verdict
        original = self._open.get((namespace, match.claim))
        deadline = time.monotonic() + self._settings.timeout
        if original is None or await self._fails(original, deadline):
            return Verdict("unique")
        return verdict

    async def _fails(self, original: Subject, deadline: float) -> bool:
        """Whether an item in flight turns out not to be stored, if that is known in time."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        self._stats.count("in_flight_waits")
        try:
            return not await wait(original.outcome, remaining)
        except TimeoutError:
            return False

    def settle(self, subject: Subject, stored: bool) -> None:
        """Confirm or release the claim of a subject, if it has one."""
        verdict = subject.verdict
        if verdict is None or verdict.claim is None:
            return
        namespace = subject.page.namespace
        self._open.pop((namespace, verdict.claim.id), None)
        if stored:
            self._worker.confirm(namespace, verdict.claim)
        else:
            self._worker.release(namespace, verdict.claim)
        self._stats.count_outcome(verdict, stored=stored)

    def open_count(self) -> int:
        """How many unique items have no outcome yet."""
        verdicts = [subject.verdict for subject in self._open.values()]
        return sum(verdict.kind == "unique" for verdict in verdicts if verdict is not None)
