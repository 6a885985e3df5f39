"""One thread owns the database; what is asked of it while it works is committed together."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from scrapy_simhash.crawl.gathering import UNHEARD, Barrier, Gatherer, Job
from scrapy_simhash.crawl.presence import Presence
from scrapy_simhash.crawl.thread import DatabaseThread, Figures
from scrapy_simhash.crawl.waiting import Mailbox, wait_for_signs
from scrapy_simhash.exceptions import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from typing import Any

    from scrapy_simhash.crawl.connection import CrawlDatabase
    from scrapy_simhash.db.lock_wait import Liveness
    from scrapy_simhash.index.verdict import Claim, Document, Duplicate, Verdict

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

#: How many times the timeout the end of a crawl may take, where others keep the database busy.
_END = 10


class Worker:
    """Does what an index is asked for in a thread of its own.

    Args:
        connect: opens the database, and is given what notes that it works; called in the thread,
            on the first job, and again after it failed.
        timeout: seconds that anybody waits at most for a database of which there is no sign that
            it works.
    """

    def __init__(self, connect: Callable[[Liveness], CrawlDatabase], timeout: float) -> None:
        self.figures = Figures()
        self._timeout = timeout
        #: What is left for the end: without a sign, and at most.
        self._patience = timeout
        self._at_most = _END * timeout
        self._presence = Presence(self.figures.signs)
        self._asked = Gatherer()
        self._mailbox = Mailbox()
        self._work = DatabaseThread(
            connect, self._asked, self._presence, self.figures, self._mailbox
        )
        self._thread: threading.Thread | None = None

    async def open(self, namespace: str) -> int:
        """Open the database before anything is asked of it.

        Returns:
            how many claims a namespace holds.

        Raises:
            IndexUnavailable: no answer within the timeout; IndexUnusable, there will be none.
            SchemeMismatch, SchemaMismatch: the database holds something else.
        """
        return cast("int", await self._answer(Job(namespace, is_opening=True)))

    def secret(self) -> bytes:
        """That of the database, see :class:`Database`.

        Raises:
            IndexUnavailable: the database was not open yet.
        """
        if self.figures.secret is None:
            raise self._presence.refusal or IndexUnavailable("it has not been opened yet")
        return self.figures.secret

    async def claim(self, namespace: str, document: Document) -> Verdict:
        """The verdict on a document.

        Waits for others who use the database as long as they get through.

        Raises:
            IndexUnavailable: none within the timeout. A claim that comes later is released.
            SchemeMismatch, SchemaMismatch: the database holds something else.
        """
        job = Job(namespace, claim=document)
        try:
            return cast("Verdict", await self._answer(job))
        except (IndexUnavailable, asyncio.CancelledError):

            def release(late: Future[Verdict]) -> None:
                if not late.cancelled() and not late.exception() and (claim := late.result().claim):
                    self.release(namespace, claim)

            job.answer.add_done_callback(release)
            raise

    async def foresee(self, namespace: str, document: Document) -> Verdict:
        """What would be said of a page; see :meth:`Index.foresee`.

        Raises:
            IndexUnavailable: no answer within the timeout.
        """
        return cast("Verdict", await self._answer(Job(namespace, foresee=document)))

    async def remember(self, namespace: str, duplicate: Duplicate) -> None:
        """Keep a duplicate; returns when it is committed.

        Raises:
            IndexUnavailable: it is not known to be kept.
        """
        await self._answer(Job(namespace, duplicate=duplicate))

    async def _answer(self, job: Job) -> Any:
        if refusal := self._presence.refusal:
            raise refusal
        self._submit(job)
        try:
            return await wait_for_signs(
                job.answer, self._timeout, self.figures.signs, mailbox=self._mailbox
            )
        except TimeoutError:
            returns = self._presence.returns
            if job.answer.done():
                return job.answer.result()
            self._presence.give_up(returns)
            raise IndexUnavailable(f"no answer within {self._timeout:g} s") from None
        finally:
            # Nothing comes of it unless it waits for its turn, and nobody for it.
            job.answer.cancel()

    def confirm(self, namespace: str, claim: Claim) -> None:
        """Confirm a claim as soon as the database can."""
        self._submit(Job(namespace, confirm=claim, answer=UNHEARD))

    def release(self, namespace: str, claim: Claim) -> None:
        """Release a claim as soon as the database can."""
        self._submit(Job(namespace, release=claim, answer=UNHEARD))

    async def flush(self) -> None:
        """Do what is left, and count the claims.

        Waits half of the timeout for a sign that the database works, :meth:`close` for what is
        left of the whole: a crawl waits no longer than that for a database when it ends. One that
        is busy with others is waited for up to ten times as long.
        """
        if self._thread is None:
            return
        barrier = Barrier()
        self._asked.put(barrier)
        started = time.monotonic()
        # Whoever closes the database after this says what is wrong with it.
        with suppress(TimeoutError):
            await wait_for_signs(
                barrier.answer, self._timeout / 2, self.figures.signs, self._at_most / 2
            )
        spent = time.monotonic() - started
        self._patience -= min(spent, self._timeout / 2)
        self._at_most -= spent

    async def close(
        self, *, settled: bool, reason: str, stats: Mapping[str, Any] | None = None
    ) -> bool:
        """Do what is left, close the run and the database.

        Waits for it as said in :meth:`flush`.

        Args:
            settled: see :meth:`Run.close`.
            reason: why the crawl ended.
            stats: see :meth:`Run.close`.

        Returns:
            whether there was a run, and it is closed.
        """
        if self._thread is None:
            return False
        barrier = Barrier(lambda run: run.close(settled=settled, reason=reason, stats=stats))
        self._asked.put(barrier)
        started = time.monotonic()
        try:
            return await wait_for_signs(
                barrier.answer, self._patience, self.figures.signs, self._at_most
            )
        except TimeoutError:
            self._work.abandon()
            logger.error(  # noqa: TRY400 - the traceback says nothing
                "The index did not close within %.1f s: its run counts as crashed, and what it "
                "claimed is released when the next one opens",
                time.monotonic() - started,
            )
            return False

    def _submit(self, job: Job) -> None:
        if self._thread is None:
            # A daemon: a database that hangs must not keep the process.
            self._thread = threading.Thread(target=self._work.run, name="simhash", daemon=True)
            self._thread.start()
        self._asked.put(job)
