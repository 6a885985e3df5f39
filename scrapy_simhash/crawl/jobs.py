"""The jobs for the database thread, and the queue that collects them for one transaction."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from scrapy_simhash.index.index import BATCH

#: Seconds for which claims are gathered for one transaction, which costs as much as several claims
#: in it: for the first after a pause, and at most, where they keep coming.
_GATHER_FIRST = 0.01
_GATHER = 0.08
#: The same where a callback waits for the verdict on its page.
_GATHER_PREVIEWS = 0.02
#: Seconds for which outcomes, which nobody waits for, may wait for a claim to share a transaction.
_OUTCOMES_WAIT = 0.25


@dataclass(slots=True, eq=False)
class Job:
    """A request to an index or to the thread: a method, its argument, and where the answer goes.

    The first methods are arguments of :meth:`Index.execute`; "meet" is that of :func:`.meet`. Those
    of the thread, to count, and to
    close the run and end its work, are done when every job before them is; the argument of the
    latter has those of :meth:`CrawlDatabase.close_run`. Outcomes have no answer: a future for each
    would be slow.
    """

    method: Literal[
        "claims",
        "confirm",
        "release",
        "duplicates",
        "preview",
        "meet",
        "size",
        "count",
        "close",
    ]
    namespace: str = ""
    argument: Any = None
    answer: Future[Any] | None = field(default_factory=Future)

    @property
    def is_outcome(self) -> bool:
        """Nobody waits for it, and it must survive an outage of the database."""
        return self.method in {"confirm", "release"}

    @property
    def is_last(self) -> bool:
        """Whether the jobs after it wait until it is done."""
        return self.method in {"count", "close"}


class JobQueue:
    """Jobs that one thread takes, many at a time; any thread puts them.

    Waking that thread takes the GIL from the event loop. Outcomes, one for each stored item, do not
    wake it: they are taken with the next job, or when the thread looks by itself.
    """

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._is_asked = threading.Event()
        self._most = _GATHER
        self._gathered = 0.0

    def put(self, job: Job) -> None:
        """Add a job."""
        self._jobs.append(job)
        if not job.is_outcome:
            if job.method == "preview":
                self._most = _GATHER_PREVIEWS
            self._is_asked.set()

    def take(self, idle: float) -> tuple[list[Job], Job | None]:
        """The jobs so far, up to one that is last; none after `idle` seconds, or sooner."""
        since = time.monotonic()
        is_asked = self._is_asked.wait(min(idle, _OUTCOMES_WAIT))
        if time.monotonic() > since + self._most:
            self._gathered = 0.0
        if is_asked and self._jobs:
            last = self._jobs[-1]
            if last.method != "size" and not last.is_last and len(self._jobs) < BATCH:
                # A sleeping thread costs nothing; waking for each job would.
                self._gathered = min(max(_GATHER_FIRST, 2 * self._gathered), self._most)
                time.sleep(self._gathered)
        # Reset before they are taken: a later one sets it again.
        self._is_asked.clear()
        jobs: list[Job] = []
        while self._jobs:
            job = self._jobs.popleft()
            if job.is_last:
                if self._jobs:
                    self._is_asked.set()
                return jobs, job
            jobs.append(job)
        return jobs, None
