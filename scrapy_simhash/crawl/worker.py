"""Requests to the thread that owns the database, and the waiting for its answers."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from scrapy.utils.asyncio import call_later

from scrapy_simhash.crawl.future import Future
from scrapy_simhash.crawl.thread import CrawlDatabase, DatabaseThread, Job
from scrapy_simhash.db.lock import Liveness
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.verdict import Document, LeftOut, Verdict

logger = logging.getLogger(__name__)

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
        self.thread = DatabaseThread(connect, self._answered)
        self._timeout = timeout
        #: The answers that callers wait for, and since when there is such an answer.
        self._asked: set[Future[Any]] = set()
        self._since = float("-inf")
        #: When the database was last found to hang.
        self._hung = float("-inf")
        self._is_watched = self._is_closed = False

    async def open(self, namespace: str) -> int:
        """Open the database; returns how many claims a namespace holds."""
        return cast("int", await self._call(partial(self.thread.size, namespace)))

    def secret(self) -> bytes:
        """The secret of the database, which must be open."""
        if self.thread.secret is None:
            raise self.refusal or IndexUnavailable("it has not been opened yet")
        return self.thread.secret

    async def claim(self, namespace: str, document: Document) -> Verdict | None:
        """The verdict on a document. After an error, a claim that comes later is released.

        None on one of a page that was not modified, if it has to be compared with its text.
        """
        return cast("Verdict | None", await self._ask(Job("claims", namespace, document)))

    async def leave_out(self, namespace: str, item: LeftOut) -> None:
        """Note that an item is left out; returns when that is committed."""
        await self._ask(Job("left_out", namespace, item))

    def note(self, namespace: str, item: LeftOut) -> None:
        """Note that a copy is stored, as soon as the database can."""
        self.thread.put(Job("left_out", namespace, item, None))

    def confirm(self, namespace: str, verdict: Verdict) -> None:
        """Confirm the claim of a verdict as soon as the database can."""
        self.thread.put(Job("confirm", namespace, verdict, None))

    def release(self, namespace: str, verdict: Verdict) -> None:
        """Note that the document of a verdict is not stored, as soon as the database can."""
        if verdict.row is not None:
            self.thread.put(Job("release", namespace, verdict, None))

    async def flush(self) -> None:
        """Do all jobs so far, and count the claims.

        This and :meth:`close` each wait half of the timeout for a database that does not show that
        it works; for one that is busy with others, up to ten times as long.
        """
        self._timeout /= 2
        if self.thread.is_started:
            # close() reports what is wrong with the database.
            with suppress(Exception):
                await self._call(self.thread.count, _END_TIMEOUTS * self._timeout)

    async def close(self, **given: Any) -> Counter[str] | None:
        """Do all jobs so far, close the run and the database; waits as :meth:`flush` says.

        Takes the arguments of :meth:`CrawlDatabase.close_run`. Returns how much was found to
        be missing or gone; None if there was no run, or it is not closed.
        """
        if self._is_closed or not self.thread.is_started:
            return None
        self._is_closed = True
        # The last attempt to write the outcomes.
        self.thread.error = None
        close = partial(self.thread.close, given)
        try:
            absent = await self._call(close, _END_TIMEOUTS * self._timeout)
        except Exception as error:  # noqa: BLE001 - any error: the crawl is over
            self.thread.abandon()
            logger.error(  # noqa: TRY400 - the message is complete
                "The index could not be closed (%s). This run counts as crashed: the next one "
                "releases its claims",
                str(error) or "others keep it busy",
            )
            return None
        return cast("Counter[str] | None", absent)

    @property
    def refusal(self) -> IndexUnavailable | None:
        """The error for a new request, if the database is unavailable."""
        if self.thread.liveness.last < self._hung:
            return IndexUnavailable("it has not answered an earlier question yet")
        error = self.thread.error
        return None if error is None else _again(error)

    async def _ask(self, job: Job) -> Any:
        if refusal := self.refusal:
            raise refusal
        return await self._answer(job)

    async def _call(self, work: Callable[[], object], most: float | None = None) -> Any:
        """Have the thread do something when all jobs so far are done; for `most` seconds."""
        return await self._answer(Job("call", "", work), most)

    async def _answer(self, job: Job, most: float | None = None) -> Any:
        answer = cast("Future[Any]", job.answer)
        if not self._asked:
            self._since = time.monotonic()
        self._asked.add(answer)
        self.thread.put(job)
        if not self._is_watched:
            self._watch(self._timeout)
        try:
            return await answer.wait(most)
        finally:
            self._asked.discard(answer)
            answer.cancel()

    def _answered(self, jobs: Sequence[Job], answers: Sequence[Any]) -> None:
        """Pass the answers on; a claim that nobody waits for any more is released."""
        for job, answer in zip(jobs, answers, strict=True):
            if job.answer is not None and not job.answer.done:
                job.answer.resolve(answer)
            elif job.method == "claims" and isinstance(answer, Verdict):
                self.release(job.namespace, answer)

    def _watch(self, pause: float) -> None:
        self._is_watched = True
        call_later(pause, self._look, time.monotonic() + pause)

    def _look(self, expected: float) -> None:
        """Look whether the database shows that it works, while somebody waits."""
        self._is_watched, now = False, time.monotonic()
        if not self._asked:
            return
        if now - expected > _BLOCKED_SECONDS:
            self._since = now  # it was the event loop that did not answer
        ends = max(self._since, self.thread.liveness.last) + self._timeout
        if now < ends:
            self._watch(ends - now)
            return
        self._hung = now
        for answer in [*self._asked]:
            answer.resolve(IndexUnavailable(f"no answer within {self._timeout:g} s"))


def _again(error: IndexUnavailable) -> IndexUnavailable:
    """A new error: the traceback of one grows each time it is raised."""
    again = type(error)(*error.args)
    again.__cause__ = error.__cause__
    return again
