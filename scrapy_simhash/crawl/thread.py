"""The thread that owns the database, and does what the worker is asked for."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.db.lock_wait import Liveness
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    IndexUnusable,
    SchemaMismatch,
    SchemeMismatch,
)
from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.recovery import HEARTBEAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from scrapy_simhash.crawl.connection import CrawlDatabase
    from scrapy_simhash.crawl.gathering import Gatherer, Job
    from scrapy_simhash.crawl.presence import Presence
    from scrapy_simhash.crawl.waiting import Mailbox
    from scrapy_simhash.index.runs import Run

__all__ = ["DatabaseThread", "Figures"]

logger = logging.getLogger(__name__)

#: Seconds between two small steps of clearing up, where nothing else is to be done; and for which
#: it is done at the end.
_TIDY, _TIDY_LAST = 0.05, 1.0


@dataclass(slots=True)
class Figures:
    """What has been done; written by the thread, read by any."""

    batches: int = 0
    seconds: float = 0.0
    seconds_max: float = 0.0
    run: int | None = None
    secret: bytes | None = field(default=None, repr=False)
    recovered: int = 0
    orphans: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    signs: Liveness = field(default_factory=Liveness)

    def note(self, seconds: float) -> None:
        """Count a batch that took so long."""
        self.batches += 1
        self.seconds += seconds
        self.seconds_max = max(self.seconds_max, seconds)


class DatabaseThread:
    """What is done in the thread.

    Args:
        connect: opens the database; called on the first job, and again after it failed.
        asked: what there is to do.
        presence: whether the database answers.
        figures: what has been done.
        mailbox: tells who waits of the answers.
    """

    def __init__(
        self,
        connect: Callable[[Liveness], CrawlDatabase],
        asked: Gatherer,
        presence: Presence,
        figures: Figures,
        mailbox: Mailbox,
    ) -> None:
        self._connect = connect
        self._asked = asked
        self._mailbox = mailbox
        self._presence = presence
        self._figures = figures
        self._database: CrawlDatabase | None = None
        #: Outcomes that could not be written yet.
        self._backlog: list[Job] = []
        self._is_untidy = False

    def run(self) -> None:
        """Work until the run is closed."""
        while True:
            jobs, barrier = self._asked.take(self._idle())
            self._presence.note_return()
            jobs = [job for job in jobs if job.answer.set_running_or_notify_cancel()]
            if self._presence.is_away:
                # At once: nobody is to wait for the probe.
                self._do(jobs)
                self._probe()
            else:
                self._beat()
                self._do(jobs)
                self._tidy()
            self._presence.note_return()
            if barrier is None:
                continue
            done = self._count() if barrier.close is None else self._end(barrier.close)
            if barrier.answer.set_running_or_notify_cancel():
                barrier.answer.set_result(done)
            if barrier.close is not None:
                return

    def abandon(self) -> None:
        """Nobody writes what becomes of this run any more."""
        if self._database is not None:
            self._database.run.abandon()

    def _idle(self) -> float:
        """Seconds until something is to be done if nobody asks for anything."""
        if self._presence.is_away:
            return self._presence.idle
        if self._backlog:
            return 0.0
        return _TIDY if self._is_untidy else HEARTBEAT

    def _do(self, jobs: list[Job]) -> None:
        jobs = self._backlog + jobs
        self._backlog = []
        if not jobs:
            return
        started, was_away = time.monotonic(), self._presence.is_away
        by_namespace: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            if job.is_opening:
                self._do_opening(job)
            else:
                by_namespace[job.namespace].append(job)
        for namespace, group in by_namespace.items():
            # After an outage there may be many.
            for start in range(0, len(group), BATCH):
                self._do_group(namespace, group[start : start + BATCH])
                self._mailbox.send()
        self._mailbox.send()
        if not was_away:
            self._figures.note(time.monotonic() - started)

    def _do_group(self, namespace: str, jobs: Sequence[Job]) -> None:
        if error := self._presence.error:
            self._fail(jobs, error)
            return
        try:
            index = self._open().index(namespace)
            verdicts = iter(
                index.execute(
                    claims=[job.claim for job in jobs if job.claim],
                    confirm=[job.confirm for job in jobs if job.confirm],
                    release=[job.release for job in jobs if job.release],
                    duplicates=[job.duplicate for job in jobs if job.duplicate],
                )
            )
            foreseen = iter([index.foresee(job.foresee) for job in jobs if job.foresee])
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            if self._note_error(error) or len(jobs) == 1:
                self._fail(jobs, error)
                return
            # One of them can't be done; the others must not suffer for it.
            for job in jobs:
                self._do_group(namespace, [job])
            return
        self._figures.signs.note()
        for job in jobs:
            job.answer.set_result(
                next(verdicts) if job.claim else next(foreseen) if job.foresee else None
            )

    def _do_opening(self, job: Job) -> None:
        try:
            job.answer.set_result(self._open().size(job.namespace))
        except Exception as error:  # noqa: BLE001 - whatever it is, the crawl waits for an answer
            self._note_error(error)
            job.answer.set_exception(error)

    def _note_error(self, error: Exception) -> bool:
        """Whether the database as a whole is in trouble, rather than one document in it."""
        if isinstance(error, IndexUnavailable) and _concerns_all(error):
            self._presence.note_away(error)
            return True
        self._figures.signs.note()
        return False

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        for job in jobs:
            if job.is_outcome and isinstance(error, IndexUnavailable) and _concerns_all(error):
                self._backlog.append(job)
            else:
                job.answer.set_exception(error)

    def _open(self) -> CrawlDatabase:
        if self._database is None:
            try:
                self._database = self._connect(self._figures.signs)
            except (IndexUnavailable, SchemaMismatch, SchemeMismatch):
                raise
            except Exception as error:  # noqa: BLE001 - no answer is no answer
                # A driver that is not installed, an option that the engine does not know, a folder
                # that can't be made.
                raise IndexUnusable(f"the database can't be opened: {error}") from None
            self._figures.run = self._database.run.id
            self._figures.secret = self._database.secret
        return self._database

    def _probe(self) -> None:
        """Look whether the database is back, if it is time for that."""
        if self._presence.idle > 0:
            return
        try:
            if self._database is None:
                self._open()
            else:
                self._database.probe()
        except Exception as error:  # noqa: BLE001 - what is no outage is said to who asks next
            if self._note_error(error):
                return
        self._presence.note_answer()

    def _beat(self) -> None:
        if self._database is not None:
            with self._contained("No sign of life could be given"):
                self._figures.recovered += self._database.beat()

    def _tidy(self, seconds: float = 0.0) -> None:
        self._is_untidy = False
        if self._database is not None and not self._presence.is_away:
            with self._contained("What dead runs left could not be cleared up"):
                self._is_untidy = self._database.tidy(seconds)

    @contextmanager
    def _contained(self, words: str) -> Iterator[None]:
        """What goes wrong inside may be an outage; the thread goes on in any case."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - without the thread nothing would be checked
            self._note_error(error)
            logger.warning("%s: %s", words, error)

    def _count(self) -> bool:
        """Count the claims, as far as the database answers."""
        if not self._presence.is_away:
            self._tidy(_TIDY_LAST)
            self._beat()
        if self._database is not None:
            with suppress(IndexUnavailable):
                self._figures.sizes = self._database.sizes()
                self._figures.counts = self._database.counts()
                self._figures.orphans = self._database.orphans()
        return True

    def _end(self, close: Callable[[Run], None]) -> bool:
        """Close the run and the database; whether that worked."""
        # The last chance.
        self._presence.forget()
        try:
            self._do([])
            if self._database is not None:
                # An outcome that could not be written leaves the run open: it counts as crashed.
                if not self._backlog:
                    close(self._database.run)
                self._database.close()
            if self._backlog:
                self.abandon()
                logger.error(
                    "Outcomes that could not be written: %d. This run counts as crashed, and what "
                    "it claimed is released when the next one opens",
                    len(self._backlog),
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, the crawl is over
            self.abandon()
            logger.error(  # noqa: TRY400 - it says all that is to be said
                "The index could not be closed: this run counts as crashed, and what it claimed "
                "is released when the next one opens: %s",
                error,
            )
            return False
        return not self._backlog


def _concerns_all(error: IndexUnavailable) -> bool:
    """Whether it is no matter of a single document."""
    return not isinstance(error.__cause__, (DataError, IntegrityError))
