"""What is asked of the worker, and how it is gathered for one transaction."""

from __future__ import annotations

import queue
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simhash.index.index import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.runs import Run
    from scrapy_simhash.index.verdict import Claim, Document, Duplicate

__all__ = ["UNHEARD", "Barrier", "Gatherer", "Job"]

#: Seconds in which claims are gathered for one transaction, which costs as much as several claims
#: in it: no item is in a hurry, but a callback may wait for what is foreseen of its page.
_GATHER, _GATHER_FORESEEN = 0.1, 0.02
#: Seconds in which outcomes, for which nobody waits, wait for a claim to share a transaction with.
_OUTCOMES_WAIT = 0.25


class _Unheard(Future[Any]):
    """The answer to what nobody waits for: there is one for all."""

    def set_running_or_notify_cancel(self) -> bool:
        return True

    def set_result(self, result: Any) -> None:
        """Nobody wants to know."""

    def set_exception(self, exception: BaseException | None) -> None:
        """As little."""


#: What outcomes are answered to. To make a future, and lock it three times, takes a while.
UNHEARD: Future[Any] = _Unheard()


@dataclass(slots=True, eq=False)
class Job:
    """One thing that an index is asked for."""

    namespace: str
    claim: Document | None = None
    foresee: Document | None = None
    confirm: Claim | None = None
    release: Claim | None = None
    duplicate: Duplicate | None = None
    is_opening: bool = False
    answer: Future[Any] = field(default_factory=Future)

    @property
    def is_outcome(self) -> bool:
        """Nobody waits for it, and it must not be lost while the database is away."""
        return self.confirm is not None or self.release is not None


@dataclass(slots=True, eq=False)
class Barrier:
    """What is asked for before it is done before it; the end, if it closes the run."""

    close: Callable[[Run], None] | None = None
    answer: Future[bool] = field(default_factory=Future)


class Gatherer:
    """A queue that gives what belongs into one transaction. One thread takes, others put.

    Whatever is put into the queue wakes the thread, and each time it takes the interpreter from the
    event loop. Outcomes, one for each item that is stored, lie beside it until they are taken with
    a claim or by themselves: it is told of them once.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Job | Barrier | None] = queue.SimpleQueue()
        self._outcomes: deque[Job] = deque()
        self._is_told = False
        self._seconds = _GATHER

    def put(self, job: Job | Barrier) -> None:
        """Add something; from any thread."""
        if isinstance(job, Barrier) or not job.is_outcome:
            if isinstance(job, Job) and job.foresee is not None:
                self._seconds = _GATHER_FORESEEN
            self._queue.put(job)
            return
        self._outcomes.append(job)
        if not self._is_told:
            self._is_told = True
            self._queue.put(None)

    def take(self, idle: float) -> tuple[list[Job], Barrier | None]:
        """What there is to do now, and the barrier behind it, if that is reached.

        Args:
            idle: seconds after which it returns with nothing, if nothing comes.
        """
        jobs: list[Job] = []
        barrier: Barrier | None = None
        deadline = time.monotonic() + idle
        while len(jobs) < BATCH and barrier is None:
            try:
                job = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if isinstance(job, Barrier):
                barrier = job
            elif job is None:
                if not jobs:
                    deadline = time.monotonic() + _OUTCOMES_WAIT
            else:
                jobs.append(job)
                if len(jobs) == 1:
                    if self._queue.qsize() < BATCH:
                        # Asleep, the thread costs the others nothing; woken for each job it would.
                        time.sleep(self._seconds)
                    deadline = time.monotonic()
        return self._take_outcomes() + jobs, barrier

    def _take_outcomes(self) -> list[Job]:
        # First: of what is put in from now on the thread is told once more.
        self._is_told = False
        return [self._outcomes.popleft() for _ in range(len(self._outcomes))]
