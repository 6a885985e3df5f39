"""Waiting for a thread's answer, with asyncio and with any Twisted reactor."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from twisted.internet import defer

from scrapy_simhash.db.lock_wait import Liveness

T = TypeVar("T")

#: A timer that is later than this, in seconds, shows that the event loop was blocked.
_BLOCKED = 1.0


class CallbackBatch:
    """Passes the answers of a transaction to the event loop in one call.

    Each call wakes the loop, which takes the GIL; where the loop is busy, it is 5 ms until the
    thread has it again.
    """

    def __init__(self) -> None:
        self._ready: deque[Callable[[], None]] = deque()
        self._call: Callable[[Callable[[], None]], Any] | None = None
        self._is_called = False

    def add(self, resume: Callable[[], None], call: Callable[[Callable[[], None]], Any]) -> None:
        """Add a function that is to run in the event loop; `call` runs one there."""
        self._call = call
        self._ready.append(resume)

    def send(self) -> None:
        """Have the event loop run what was added; called by the thread after it has answered."""
        if self._ready and self._call is not None and not self._is_called:
            self._is_called = True
            # Raised if the loop is closed: nobody waits any more.
            with suppress(RuntimeError):
                self._call(self._run)

    def _run(self) -> None:
        # Reset first: what is added from now on may be missed below.
        self._is_called = False
        while self._ready:
            self._ready.popleft()()


async def wait(future: Future[T], timeout: float, batch: CallbackBatch | None = None) -> T:
    """The result of a future, which is not cancelled; TimeoutError after `timeout` seconds.

    The thread sends the batch after it has answered; without one each answer wakes the event loop.
    """
    if not future.done():
        await _until_done(future, timeout, batch)
    # After the event loop was blocked, the answer may be queued behind the timer.
    if not future.done():
        raise TimeoutError
    return future.result()


async def wait_while_alive(
    future: Future[T],
    timeout: float,
    liveness: Liveness,
    at_most: float = math.inf,
    batch: CallbackBatch | None = None,
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
            return await wait(future, end - now, batch)
        except TimeoutError:
            now = time.monotonic()
            if future.done() or now >= started + at_most:
                raise
            if now - end > _BLOCKED:
                seen = now
            elif now >= max(seen, liveness.last) + timeout:
                raise


async def _until_done(future: Future[Any], timeout: float, batch: CallbackBatch | None) -> None:
    """Return when the future is done or the time is over."""
    call: Any
    waiter: Any
    if is_asyncio_available():
        loop = asyncio.get_running_loop()
        call, waiter = loop.call_soon_threadsafe, loop.create_future()
        is_over, end = waiter.done, waiter.set_result
    else:
        from twisted.internet import reactor  # noqa: PLC0415 - the import installs a reactor

        call, waiter = reactor.callFromThread, defer.Deferred()
        is_over, end = (lambda: waiter.called), waiter.callback

    def resume() -> None:
        if not is_over():
            end(None)

    def on_answer(_: object) -> None:
        if batch is not None:
            batch.add(resume, call)
        else:
            with suppress(RuntimeError):
                call(resume)

    future.add_done_callback(on_answer)
    # If the answer came before that, or just now, the batch may not be sent again.
    if future.done():
        return
    timer = call_later(max(0.0, timeout), resume)
    try:
        await waiter
    finally:
        timer.cancel()
