"""Requests to the thread that owns the database; those that arrive while it works share a turn.

All is decided on the event loop: there jobs gather, outcomes wait for a database that is away, and
answers arrive. Waiting for an answer works with asyncio and with any Twisted reactor.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simhash.crawl.thread import CrawlDatabase, DatabaseThread, Job, is_outage
from scrapy_simhash.db.retries import Liveness
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.verdict import Document, LeftOut, Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds for which claims are gathered for one transaction, which costs as much as several claims
#: in it: for the first after a pause, and at most, where they keep coming.
_GATHER_FIRST = 0.01
_GATHER = 0.08
#: Seconds for which outcomes, which nobody waits for, may wait for a claim to share a transaction.
_OUTCOMES_WAIT = 0.25

#: How many times the timeout the end of a crawl may take, where others keep the database busy.
_END_TIMEOUTS = 10

#: A timer that is later than this, in seconds, shows that the event loop was blocked.
_BLOCKED_SECONDS = 1.0


class Worker:
    """Sends requests to the indexes of a database, in a thread of its own.

    `connect` opens the database, given where to note that it works; it is called in the thread, for
    the first job, and again after it failed. Whatever waits for an answer raises IndexUnavailable
    after `timeout` seconds in which the database does not show that it works, IndexUnusable where
    waiting would not help, IndexMismatch if the database holds something else.
    """

    def __init__(self, connect: Callable[[Liveness], CrawlDatabase], timeout: float) -> None:
        self.thread = DatabaseThread(connect, self._note)
        self._timeout = timeout
        #: The jobs that wait, by namespace, and how many of them somebody waits for.
        self._waiting: defaultdict[str, deque[Job]] = defaultdict(deque)
        self._asked = 0
        #: What comes when all jobs are done, and where its result goes.
        self._last: deque[tuple[Callable[[], object], Future[Any]]] = deque()
        #: The jobs that the thread does, [] for something else, None for nothing; since when it
        #: does not show that it works, and whether that was too long.
        self._doing: list[Job] | None = None
        self._since = float("-inf")
        self._hangs = self._is_watched = False
        self._error: IndexUnavailable | None = None
        #: The next turn of the thread, when it is, and how long its jobs are gathered.
        self._turn: Any = None
        self._turn_at = self._gathered = 0.0
        self._is_closed = False

    # Requests

    async def open(self, namespace: str) -> int:
        """Open the database; returns how many claims a namespace holds."""
        return cast("int", await self._answer(Job("size", namespace)))

    def secret(self) -> bytes:
        """The secret of the database, which must be open."""
        if self.thread.secret is None:
            raise self.refusal or IndexUnavailable("it has not been opened yet")
        return self.thread.secret

    async def claim(self, namespace: str, document: Document) -> Verdict:
        """The verdict on a document. After an error, a claim that comes later is released."""
        return cast("Verdict", await self._answer(Job("claims", namespace, document)))

    async def meet(self, namespace: str, document: Document) -> Verdict | None:
        """The same of a page that was not modified; None if it has to be compared with its text."""
        return cast("Verdict | None", await self._answer(Job("claims", namespace, document)))

    async def leave_out(self, namespace: str, item: LeftOut) -> None:
        """Note that an item is left out; returns when that is committed."""
        await self._answer(Job("left_out", namespace, item))

    def confirm(self, namespace: str, verdict: Verdict) -> None:
        """Confirm the claim of a verdict as soon as the database can."""
        self._put(Job("confirm", namespace, verdict, None))

    def release(self, namespace: str, verdict: Verdict) -> None:
        """Note that the document of a verdict is not stored, as soon as the database can."""
        if verdict.row is not None:
            self._put(Job("release", namespace, verdict, None))

    async def flush(self) -> None:
        """Do all jobs so far, and count the claims.

        This and :meth:`close` each wait half of the timeout for a database that does not show that
        it works; for one that is busy with others, up to ten times as long.
        """
        # close() reports what is wrong with the database.
        with suppress(TimeoutError):
            await self._finish(self.thread.count)

    async def close(self, **given: Any) -> Counter[str] | None:
        """Do all jobs so far, close the run and the database; waits as :meth:`flush` says.

        Takes the arguments of :meth:`CrawlDatabase.close_run`. Returns how much was found to
        be missing or gone; None if there was no run, or it is not closed.
        """
        if self._is_closed:
            return None
        # The last attempt to write the outcomes.
        self._is_closed, self._error, started = True, None, time.monotonic()
        try:
            return await self._finish(partial(self.thread.close, given, self._waiting))
        except TimeoutError:
            self.thread.abandon()
            logger.error(  # noqa: TRY400 - the traceback is of no use
                "The index did not close within %.1f s. This run counts as crashed: the next one "
                "releases its claims",
                time.monotonic() - started,
            )
            return None

    @property
    def refusal(self) -> IndexUnavailable | None:
        """The error for a new request, if the database is unavailable."""
        if self._hangs:
            return IndexUnavailable("it has not answered an earlier question yet")
        return None if self._error is None else _again(self._error)

    async def _answer(self, job: Job) -> Any:
        if refusal := self.refusal:
            raise refusal
        answer = cast("Future[Any]", job.answer)
        self._put(job)
        try:
            return await wait(answer)
        finally:
            # Nobody waits for it any more.
            answer.cancel()

    async def _finish(self, work: Callable[[], T]) -> T | None:
        """Have the thread do something when all jobs are done; None if it was never started."""
        if not (self.thread.is_started or self._waiting):
            return None
        answer: Future[T] = Future()
        self._last.append((work, answer))
        self._plan()
        ends = time.monotonic() + _END_TIMEOUTS / 2 * self._timeout
        alive, left = time.monotonic(), self._timeout / 2
        while left > 0 and not answer.done():
            with suppress(TimeoutError):
                await wait(answer, left)
            alive = max(alive, self.thread.liveness.last)
            left = min(alive + self._timeout / 2, ends) - time.monotonic()
        return await wait(answer, 0)

    # Turns of the thread

    def _put(self, job: Job) -> None:
        self._waiting[job.namespace].append(job)
        self._asked += not job.is_outcome
        self._plan()

    def _pause(self) -> float | None:
        """Seconds until the next turn; None if there is nothing to do."""
        if self._last or self._asked >= BATCH or (self._asked and self.thread.run is None):
            return 0.0
        if self._asked:
            # A thread that sleeps costs nothing; waking it for each job would.
            before = 0.0 if time.monotonic() > self._turn_at + _GATHER else self._gathered
            return min(max(_GATHER_FIRST, 2 * before), _GATHER)
        return _OUTCOMES_WAIT if self._waiting and self._error is None else None

    def _plan(self) -> None:
        """Plan the next turn, unless the thread works: then it is planned when that is done."""
        if self._doing is not None or (pause := self._pause()) is None:
            return
        at = time.monotonic() + pause
        if self._turn is not None:
            if at >= self._turn_at:
                return
            self._turn.cancel()
        self._turn_at, self._gathered = at, pause if self._asked else 0.0
        self._turn = call_later(pause, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        self._since = time.monotonic()
        # Outcomes wait for a database that is away.
        if self._error is None and (jobs := self._next_jobs()):
            self._doing = jobs
            self.thread.put(partial(self.thread.do, jobs), self._done)
            if not self._is_watched:
                self._watch(self._timeout)
        elif self._last:
            work, answer = self._last.popleft()
            self._doing = []
            self.thread.put(work, partial(self._finished, answer))

    def _next_jobs(self) -> list[Job]:
        """Jobs of one namespace, for one transaction."""
        while self._waiting:
            namespace, waiting = next(iter(self._waiting.items()))
            jobs = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
            del self._waiting[namespace]
            if waiting:  # the others come first
                self._waiting[namespace] = waiting
            self._asked -= sum(not job.is_outcome for job in jobs)
            if jobs := [job for job in jobs if job.answer is None or not job.answer.cancelled()]:
                return jobs
        return []

    def _watch(self, pause: float) -> None:
        self._is_watched = True
        call_later(pause, self._look, time.monotonic() + pause)

    def _look(self, expected: float) -> None:
        """Look whether the thread shows that it works, while it does jobs."""
        self._is_watched, now = False, time.monotonic()
        if not self._doing or self._hangs:
            return
        if now - expected > _BLOCKED_SECONDS:
            self._since = now  # it was the event loop that did not answer
        ends = max(self._since, self.thread.liveness.last) + self._timeout
        if now < ends:
            self._watch(ends - now)
        else:
            self._hangs = True
            self._fail(self._doing, IndexUnavailable(f"no answer within {self._timeout:g} s"))

    def _done(self, answers: Sequence[Any] | IndexUnavailable) -> None:
        """Pass the answers on; what nobody waits for any more is released."""
        jobs, self._doing, self._hangs = self._doing or [], None, False
        if isinstance(answers, IndexUnavailable):
            answers = [answers] * len(jobs)
        pairs = list(zip(jobs, answers, strict=True))
        if again := [job for job, answer in pairs if job.is_outcome and is_outage(answer)]:
            self._waiting[again[0].namespace].extendleft(reversed(again))
        for job, answer in pairs:
            if job.answer is None:
                continue
            if not job.answer.done():
                resolve(job.answer, answer)
            elif job.method == "claims" and isinstance(answer, Verdict):
                self.release(job.namespace, answer)
        self._note(next(filter(is_outage, answers), None))

    def _finished(self, answer: Future[Any], result: object) -> None:
        self._doing = None
        resolve(answer, None if isinstance(result, IndexUnavailable) else result)
        self._plan()

    def _note(self, error: IndexUnavailable | None) -> None:
        """Note whether the database is available; while it is not, nobody waits for it."""
        self._error = error
        if error is not None:
            self._fail((), error)
        self._plan()

    def _fail(self, doing: Sequence[Job], error: IndexUnavailable) -> None:
        """Answer those who wait with an error. Only outcomes go on waiting."""
        waiting = [job for jobs in self._waiting.values() for job in jobs]
        self._waiting.clear()
        self._asked = 0
        for job in waiting:
            if job.is_outcome:
                self._waiting[job.namespace].append(job)
        for job in (*doing, *waiting):
            if job.answer is not None:
                resolve(job.answer, _again(error))


def _again(error: IndexUnavailable) -> IndexUnavailable:
    """A new error: the traceback of one grows each time it is raised."""
    again = type(error)(*error.args)
    again.__cause__ = error.__cause__
    return again


def resolve(future: Future[Any], answer: object) -> None:
    """Give a future its result or error, unless it has one or nobody waits any more."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


async def wait(future: Future[T], timeout: float | None = None) -> T:
    """The result of a future, which is not cancelled; TimeoutError after `timeout` seconds.

    The future must be resolved in the thread of the event loop.
    """
    if not future.done():
        waiter: Deferred[None] = Deferred()

        def resume(_: object = None) -> None:
            if not waiter.called:
                waiter.callback(None)

        future.add_done_callback(resume)
        timer = None if timeout is None else call_later(max(0.0, timeout), resume)
        try:
            await maybe_deferred_to_future(waiter)
        finally:
            if timer is not None:
                timer.cancel()
    if not future.done():
        raise TimeoutError
    return future.result()
