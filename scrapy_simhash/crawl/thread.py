"""The thread that owns the database: it does one task after the other, and looks after the run."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeGuard, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.crawl.connection import CrawlDatabase, Figures
from scrapy_simhash.db.retries import Liveness
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable, NotFound
from scrapy_simhash.index.recovery import HEARTBEAT

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

#: The methods that are arguments of :meth:`Index.execute`, which does them in one transaction.
_WRITES = frozenset({"claims", "confirm", "release", "left_out"})


@dataclass(slots=True, eq=False)
class Job:
    """A request to the index of a namespace: a method, its argument, and where the answer goes.

    Outcomes have no answer: a future for each would be slow.
    """

    method: Literal["claims", "confirm", "release", "left_out", "meet", "size"]
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
        figures: Figures,
        note: Callable[[IndexUnavailable | None], None],
    ) -> None:
        self._connect, self._figures, self._note = connect, figures, note
        self._tasks: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = SimpleQueue()
        self._database: CrawlDatabase | None = None
        self._error: IndexUnavailable | None = None
        self._is_untidy = self._has_beaten = self._is_over = self._has_failed = False
        self.is_started = False

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
            seconds, figures = time.monotonic() - started, self._figures
            figures.batches += 1
            figures.seconds += seconds
            figures.seconds_max = max(figures.seconds_max, seconds)
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
        """Do jobs; claims and what else is written in one transaction.

        Each look-up fails by itself: what is committed then has been answered.
        """
        database, namespace = self._open(), jobs[0].namespace
        if jobs[0].method == "size":
            return [database.size(namespace)] + (self._do(jobs[1:]) if jobs[1:] else [])
        index = database.index(namespace)
        written: defaultdict[str, list[Any]] = defaultdict(list)
        gone = dict[int, NotFound]()
        for job in jobs:
            # Numbers of rows are valid in one file only.
            if database.is_outdated(job.argument):
                gone[id(job)] = NotFound("the index was replaced since the item was looked up")
            elif job.method in _WRITES:
                written[job.method].append(job.argument)
        verdicts = iter(index.execute(**written) if written else ())
        self._figures.liveness.note()
        met = self._look([job for job in jobs if job.method == "meet"], index.meet)
        answers = {"claims": verdicts, "meet": met}
        return [
            next(answers[job.method]) if job.method in answers else gone.get(id(job))
            for job in jobs
        ]

    def _look(
        self, jobs: Sequence[Job], look: Callable[[list[Any]], Sequence[Any]]
    ) -> Iterator[Any]:
        """The answers to look-ups, which are made together."""
        if not jobs:
            return iter(())
        try:
            return iter(look([job.argument for job in jobs]))
        except Exception as error:  # noqa: BLE001 - as above
            if self._is_away(error) or len(jobs) == 1:
                return repeat(error)
        return chain.from_iterable(self._look([job], look) for job in jobs)

    def _open(self) -> CrawlDatabase:
        """The database; opened again if its file is no longer where it was."""
        figures = self._figures
        if self._database is None:
            try:
                self._database = self._connect(figures.liveness)
            except (IndexUnavailable, IndexMismatch):
                raise
            except Exception as error:  # noqa: BLE001 - such as a missing driver, a wrong option
                raise IndexUnusable(f"the database can't be opened: {error}") from None
            figures.secret = self._database.secret
        elif self._database.is_gone():
            self._database.reopen()
        figures.run = self._database.run.id
        return self._database

    def _is_away(self, error: Exception) -> bool:
        """Whether the database is unavailable, rather than one document wrong."""
        if is_outage(error):
            self._error = error
            return True
        self._figures.liveness.note()
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
                self._database.count(self._figures)

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
