"""One thread owns the database; what is asked of it while it works is committed together."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.crawl.gathering import Barrier, Gatherer, Job
from scrapy_simhash.crawl.waiting import wait
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch
from scrapy_simhash.index.runs import HEARTBEAT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Any

    from scrapy_simhash.crawl.connection import CrawlDatabase
    from scrapy_simhash.index.runs import Run
    from scrapy_simhash.index.verdict import Claim, Document, Duplicate, Verdict

__all__ = ["Figures", "Worker"]

logger = logging.getLogger(__name__)

#: Seconds in which nothing is tried again after the database did not answer, twice as long after
#: each further time: as long as it is down, nobody should have to wait for the timeout once more.
_REST, _REST_MAX = 3.0, 60.0

#: Seconds between two steps of deleting what dead runs left, while there is nothing else to do, and
#: for which it is done at the end.
_TIDY_WAIT, _TIDY_LAST = 0.05, 1.0


@dataclass(slots=True)
class Figures:
    """What the worker has done; written by its thread, read by any."""

    batches: int = 0
    seconds: float = 0.0
    seconds_max: float = 0.0
    run: int | None = None
    recovered: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def note(self, seconds: float) -> None:
        """Count a batch that took so long."""
        self.batches += 1
        self.seconds += seconds
        self.seconds_max = max(self.seconds_max, seconds)


class Worker:
    """Does what an index is asked for in a thread of its own.

    Args:
        connect: opens the database; called in the thread, on the first job, and again after it
            failed.
        timeout: seconds that anybody waits at most.
    """

    def __init__(self, connect: Callable[[], CrawlDatabase], timeout: float) -> None:
        self.figures = Figures()
        self._connect = connect
        self._timeout = timeout
        #: What is left of it for the end.
        self._patience = timeout
        self._asked = Gatherer()
        self._thread: threading.Thread | None = None
        # Of the thread alone:
        self._database: CrawlDatabase | None = None
        self._backlog: list[Job] = []
        self._resting: tuple[float, Exception] | None = None
        self._rest = _REST
        self._has_litter = False

    async def claim(self, namespace: str, document: Document) -> Verdict:
        """The verdict on a document.

        Raises:
            IndexUnavailable: none within the timeout. A claim that comes later is released.
            SchemeMismatch, SchemaMismatch: the database holds something else.
        """
        job = self._submit(Job(namespace, claim=document))
        try:
            return cast("Verdict", await self._answer(job))
        except (IndexUnavailable, asyncio.CancelledError):

            def release(late: Future[Verdict]) -> None:
                if not late.cancelled() and not late.exception() and (claim := late.result().claim):
                    self.release(namespace, claim)

            job.answer.add_done_callback(release)
            raise

    async def foresee(self, namespace: str, document: Document) -> Verdict:
        """What would be said of a page; see :meth:`Index.foresee`.

        Raises:
            IndexUnavailable: no answer within the timeout.
        """
        return cast("Verdict", await self._answer(self._submit(Job(namespace, foresee=document))))

    async def remember(self, namespace: str, duplicate: Duplicate) -> None:
        """Keep a duplicate; returns when it is committed.

        Raises:
            IndexUnavailable: it is not known to be kept.
        """
        await self._answer(self._submit(Job(namespace, duplicate=duplicate)))

    async def _answer(self, job: Job) -> Any:
        try:
            return await wait(job.answer, self._timeout)
        except TimeoutError:
            raise IndexUnavailable(f"no answer within {self._timeout:g} s") from None

    def confirm(self, namespace: str, claim: Claim) -> None:
        """Confirm a claim as soon as the database can."""
        self._submit(Job(namespace, confirm=claim))

    def release(self, namespace: str, claim: Claim) -> None:
        """Release a claim as soon as the database can."""
        self._submit(Job(namespace, release=claim))

    async def flush(self) -> None:
        """Do what is left, and count the claims.

        Waits for it half of the timeout at most; :meth:`close` has what is left of the whole, so
        that a crawl waits no longer than that for a database when it ends.
        """
        if self._thread is None:
            return
        barrier = Barrier()
        self._asked.put(barrier)
        started = time.monotonic()
        # Whoever closes the database after this says what is wrong with it.
        with suppress(TimeoutError):
            await wait(barrier.answer, self._timeout / 2)
        self._patience -= time.monotonic() - started

    async def close(
        self, *, settled: bool, reason: str, stats: Mapping[str, Any] | None = None
    ) -> bool:
        """Do what is left, close the run and the database.

        Waits for it no longer than the timeout, less what :meth:`flush` took of it.

        Args:
            settled: see :meth:`Run.close`.
            reason: why the crawl ended.
            stats: see :meth:`Run.close`.

        Returns:
            whether there was a run, and it is closed.
        """
        if self._thread is None:
            return False
        barrier = Barrier(lambda run: run.close(settled=settled, reason=reason, stats=stats))
        self._asked.put(barrier)
        try:
            return await wait(barrier.answer, self._patience)
        except TimeoutError:
            logger.error(  # noqa: TRY400 - the traceback says nothing
                "The index did not close within %g s: its run counts as crashed, and what it "
                "claimed is released when the next one opens",
                self._timeout,
            )
            return False

    def _submit(self, job: Job) -> Job:
        if self._thread is None:
            # A daemon: a database that hangs must not keep the process.
            self._thread = threading.Thread(target=self._work, name="simhash", daemon=True)
            self._thread.start()
        self._asked.put(job)
        return job

    # In the thread

    def _work(self) -> None:
        while True:
            jobs, barrier = self._asked.take(self._idle())
            jobs = [job for job in jobs if job.answer.set_running_or_notify_cancel()]
            self._beat()
            if jobs or self._backlog:
                self._do(jobs)
            self._tidy()
            if barrier is None:
                continue
            done = self._count() if barrier.close is None else self._end(barrier.close)
            if barrier.answer.set_running_or_notify_cancel():
                barrier.answer.set_result(done)
            if barrier.close is not None:
                return

    def _do(self, jobs: list[Job]) -> None:
        jobs = self._backlog + jobs
        self._backlog = []
        if self._resting and time.monotonic() < self._resting[0]:
            self._fail(jobs, self._resting[1])
            return
        started = time.monotonic()
        by_namespace: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            by_namespace[job.namespace].append(job)
        for namespace, group in by_namespace.items():
            self._do_group(namespace, group)
        self.figures.note(time.monotonic() - started)

    def _do_group(self, namespace: str, jobs: Sequence[Job]) -> None:
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
            if len(jobs) > 1 and not _concerns_all(error):
                # One of them can't be done; the others must not suffer for it.
                for job in jobs:
                    self._do_group(namespace, [job])
                return
            if _concerns_all(error):
                self._resting = (time.monotonic() + self._rest, error)
                self._rest = min(2 * self._rest, _REST_MAX)
            self._fail(jobs, error)
            return
        self._resting, self._rest = None, _REST
        for job in jobs:
            job.answer.set_result(
                next(verdicts) if job.claim else next(foreseen) if job.foresee else None
            )

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        for job in jobs:
            if job.is_outcome and _concerns_all(error):
                self._backlog.append(job)
            else:
                job.answer.set_exception(error)

    def _open(self) -> CrawlDatabase:
        if self._database is None:
            try:
                self._database = self._connect()
            except (IndexUnavailable, SchemaMismatch):
                raise
            except Exception as error:  # noqa: BLE001 - no answer is no answer
                # A driver that is not installed, an option that the engine does not know, a folder
                # that can't be made.
                raise IndexUnavailable(f"the database can't be opened: {error}") from None
            self.figures.run = self._database.run.id
        return self._database

    def _idle(self) -> float:
        """Seconds to wait for something to do."""
        if self._has_litter:
            return _TIDY_WAIT
        return 1.0 if self._backlog else HEARTBEAT

    def _beat(self) -> None:
        if self._database is None:
            return
        try:
            self.figures.recovered += self._database.beat()
        except IndexUnavailable as error:
            logger.warning("No sign of life could be given: %s", error)

    def _tidy(self, seconds: float = 0.0) -> None:
        """Delete a little of what dead runs left; nobody should have to wait for that."""
        if self._database is None or self._resting is not None:
            return
        try:
            self._has_litter = self._database.tidy(seconds)
        except IndexUnavailable:
            # There is time enough.
            self._has_litter = False

    def _count(self) -> bool:
        """Count the claims, as far as the database answers."""
        if self._database is not None:
            with suppress(IndexUnavailable):
                self._tidy(_TIDY_LAST)
                self.figures.recovered += self._database.beat()
                self.figures.sizes = self._database.sizes()
                self.figures.counts = self._database.counts()
        return True

    def _end(self, close: Callable[[Run], None]) -> bool:
        """Close the run and the database; whether that worked."""
        self._resting = None
        try:
            if self._backlog:
                self._do([])
            if self._database is not None:
                # An outcome that could not be written leaves the run open: it counts as crashed.
                if not self._backlog:
                    close(self._database.run)
                self._database.close()
            if self._backlog:
                self._database.run.abandon() if self._database else None
                logger.error(
                    "%d outcomes could not be written: this run counts as crashed, and what it "
                    "claimed is released when the next one opens",
                    len(self._backlog),
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, the crawl is over
            logger.error(  # noqa: TRY400 - it says all that is to be said
                "The index could not be closed: this run counts as crashed, and what it claimed "
                "is released when the next one opens: %s",
                error,
            )
            return False
        return not self._backlog


def _concerns_all(error: Exception) -> bool:
    """Whether the database as a whole is in trouble, rather than one document in it."""
    return isinstance(error, IndexUnavailable) and not isinstance(
        error.__cause__, (DataError, IntegrityError)
    )
