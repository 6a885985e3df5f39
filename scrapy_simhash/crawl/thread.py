"""The thread that owns the database: it does one task after the other, and looks after the run."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeGuard, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from sqlalchemy import func, select
from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.retries import Liveness
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable, NamespaceGone
from scrapy_simhash.index import upkeep
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.queries import is_orphan
from scrapy_simhash.index.recovery import HEARTBEAT
from scrapy_simhash.index.runs import Run, is_complete

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two small steps of clearing up while there is nothing else to do.
_TIDY_PAUSE = 0.05
#: Seconds for which it is cleared up at the end.
_TIDY_AT_END = 1.0
#: Seconds between two probes of an unavailable database.
_PROBE_PAUSE = 0.5
#: Of one that refuses us: servers take many wrong passwords for an attack.
_PROBE_PAUSE_UNUSABLE = 30.0


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
                with self._database.durable():
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
        counts = Counter[str]()
        for index in self._indexes.values():
            counts.update(index.lookup.counts)
        row = schema.sightings.c
        # Those that were only reported are stored.
        orphans = (row.run == self.run.id, row.action.in_(("drop", "same")), is_orphan())
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
        absent = Counter[str]()
        # The run is closed. What fails now is found out by a later one.
        with suppress(IndexUnavailable):
            if settled:
                is_whole = self._database.read(partial(is_complete, run=run.id))
                for index in self._indexes.values():
                    absent += find_missing(index, run, set(gone), everything=is_whole)
        return absent


@dataclass(slots=True, eq=False)
class Job:
    """A request to a namespace: an argument of :meth:`Index.execute`, and where the answer goes.

    "size" asks how many claims it has. Outcomes have no answer: a future for each would be slow.
    """

    method: Literal["claims", "confirm", "release", "left_out", "size"]
    namespace: str
    argument: Any = None
    answer: Future[Any] | None = field(default_factory=Future)

    @property
    def is_outcome(self) -> bool:
        """Nobody waits for it, and it must survive an outage of the database."""
        return self.answer is None


class DatabaseThread:
    """What runs in the thread. `connect` opens the database, again after it has failed.

    `note` is called on the event loop when the database is away, given why, and when it is back.
    """

    def __init__(
        self,
        connect: Callable[[Liveness], CrawlDatabase],
        note: Callable[[IndexUnavailable | None], None],
    ) -> None:
        self._connect, self._note = connect, note
        self._tasks: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = SimpleQueue()
        self._database: CrawlDatabase | None = None
        self._error: IndexUnavailable | None = None
        self._is_untidy = self._has_beaten = self._is_over = self._has_failed = False
        self.is_started = False
        #: What has been done, and what is known of the database; any thread may read it.
        self.batches, self.seconds, self.seconds_max = 0, 0.0, 0.0
        self.run: int | None = None
        self.secret: bytes | None = None
        self.sizes: Mapping[str, int] = {}
        self.counts: Mapping[str, int] = {}
        self.liveness = Liveness()

    def put(self, work: Callable[[], T], done: Callable[[T | IndexUnavailable], None]) -> None:
        """Run a function in the thread; `done` gets its result, or an error, on the event loop."""
        self._tasks.put((work, done))
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
            try:
                work, done = self._tasks.get(timeout=self._rest())
            except Empty:
                was_away = self._error is not None
                self._tend()
                if was_away == (self._error is not None):
                    continue
                work, done = (lambda: self._error), self._note
            try:
                result = work()
            except Exception as error:
                # Such as MemoryError. The caller waits for a result, and the thread must go on.
                if not self._has_failed:
                    logger.exception("The thread of the index failed; it goes on")
                self._has_failed = True
                result = self._error = IndexUnavailable(f"its thread failed: {error!r}")
            # Raised if the loop is closed: nobody waits any more.
            with suppress(RuntimeError):
                call(done, result)

    def _rest(self) -> float:
        """Seconds until there is something to do without a task."""
        if self._error is not None:
            is_final = isinstance(self._error, IndexUnusable)
            return _PROBE_PAUSE_UNUSABLE if is_final else _PROBE_PAUSE
        return _TIDY_PAUSE if self._is_untidy else HEARTBEAT

    def _tend(self) -> None:
        """Look after the run, or whether the database is available again."""
        error, self._error = self._error, None
        if error is None:
            # Jobs send a heartbeat first; opening the run is one, too.
            if not self._has_beaten:
                self._beat()
            self._has_beaten = False
            self._tidy()
            return
        with self._noting():
            self._open().probe()

    def do(self, jobs: Sequence[Job]) -> Sequence[Any]:
        """Do jobs of one namespace; returns their answers, or errors, in their order."""
        started = time.monotonic()
        before, self._error = self._error, None
        self._beat(is_quiet=before is not None)
        answers = [self._error] * len(jobs) if self._error else self._do(jobs)
        if self._error is None:
            seconds = time.monotonic() - started
            self.batches += 1
            self.seconds += seconds
            self.seconds_max = max(self.seconds_max, seconds)
            self._is_untidy = self._has_beaten = True
        return answers

    def _do(self, jobs: Sequence[Job]) -> list[Any]:
        try:
            answers = self._execute(jobs)
        except Exception as error:  # noqa: BLE001 - any error: somebody waits for an answer
            if self._is_away(error) or len(jobs) == 1:
                return [error] * len(jobs)
            # One job fails; find out which, and do the others.
            return [answer for job in jobs for answer in self._do([job])]
        return answers

    def _execute(self, jobs: Sequence[Job]) -> list[Any]:
        """Do jobs in one transaction."""
        database, namespace = self._open(), jobs[0].namespace
        if jobs[0].method == "size":
            # It comes first, and the crawl waits for it.
            return [database.size(namespace)]
        given: defaultdict[str, list[Any]] = defaultdict(list)
        for job in jobs:
            given[job.method].append(job.argument)
        verdicts = iter(database.index(namespace).execute(**given))
        self.liveness.note()
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
        """Whether the database is unavailable, rather than one document wrong."""
        if is_outage(error):
            self._error = error
            return True
        self.liveness.note()
        return False

    @contextmanager
    def _noting(self, message: str = "") -> Iterator[None]:
        """Note an error that is raised inside; it may be an outage."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the next job raises what is no outage
            self._is_away(error)
            if message:
                logger.warning("%s: %s", message, error)

    def _beat(self, *, is_quiet: bool = False) -> None:
        if self._database is not None:
            with self._noting("" if is_quiet else "The heartbeat of this run failed"):
                self._database.run.send_heartbeat()

    def _tidy(self, seconds: float = 0.0) -> None:
        self._is_untidy = False
        if self._database is not None and self._error is None:
            with self._noting("Clearing up after crashed runs failed"):
                self._is_untidy = self._database.run.recovery.clear(seconds)

    def count(self) -> None:
        """Count the claims, as far as the database answers."""
        if self._error is None:
            self._tidy(_TIDY_AT_END)
            self._beat()
        if self._database is not None:
            with suppress(Exception):
                self.sizes, self.counts = self._database.sizes(), self._database.counts()

    def close(
        self, given: Mapping[str, Any], unwritten: Mapping[str, Sized]
    ) -> Counter[str] | None:
        """Close the run and the database; returns what `close_run` does, None if that failed.

        `unwritten` are the outcomes that could not be written, by namespace.
        """
        self._is_over = True
        if self._database is None:
            return None
        try:
            database = self._open()
            if lost := sum(map(len, unwritten.values())):
                raise IndexUnavailable(  # noqa: TRY301 - as any error
                    f"outcomes that could not be written: {lost}; {self._error}"
                )
            return database.close_run(**given)
        except Exception as error:  # noqa: BLE001 - any error: the crawl is over
            self.abandon()
            logger.error(  # noqa: TRY400 - the message is complete
                "The index could not be closed (%s). This run counts as crashed: the next one "
                "releases its claims",
                error,
            )
            return None
        finally:
            self._database.close()


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
