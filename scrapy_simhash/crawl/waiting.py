"""Waiting for a thread's answer, with asyncio and with any reactor of Twisted."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet import defer
from twisted.internet.error import AlreadyCalled

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import Any, TypeVar

    from scrapy_simhash.db.lock_wait import Liveness

    T = TypeVar("T")

__all__ = ["Mailbox", "wait", "wait_for_signs"]

#: Seconds after its time at which a timer shows that the event loop was blocked.
_BLOCKED = 1.0


class Mailbox:
    """What a thread has answered, told to the event loop in one call for all that are there.

    Each call wakes the loop, which takes the interpreter; where the loop is busy, the thread has it
    back no sooner than 5 ms later.
    """

    def __init__(self) -> None:
        self._ready: deque[Callable[[], None]] = deque()
        self._call: Callable[[Callable[[], None]], Any] | None = None
        self._is_called = False

    def put(self, resume: Callable[[], None], call: Callable[[Callable[[], None]], Any]) -> None:
        """Have something called in the event loop; `call` does that from any thread."""
        self._call = call
        self._ready.append(resume)

    def send(self) -> None:
        """Have all called that was put in; by the thread, when it has answered."""
        if self._ready and self._call is not None and not self._is_called:
            self._is_called = True
            # The loop is closed: nobody waits any more.
            with suppress(RuntimeError):
                self._call(self._deliver)

    def _deliver(self) -> None:
        # First: what is put in from now on it may not see.
        self._is_called = False
        while self._ready:
            self._ready.popleft()()


async def wait(future: Future[T], timeout: float, mailbox: Mailbox | None = None) -> T:
    """Wait for a thread's answer, with asyncio and with any reactor of Twisted.

    Args:
        future: of the answer. It is left as it is, whatever becomes of the waiting.
        timeout: in seconds.
        mailbox: which the thread sends after it has answered; without one it calls by itself.

    Raises:
        TimeoutError: none within `timeout` seconds.
    """
    if not future.done():
        await _until_done(future, timeout, mailbox)
    # While the event loop was blocked an answer may have come, and waits behind the timer.
    if not future.done():
        raise TimeoutError
    return future.result()


async def wait_for_signs(
    future: Future[T],
    timeout: float,
    signs: Liveness,
    at_most: float = math.inf,
    mailbox: Mailbox | None = None,
) -> T:
    """Wait for a thread's answer as long as signs of life are no farther apart than the timeout.

    A time in which the event loop was blocked does not count: nobody was there to see a sign.

    Raises:
        TimeoutError: there was none for `timeout` seconds, or `at_most` seconds are over. The
            future is left as it is.
    """
    started = seen = time.monotonic()
    while True:
        now = time.monotonic()
        end = min(max(seen, signs.last) + timeout, started + at_most)
        try:
            return await wait(future, end - now, mailbox)
        except TimeoutError:
            now = time.monotonic()
            if future.done() or now >= started + at_most:
                raise
            if now - end > _BLOCKED:
                seen = now
            elif now >= max(seen, signs.last) + timeout:
                raise


async def _until_done(future: Future[Any], timeout: float, mailbox: Mailbox | None) -> None:
    """Return when the future is done, or the time is over."""
    call: Any
    later: Any
    waiter: Any
    if is_asyncio_available():
        loop = asyncio.get_running_loop()
        call, later = loop.call_soon_threadsafe, loop.call_later
        waiter = loop.create_future()
        is_over, end = waiter.done, waiter.set_result
    else:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

        call, later = reactor.callFromThread, reactor.callLater
        waiter = defer.Deferred()
        is_over, end = (lambda: waiter.called), waiter.callback

    def resume() -> None:
        if not is_over():
            end(None)

    def tell(_: object) -> None:
        if mailbox is not None:
            mailbox.put(resume, call)
        else:
            # The loop is closed: nobody waits any more.
            with suppress(RuntimeError):
                call(resume)

    future.add_done_callback(tell)
    # If that was called at once, or is at this moment, nobody may send the mailbox any more.
    if future.done():
        return
    timer = later(max(0.0, timeout), resume)
    try:
        await waiter
    finally:
        with suppress(AlreadyCalled):  # as Twisted says of one that is over
            timer.cancel()
