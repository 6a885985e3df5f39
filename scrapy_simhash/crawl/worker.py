"""One thread owns the database; requests that arrive while it works share a transaction.

Waiting for an answer works with asyncio and with any Twisted reactor.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar, cast

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simhash.crawl.connection import CrawlDatabase
from scrapy_simhash.crawl.jobs import Job
from scrapy_simhash.crawl.thread import DatabaseThread
from scrapy_simhash.db.lock_wait import Liveness
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.meeting import Unmodified
from scrapy_simhash.index.verdict import Document, Duplicate, Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

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
        self._work = DatabaseThread(connect)
        self.figures, self._breaker = self._work.figures, self._work.breaker
        self._timeout = timeout
        #: What is left for the end: while the database does not show that it works, and at most.
        self._left, self._at_most = timeout, _END_TIMEOUTS * timeout
        self._thread: threading.Thread | None = None
        self._is_closed = False

    async def open(self, namespace: str) -> int:
        """Open the database; returns how many claims a namespace holds."""
        return cast("int", await self._answer(Job("size", namespace)))

    def secret(self) -> bytes:
        """The secret of the database, which must be open."""
        if self.figures.secret is None:
            raise self._breaker.refusal or IndexUnavailable("it has not been opened yet")
        return self.figures.secret

    async def claim(self, namespace: str, document: Document) -> Verdict:
        """The verdict on a document. After an error, a claim that comes later is released."""
        job = Job("claims", namespace, document)
        answer = cast("Future[Verdict]", job.answer)
        try:
            return cast("Verdict", await self._answer(job))
        except BaseException:

            def release(late: Future[Verdict]) -> None:
                if not late.cancelled() and not late.exception():
                    self.release(namespace, late.result())

            answer.add_done_callback(release)
            raise

    async def meet(self, namespace: str, item: Unmodified) -> Verdict | None:
        """The verdict on an item, if it is unchanged; see :func:`.meet`."""
        return cast("Verdict | None", await self._answer(Job("meet", namespace, item)))

    async def preview(self, namespace: str, document: Document) -> Verdict:
        """The verdict that a page would get; see :meth:`Index.preview`."""
        return cast("Verdict", await self._answer(Job("preview", namespace, document)))

    async def remember(self, namespace: str, duplicate: Duplicate) -> None:
        """Record a duplicate; returns when it is committed."""
        await self._answer(Job("duplicates", namespace, duplicate))

    async def _answer(self, job: Job) -> Any:
        if refusal := self._breaker.refusal:
            raise refusal
        self._submit(job)
        answer = cast("Future[Any]", job.answer)
        try:
            return await _wait_while_alive(answer, self._timeout, self.figures.liveness)
        except TimeoutError:
            self._breaker.give_up()
            raise IndexUnavailable(f"no answer within {self._timeout:g} s") from None
        finally:
            # Cancels the job only if it is still queued.
            answer.cancel()

    def confirm(self, namespace: str, verdict: Verdict) -> None:
        """Confirm the claim of a verdict as soon as the database can."""
        self._submit(Job("confirm", namespace, verdict, None))

    def release(self, namespace: str, verdict: Verdict) -> None:
        """Release the claim of a verdict, if it has one, as soon as the database can."""
        if verdict.claim is not None:
            self._submit(Job("release", namespace, verdict, None))

    async def flush(self) -> None:
        """Do all jobs so far, and count the claims.

        Waits half of the timeout for a database that does not show that it works, and :meth:`close`
        the rest; for one that is busy with others, up to ten times as long.
        """
        if self._thread is None:
            return
        started = time.monotonic()
        # close() reports what is wrong with the database.
        with suppress(TimeoutError):
            await self._pass(Job("count"), self._timeout / 2, self._at_most / 2)
        spent = time.monotonic() - started
        self._left -= min(spent, self._timeout / 2)
        self._at_most -= spent

    async def close(self, **given: Any) -> int | None:
        """Do all jobs so far, close the run and the database; waits as :meth:`flush` says.

        Takes the arguments of :meth:`CrawlDatabase.close_run`. Returns how many things were found
        to be gone; None if there was no run, or it is not closed.
        """
        if self._thread is None or self._is_closed:
            return None
        self._is_closed = True
        started = time.monotonic()
        try:
            is_closed = await self._pass(Job("close", argument=given), self._left, self._at_most)
        except TimeoutError:
            self._work.abandon()
            logger.error(  # noqa: TRY400 - the traceback is of no use
                "The index did not close within %.1f s. This run counts as crashed: the next one "
                "releases its claims",
                time.monotonic() - started,
            )
            return None
        return self.figures.removed if is_closed else None

    async def _pass(self, job: Job, timeout: float, at_most: float) -> bool:
        self._work.jobs.put(job)
        answer = cast("Future[bool]", job.answer)
        return await _wait_while_alive(answer, timeout, self.figures.liveness, at_most)

    def _submit(self, job: Job) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work.run,
                args=(_thread_safe_call(),),
                name="simhash",
                # A database that hangs must not keep the process alive.
                daemon=True,
            )
            self._thread.start()
        self._work.jobs.put(job)


def _thread_safe_call() -> Any:
    """What any thread may call to have the event loop call a function."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor  # noqa: PLC0415 - the import installs a reactor

    return reactor.callFromThread


async def wait(future: Future[T], timeout: float) -> T:
    """The result of a future, which is not cancelled; TimeoutError after `timeout` seconds.

    The future must be resolved in the thread of the event loop.
    """
    if not future.done():
        waiter: Deferred[None] = Deferred()

        def resume(_: object = None) -> None:
            if not waiter.called:
                waiter.callback(None)

        future.add_done_callback(resume)
        timer = call_later(max(0.0, timeout), resume)
        try:
            await maybe_deferred_to_future(waiter)
        finally:
            timer.cancel()
    if not future.done():
        raise TimeoutError
    return future.result()


async def _wait_while_alive(
    future: Future[T], timeout: float, liveness: Liveness, at_most: float = math.inf
) -> T:
    """The result of a future, as long as the database shows within each timeout that it works.

    Raises TimeoutError after `timeout` seconds without that, or after `at_most` seconds. Time in
    which the event loop was blocked does not count.
    """
    started = seen = time.monotonic()
    while True:
        now = time.monotonic()
        end = min(max(seen, liveness.last) + timeout, started + at_most)
        try:
            return await wait(future, end - now)
        except TimeoutError:
            now = time.monotonic()
            if future.done() or now >= started + at_most:
                raise
            if now - end > _BLOCKED_SECONDS:
                seen = now
            elif now >= max(seen, liveness.last) + timeout:
                raise
