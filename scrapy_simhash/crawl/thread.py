"""The thread that owns the database, and does the jobs of the worker."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, TypeGuard

from sqlalchemy.exc import DataError, IntegrityError

from scrapy_simhash.crawl.connection import CrawlDatabase, Figures
from scrapy_simhash.crawl.jobs import Job, JobQueue
from scrapy_simhash.db.lock_wait import Liveness
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, IndexUnusable
from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.meeting import meet
from scrapy_simhash.index.recovery import HEARTBEAT

logger = logging.getLogger(__name__)

#: Seconds between two small steps of clearing up while there is nothing else to do.
_TIDY_PAUSE = 0.05
#: Seconds for which it is cleared up at the end.
_TIDY_AT_END = 1.0
#: Seconds between two probes of an unavailable database.
_PROBE_PAUSE = 0.5
#: Of one that refuses us: servers take many wrong passwords for an attack.
_PROBE_PAUSE_UNUSABLE = 30.0


@dataclass(slots=True, eq=False)
class CircuitBreaker:
    """Whether the database is available; while it is not, nobody waits for it.

    Unavailable: an error was returned (the thread probes), or the driver call hangs (available
    again when it returns). All but `refusal` and `give_up` is for the thread.
    """

    liveness: Liveness
    error: IndexUnavailable | None = None  # why it is unavailable, if one was returned
    #: Raised when the thread turns to the database and when it is back: odd in between.
    turns: int = 0
    _given_up: int = -1
    _failed_at: float = 0.0
    _next_probe: float = 0.0

    @property
    def refusal(self) -> IndexUnavailable | None:
        """The error for a new request, if the database is unavailable."""
        if self._given_up == self.turns:
            return IndexUnavailable("it has not answered an earlier question yet")
        error = self.error
        # If others get through, it is busy rather than unavailable.
        if error is None or self.liveness.last > self._failed_at:
            return None
        # A new one: the traceback of an error grows each time it is raised.
        again = type(error)(*error.args)
        again.__cause__ = error.__cause__
        return again

    def give_up(self) -> None:
        """No answer came in time: if the thread hangs, nobody waits until it is back."""
        if (turns := self.turns) % 2:
            self._given_up = turns

    @property
    def idle(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._next_probe - time.monotonic())

    def note_error(self, error: IndexUnavailable) -> None:
        """The database does not answer, or refuses everything."""
        now = time.monotonic()
        if self.error is None:
            self._failed_at = now
        self._next_probe = now + (
            _PROBE_PAUSE_UNUSABLE if isinstance(error, IndexUnusable) else _PROBE_PAUSE
        )
        self.error = error

    def note_answer(self) -> None:
        """The database works again."""
        self.error = None
        self.liveness.note()


@dataclass(slots=True, eq=False)
class DatabaseThread:
    """What runs in the thread. `connect` opens the database, again after it has failed."""

    connect: Callable[[Liveness], CrawlDatabase]
    figures: Figures = field(default_factory=Figures)
    jobs: JobQueue = field(default_factory=JobQueue)
    breaker: CircuitBreaker = field(init=False)
    _call: Callable[..., object] = field(init=False)
    _database: CrawlDatabase | None = None
    _backlog: list[Job] = field(default_factory=list)  # outcomes that could not be written yet
    _answers: list[tuple[Future[Any], Any]] = field(default_factory=list)  # not sent yet
    _is_untidy: bool = False
    _has_failed: bool = False

    def __post_init__(self) -> None:
        self.breaker = CircuitBreaker(self.figures.liveness)

    def run(self, call: Callable[..., object]) -> None:
        """Work until the run is closed; `call` has the event loop call a function."""
        self._call = call
        while True:
            try:
                jobs, last = self.jobs.take(self._idle())
            except Exception:
                if not self._has_failed:
                    logger.exception("The index's thread failed; it goes on")
                self._has_failed = True
                # An error that repeats must not keep a processor busy.
                time.sleep(_PROBE_PAUSE)
                continue
            self.breaker.turns += 1
            if self._is_gone():
                self._probe()
            if self.breaker.error is not None:
                # The jobs fail at once: nobody waits for the probe.
                self._do_jobs(jobs)
                self._probe()
            else:
                self._send_heartbeat()
                self._do_jobs(jobs)
                self._tidy()
            self.breaker.turns += 1
            if last is not None:
                is_end = last.method == "close"
                self._answer(last, self._close(last.argument) if is_end else self._count_claims())
                self._send_answers()
                if is_end:
                    return

    def _is_gone(self) -> bool:
        """Whether the file of the database is no longer where it was opened."""
        return self._database is not None and self._database.is_gone()

    def abandon(self) -> None:
        """Leave the run open: its outcomes will not be written."""
        if self._database is not None:
            self._database.run.abandon()

    def _idle(self) -> float:
        """Seconds until there is something to do without a new job."""
        if self.breaker.error is not None:
            return self.breaker.idle
        if self._backlog:
            return 0.0
        return _TIDY_PAUSE if self._is_untidy else HEARTBEAT

    def _do_jobs(self, jobs: list[Job]) -> None:
        by_namespace: defaultdict[str, list[Job]] = defaultdict(list)
        for job in self._backlog + jobs:
            if self._database is None or not self._database.is_outdated(job.argument):
                by_namespace[job.namespace].append(job)
        self._backlog = []
        if not by_namespace:
            return
        started, was_available = time.monotonic(), self.breaker.error is None
        for namespace, group in by_namespace.items():
            for start in range(0, len(group), BATCH):
                # From now on a job can't be cancelled.
                part = [
                    job
                    for job in group[start : start + BATCH]
                    if job.answer is None or job.answer.set_running_or_notify_cancel()
                ]
                self._do_group(namespace, part)
                self._send_answers()
        if was_available:
            seconds, figures = time.monotonic() - started, self.figures
            figures.batches += 1
            figures.seconds += seconds
            figures.seconds_max = max(figures.seconds_max, seconds)

    def _do_group(self, namespace: str, jobs: Sequence[Job]) -> None:
        if error := self.breaker.error:
            self._fail(jobs, error)
            return
        try:
            answers = self._execute(namespace, jobs)
        except Exception as error:  # noqa: BLE001 - any error: somebody waits for an answer
            if self._note_error(error) or len(jobs) == 1:
                self._fail(jobs, error)
                return
            # One job fails; find out which, and do the others.
            for job in jobs:
                self._do_group(namespace, [job])
            return
        self.figures.liveness.note()
        for job in jobs:
            self._answer(job, next(answers.get(job.method, repeat(None))))

    def _execute(self, namespace: str, jobs: Sequence[Job]) -> dict[str, Iterator[Any]]:
        """Do jobs; returns the answers by method."""
        arguments: defaultdict[str, list[Any]] = defaultdict(list)
        for job in jobs:
            arguments[job.method].append(job.argument)
        database, answers = self._open(), dict[str, Iterator[Any]]()
        if arguments.pop("size", None):
            answers["size"] = repeat(database.size(namespace))
        if arguments:
            index = database.index(namespace)
            previewed, met = arguments.pop("preview", []), arguments.pop("meet", [])
            answers["claims"] = iter(index.execute(**arguments))
            answers["meet"] = iter(meet(index, met) if met else ())
            answers["preview"] = iter([index.preview(document) for document in previewed])
        return answers

    def _answer(self, job: Job, answer: Any) -> None:
        if job.answer is not None:
            self._answers.append((job.answer, answer))

    def _send_answers(self) -> None:
        """Pass the answers of a transaction to the event loop in one call.

        Each call wakes the loop, which takes the GIL; where the loop is busy, it is 5 ms until this
        thread has it again.
        """
        answers, self._answers = self._answers, []
        if answers:
            # Raised if the loop is closed: nobody waits any more.
            with suppress(RuntimeError):
                self._call(_resolve, answers)

    def _note_error(self, error: Exception) -> bool:
        """Whether the database is unavailable, rather than one document wrong."""
        if is_outage := _is_outage(error):
            self.breaker.note_error(error)
        else:
            self.figures.liveness.note()
        return is_outage

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        for job in jobs:
            if job.is_outcome and _is_outage(error):
                self._backlog.append(job)
            else:
                self._answer(job, error)

    def _open(self) -> CrawlDatabase:
        if self._database is None:
            try:
                self._database = self.connect(self.figures.liveness)
            except (IndexUnavailable, IndexMismatch):
                raise
            except Exception as error:  # noqa: BLE001 - such as a missing driver, a wrong option
                raise IndexUnusable(f"the database can't be opened: {error}") from None
            self.figures.run = self._database.run.id
            self.figures.secret = self._database.secret
        return self._database

    def _probe(self) -> None:
        """Try whether the database is available again, if that is due."""
        if self.breaker.idle > 0:
            return
        try:
            if (database := self._database) is None:
                self._open()
            elif database.is_gone():
                database.reopen()
                self.figures.run = database.run.id
            else:
                database.probe()
        except Exception as error:  # noqa: BLE001 - the next job raises what is no outage
            if self._note_error(error):
                return
        self.breaker.note_answer()

    def _send_heartbeat(self) -> None:
        if self._database is not None:
            with self._logged("The heartbeat of this run failed"):
                self._database.run.send_heartbeat()

    def _tidy(self, seconds: float = 0.0) -> None:
        self._is_untidy = False
        if self._database is not None and self.breaker.error is None:
            with self._logged("Clearing up after crashed runs failed"):
                self._is_untidy = self._database.run.recovery.clear(seconds)

    @contextmanager
    def _logged(self, message: str) -> Iterator[None]:
        """Log an error that is raised inside; it may be an outage."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - without the thread nothing would be checked
            self._note_error(error)
            logger.warning("%s: %s", message, error)

    def _count_claims(self) -> bool:
        """Count the claims, as far as the database answers."""
        if self.breaker.error is None:
            self._tidy(_TIDY_AT_END)
            self._send_heartbeat()
        if self._database is not None:
            with suppress(Exception):
                self._database.count(self.figures)
        return True

    def _close(self, arguments: Any) -> bool:
        """Close the run and the database; whether that worked."""
        if self._is_gone():
            self._probe()
        try:
            if self._is_gone():
                raise self.breaker.error or IndexUnavailable  # noqa: TRY301 - as any error
            # The last attempt to write the backlog.
            self.breaker.error = None
            self._do_jobs([])
            # A run whose outcomes could not be written stays open: it counts as crashed.
            if self._database is not None and not self._backlog:
                self.figures.removed = self._database.close_run(**arguments)
            if self._backlog:
                self.abandon()
                logger.error(
                    "Outcomes that could not be written: %d. This run counts as crashed: the next "
                    "one releases its claims",
                    len(self._backlog),
                )
        except Exception as error:  # noqa: BLE001 - any error: the crawl is over
            self.abandon()
            logger.error(  # noqa: TRY400 - the message is complete
                "The index could not be closed (%s). This run counts as crashed: the next one "
                "releases its claims",
                error,
            )
            return False
        finally:
            if self._database is not None:
                self._database.close()
        return not self._backlog


def _resolve(answers: Sequence[tuple[Future[Any], Any]]) -> None:
    for future, answer in answers:
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def _is_outage(error: Exception) -> TypeGuard[IndexUnavailable]:
    """Whether an error concerns the database rather than a single document."""
    return isinstance(error, IndexUnavailable) and not isinstance(
        error.__cause__, (DataError, IntegrityError)
    )
