"""The jobs for the database thread, and the queue that gathers them for one transaction."""

from __future__ import annotations

import threading
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
#: Seconds for which outcomes, which nobody waits for, may wait for a claim to share a transaction.
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
    """Jobs that are taken a transaction at a time. One thread takes, any thread puts.

    Waking the thread takes the GIL from the event loop. Outcomes, one for each stored item, do not
    wake it: they are taken with the next job, or when the thread looks by itself.
    """

    def __init__(self) -> None:
        self._jobs: deque[Job | Barrier] = deque()
        self._is_asked = threading.Event()
        self._seconds = _GATHER

    def put(self, job: Job | Barrier) -> None:
        """Add a job or a barrier."""
        self._jobs.append(job)
        if isinstance(job, Barrier) or not job.is_outcome:
            if isinstance(job, Job) and job.kind == "foresee":
                self._seconds = _GATHER_FORESEEN
            self._is_asked.set()

    def take(self, idle: float) -> tuple[list[Job], Barrier | None]:
        """The jobs so far, up to a barrier; none after `idle` seconds, or sooner."""
        if self._is_asked.wait(min(idle, _OUTCOMES_WAIT)) and self._jobs:
            last = self._jobs[-1]
            if isinstance(last, Job) and last.kind != "open" and len(self._jobs) < BATCH:
                # A sleeping thread costs nothing; waking for each job would.
                time.sleep(self._seconds)
        # Reset before they are taken: a later one sets it again.
        self._is_asked.clear()
        jobs: list[Job] = []
        while self._jobs:
            job = self._jobs.popleft()
            if isinstance(job, Barrier):
                if self._jobs:
                    self._is_asked.set()
                return jobs, job
            jobs.append(job)
        return jobs, None
