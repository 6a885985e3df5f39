"""The thread that owns the database: it does what the crawl asks for, and looks after the run."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Any, Literal, TypeGuard

from scrapy.utils.asyncio import is_asyncio_available
from sqlalchemy import func, select
from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.crawl.future import Future
from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import Liveness, lock
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable, NamespaceGone
from scrapy_simhash.index import upkeep
from scrapy_simhash.index.index import BATCH, Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.runs import Run, is_complete

logger = logging.getLogger(__name__)

#: Seconds for which claims are gathered for one transaction, which costs as much as several claims
#: in it: for the first after a pause, and where they keep coming.
_GATHER_FIRST = 0.01
_GATHER = 0.08
#: Seconds for which outcomes, which nobody waits for, may wait for a claim to share a transaction.
_PAUSE = 0.25

#: Seconds between two probes of an unavailable database.
_PROBE = 0.5
#: Of one that refuses us: servers take many wrong passwords for an attack.
_PROBE_UNUSABLE = 30.0

# Seconds that the end spends on deleting claims of dead runs, before it counts.
_CLEARING_SECONDS = 5.0


class CrawlDatabase:
    """An open database with its run; `who` is for :meth:`Run.open`.

    With `reset` each namespace is emptied when it is opened. Every method may raise
    IndexUnavailable.
    """

    def __init__(self, settings: Settings, liveness: Liveness, *, reset: bool, **who: str) -> None:
        self._settings, self._reset = settings, reset
        self._indexes: dict[str, Index] = {}
        self._database = database = settings.open_database(liveness)
        try:
            self.run = Run.open(database, **who, on_crash=settings.on_crash)
        except BaseException:
            database.close()
            raise
        self.secret = database.secret
        #: Closes the database, but not the run.
        self.close = database.close

    def check_place(self) -> None:
        """Raise IndexUnusable if the file is no longer where it was opened."""
        if self._database.is_gone():
            raise IndexUnusable("the file of the index was deleted or moved while the crawl runs")

    def index(self, namespace: str) -> Index:
        """The index of a namespace, opened on first use."""
        if namespace not in self._indexes:
            if self._reset:
                upkeep.reset_namespace(self._database, namespace)
            index = self._settings.open_index(self._database, namespace, self.run)
            if self._settings.expire is not None:
                before = self._database.now() - self._settings.expire * DAY
                upkeep.expire(index, before)
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def size(self, name: str) -> int:
        """How many claims a namespace has; it is neither created nor reset."""
        row = schema.namespaces.c
        number = select(row.id).where(row.name == name)
        exists = self._database.read(lambda connection: connection.scalar(number)) is not None
        return len(self.index(name)) if exists and not self._reset else 0

    def probe(self) -> None:
        """Write where the crawl writes; returns when that is possible."""
        # First: the database may not know this run any more.
        self.run.send_heartbeat()
        self.run.recovery.look()
        for index in self._indexes.values():
            # Raised after a reset by somebody else; the index handles that when it is used.
            with suppress(NamespaceGone):
                self._database.transact(partial(lock, namespace=index.id))

    def sizes(self) -> dict[str, int]:
        """How many claims the namespaces of this crawl have."""
        return {namespace: len(index) for namespace, index in self._indexes.items()}

    def counts(self) -> Counter[str]:
        """What this run has done, by the name of a stat."""
        # Of their items that go now the copies are orphans.
        self.run.recovery.clear(_CLEARING_SECONDS)
        counts: Counter[str] = Counter()
        for index in self._indexes.values():
            counts.update(index.lookup.counts)
        row = schema.sightings.c
        here = row.namespace.in_([index.id for index in self._indexes.values()])
        # Those that were only reported are stored.
        orphans = (row.run == self.run.id, here, row.orphaned, row.action.in_(("drop", "same")))
        count = select(func.count()).select_from(schema.sightings).where(*orphans)
        counts["orphans"] = self._database.read(lambda connection: connection.scalar(count)) or 0
        counts["claims/recovered"] = self.run.recovery.claims
        return counts

    def close_run(self, *, settled: bool, gone: Collection[int] = (), **more: Any) -> Counter[str]:
        """Close the run, and find what is missing or gone; returns how many of each.

        `gone` has the hashes of the identity keys of pages that the site says are gone; the rest is
        for :meth:`Run.close`.
        """
        run = self.run
        run.close(settled=settled, **more)
        absent: Counter[str] = Counter()
        # The run is closed. What fails now is found out by a later one.
        with suppress(IndexUnavailable):
            if settled:
                is_whole = self._database.read(partial(is_complete, run=run.id))
                for index in self._indexes.values():
                    absent += find_missing(index, run, set(gone), everything=is_whole)
        return absent


@dataclass(slots=True, eq=False)
class Job:
    """What the thread is to do, and where the answer goes.

    The argument is one of :meth:`Index.execute`, or a function to call. Outcomes have no answer.
    """

    method: Literal["claims", "confirm", "release", "left_out", "call"]
    namespace: str
    argument: Any
    answer: Future[Any] | None = field(default_factory=Future)

    @property
    def is_outcome(self) -> bool:
        """Nobody waits for it, and it must survive an outage of the database."""
        return self.answer is None


class DatabaseThread:
    """What runs in the thread. `connect` opens the database, again after it has failed.

    `answered` is called on the event loop with jobs and their answers, which may be errors.
    """

    def __init__(
        self,
        connect: Callable[[Liveness], CrawlDatabase],
        answered: Callable[[Sequence[Job], Sequence[Any]], None],
    ) -> None:
        self._connect, self._answered = connect, answered
        self._jobs: deque[Job] = deque()
        # Set when a caller waits for the answer to a job, and when the jobs fill a transaction.
        self._is_asked, self._is_full = threading.Event(), threading.Event()
        self._last_turn = float("-inf")
        self._database: CrawlDatabase | None = None
        self._is_over = self._has_failed = False
        self.is_started = False
        #: What has been done, and what is known of the database; any thread may read it.
        self.seconds = 0.0
        self.run: int | None = None
        self.secret: bytes | None = None
        self.sizes: Mapping[str, int] = {}
        self.counts: Mapping[str, int] = {}
        self.liveness = Liveness()
        #: Why the database is unavailable; None if it is not.
        self.error: IndexUnavailable | None = None

    def put(self, job: Job) -> None:
        """Have a job done soon; called on the event loop."""
        self._jobs.append(job)
        if not job.is_outcome:
            self._is_asked.set()
        if len(self._jobs) >= BATCH:
            self._is_full.set()
        if not self.is_started:
            self.is_started = True
            # A database that hangs must not keep the process alive.
            call = _thread_safe_call()
            threading.Thread(target=self._run, args=(call,), name="simhash", daemon=True).start()

    def abandon(self) -> None:
        """Leave the run open: its outcomes will not be written."""
        if self._database is not None:
            self._database.run.abandon()

    def _run(self, call: Callable[..., object]) -> None:
        while not self._is_over:
            is_asked = self._gather()
            # While the database is unavailable, callers get their error before it is probed.
            if self.error is None or not is_asked:
                self._look_after(self._beat)
            for jobs in self._take():
                answers = self._answers(jobs)
                for job, answer in zip(jobs, answers, strict=True):
                    if job.is_outcome and is_outage(answer):
                        self._jobs.append(job)
                # Raised if the loop is closed: nobody waits any more.
                with suppress(RuntimeError):
                    call(self._answered, jobs, answers)
            self._look_after(self._tidy)

    def _gather(self) -> bool:
        """Wait for jobs, and gather more for the same transaction; whether somebody waits."""
        pause = _PAUSE
        if self.error is not None:
            pause = _PROBE_UNUSABLE if isinstance(self.error, IndexUnusable) else _PROBE
        if is_asked := self._is_asked.wait(pause):
            is_busy = time.monotonic() < self._last_turn + _GATHER
            self._is_full.wait(_GATHER if is_busy else _GATHER_FIRST)
            self._last_turn = time.monotonic()
        self._is_asked.clear()
        self._is_full.clear()
        return is_asked

    def _take(self) -> Iterator[list[Job]]:
        """The jobs that wait, in batches of one namespace, each for one transaction; calls last."""
        jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
        jobs = [job for job in jobs if job.answer is None or not job.answer.done]
        jobs.sort(key=_kind)
        for _, alike in groupby(jobs, _kind):
            while batch := list(islice(alike, BATCH)):
                yield batch

    def _answers(self, jobs: Sequence[Job]) -> Sequence[Any]:
        """Do jobs; returns their answers, or errors, in their order."""
        if self.error is not None and jobs[0].method != "call":
            return [self.error] * len(jobs)
        try:
            return self.do(jobs)
        except Exception as error:  # noqa: BLE001 - such as MemoryError: the thread must go on
            self._log_failure(error)
            self.error = IndexUnavailable(f"its thread failed: {error!r}")
            return [self.error] * len(jobs)

    def do(self, jobs: Sequence[Job]) -> Sequence[Any]:
        """Do a batch in one transaction; where one job fails, each in its own."""
        try:
            return self._execute(jobs)
        except Exception as error:  # noqa: BLE001 - any error: somebody waits for an answer
            if self._is_away(error) or len(jobs) == 1:
                return [error] * len(jobs)
        return [answer for job in jobs for answer in self._answers([job])]

    def _execute(self, jobs: Sequence[Job]) -> list[Any]:
        if jobs[0].method == "call":
            return [job.argument() for job in jobs]
        started = time.monotonic()
        given: defaultdict[str, list[Any]] = defaultdict(list)
        for job in jobs:
            given[job.method].append(job.argument)
        verdicts = iter(self._open().index(jobs[0].namespace).execute(**given))
        self.seconds += time.monotonic() - started
        return [next(verdicts) if job.method == "claims" else None for job in jobs]

    def _open(self) -> CrawlDatabase:
        """The database, opened on first use."""
        if self._database is None:
            try:
                self._database = self._connect(self.liveness)
            except (IndexUnavailable, IndexMismatch):
                raise
            except Exception as error:  # noqa: BLE001 - such as a missing driver, a wrong option
                raise IndexUnusable(f"the database can't be opened: {error}") from None
            self.secret = self._database.secret
            self.run = self._database.run.id
        self._database.check_place()
        return self._database

    def _is_away(self, error: Exception) -> bool:
        """Note whether the database is unavailable, rather than one document wrong."""
        self.error = error if is_outage(error) else None
        return self.error is not None

    def _look_after(self, work: Callable[[], object]) -> None:
        """Do what no job asks for. The next job raises what is no outage."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - any error: the thread must go on
            if not self._is_away(error):
                self._log_failure(error)

    def _log_failure(self, error: Exception) -> None:
        if not self._has_failed:
            logger.error("The thread of the index failed; it goes on", exc_info=error)
        self._has_failed = True

    def _beat(self) -> None:
        """Send a heartbeat if one is due, or look whether the database is available again."""
        if self.error is not None:
            self._open().probe()
            self.error = None
        elif self._database is not None:
            self._database.run.send_heartbeat()

    def _tidy(self) -> None:
        if self._database is not None and self.error is None and not self._is_over:
            self._database.run.recovery.clear()

    # Calls

    def size(self, namespace: str) -> int:
        """Open the database; returns how many claims a namespace has."""
        return self._open().size(namespace)

    def count(self) -> None:
        """Count the claims, if the database was opened."""
        if self._database is not None:
            self.sizes, self.counts = self._database.sizes(), self._database.counts()

    def close(self, given: Mapping[str, Any]) -> Counter[str] | None:
        """Close the run and the database; returns what `close_run` does, None if there is none."""
        self._is_over = True
        if self._database is None:
            return None
        try:
            # If it is set, outcomes could not be written.
            if self.error is not None:
                raise self.error
            return self._open().close_run(**given)
        finally:
            self._database.close()


def _kind(job: Job) -> tuple[bool, str]:
    """What jobs of one transaction have in common."""
    return job.method == "call", job.namespace


def is_outage(answer: object) -> TypeGuard[IndexUnavailable]:
    """Whether an answer is an error that concerns the database rather than a single document."""
    return isinstance(answer, IndexUnavailable) and not isinstance(
        answer.__cause__, (DataError, IntegrityError)
    )


def _thread_safe_call() -> Any:
    """What any thread may call to have the event loop call a function."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor  # noqa: PLC0415 - the import installs a reactor

    return reactor.callFromThread
