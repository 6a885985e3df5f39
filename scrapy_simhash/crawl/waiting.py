"""Waiting for a thread's answer, with asyncio and with any reactor of Twisted."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet import defer

if TYPE_CHECKING:
    from typing import TypeVar

    from scrapy_simhash.db.patience import Signs

    T = TypeVar("T")

__all__ = ["wait", "wait_for_signs"]

#: Seconds after its time at which a timer shows that the event loop was blocked.
_BLOCKED = 1.0


async def wait(future: Future[T], timeout: float) -> T:
    """Wait for a thread's answer, with asyncio and with any reactor of Twisted.

    Raises:
        TimeoutError: none within `timeout` seconds. The future is left as it is.
    """
    try:
        return await _wait(_follow(future), timeout)
    except TimeoutError:
        # While the event loop was blocked an answer may have come, and waits behind the timer.
        if future.done():
            return future.result()
        raise


async def wait_for_signs(
    future: Future[T], timeout: float, signs: Signs, at_most: float = math.inf
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
            return await wait(future, end - now)
        except TimeoutError:
            now = time.monotonic()
            if future.done() or now >= started + at_most:
                raise
            if now - end > _BLOCKED:
                seen = now
            elif now >= max(seen, signs.last) + timeout:
                raise


async def _wait(future: Future[T], timeout: float) -> T:
    if is_asyncio_available():
        return await asyncio.wait_for(asyncio.wrap_future(future), timeout)
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

    def cancel(_: defer.Deferred[T]) -> None:
        future.cancel()

    deferred: defer.Deferred[T] = defer.Deferred(cancel)

    def deliver(done: Future[T]) -> None:
        if not deferred.called:
            if done.cancelled():
                deferred.cancel()
            elif error := done.exception():
                deferred.errback(error)
            else:
                deferred.callback(done.result())

    future.add_done_callback(lambda done: reactor.callFromThread(deliver, done))
    try:
        return await deferred.addTimeout(timeout, reactor)
    except defer.TimeoutError:
        raise TimeoutError from None


def _follow(future: Future[T]) -> Future[T]:
    """A future that ends as another does, and can be cancelled without cancelling that one."""
    follower: Future[T] = Future()

    def pass_on(done: Future[T]) -> None:
        if not follower.set_running_or_notify_cancel():
            return
        if done.cancelled():
            follower.set_exception(CancelledError())
        elif error := done.exception():
            follower.set_exception(error)
        else:
            follower.set_result(done.result())

    future.add_done_callback(pass_on)
    return follower
