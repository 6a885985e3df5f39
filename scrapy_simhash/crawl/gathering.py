"""The jobs for the database thread, and the queue that gathers them for one transaction."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.verdict import Claim, Document, Duplicate

#: Seconds for which claims are gathered for one transaction, which costs as much as several claims
#: in it. No item is in a hurry, but a callback may wait for the verdict on its page.
_GATHER, _GATHER_FORESEEN = 0.1, 0.02
#: Seconds for which outcomes, which nobody waits for, wait for a claim to share a transaction with.
_OUTCOMES_WAIT = 0.25


@dataclass(slots=True, eq=False)
class Job:
    """One request to an index. Outcomes have no answer: a future for each would be slow."""

    kind: Literal["open", "claim", "foresee", "confirm", "release", "duplicate"]
    namespace: str
    value: Document | Claim | Duplicate | None = None
    answer: Future[Any] | None = field(default_factory=Future)

    @property
    def is_outcome(self) -> bool:
        """Nobody waits for it, and it must survive an outage of the database."""
        return self.kind in {"confirm", "release"}

    def begin(self) -> bool:
        """Whether it is still to be done; from now on it can't be cancelled."""
        return self.answer is None or self.answer.set_running_or_notify_cancel()


@dataclass(slots=True, eq=False)
class Barrier:
    """Answered when every job before it is done. With `close`, the run is closed and work ends."""

    close: Callable[[Any], int] | None = None
    answer: Future[bool] = field(default_factory=Future)


class Gatherer:
    """A queue whose items are taken a transaction at a time. One thread takes, any thread puts.

    Each put into the queue wakes the thread, which takes the GIL from the event loop. Outcomes, one
    for each stored item, therefore wait in a list of their own; the queue announces the first.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Job | Barrier | None] = queue.SimpleQueue()
        self._outcomes: deque[Job] = deque()
        self._is_announced = False
        self._seconds = _GATHER
        # Kept until they are returned: an error must lose none.
        self._taken: list[Job] = []
        self._barrier: Barrier | None = None

    def put(self, job: Job | Barrier) -> None:
        """Add a job or a barrier."""
        if isinstance(job, Job) and job.is_outcome:
            self._outcomes.append(job)
            if not self._is_announced:
                self._is_announced = True
                self._queue.put(None)
            return
        if isinstance(job, Job) and job.kind == "foresee":
            self._seconds = _GATHER_FORESEEN
        self._queue.put(job)

    def take(self, idle: float) -> tuple[list[Job], Barrier | None]:
        """The next jobs, none after `idle` seconds, and the barrier after them if there is one."""
        jobs = self._taken
        deadline = time.monotonic() + (0.0 if jobs else idle)
        while len(jobs) < BATCH and self._barrier is None:
            try:
                job = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if isinstance(job, Barrier):
                self._barrier = job
            elif job is None:
                if not jobs:
                    deadline = time.monotonic() + _OUTCOMES_WAIT
            else:
                jobs.append(job)
                if len(jobs) == 1:
                    if job.kind != "open" and self._queue.qsize() < BATCH:
                        # A sleeping thread costs nothing; waking for each job would.
                        time.sleep(self._seconds)
                    deadline = time.monotonic()
        # Reset before they are taken: a later outcome is announced again.
        self._is_announced = False
        outcomes = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
        barrier, self._barrier, self._taken = self._barrier, None, []
        return outcomes + jobs, barrier
