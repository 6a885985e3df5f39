"""Waiting for a thread's answer, with asyncio and with any reactor of Twisted."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet import defer

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = ["follow", "wait"]


async def wait(future: Future[T], timeout: float) -> T:
    """Wait for a thread's answer, with asyncio and with any reactor of Twisted.

    Raises:
        TimeoutError: none within `timeout` seconds. The future is cancelled if it can be.
    """
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


def follow(future: Future[Any]) -> Future[Any]:
    """A future that ends as another does, and can be cancelled without cancelling that one."""
    follower: Future[Any] = Future()

    def pass_on(done: Future[Any]) -> None:
        if follower.set_running_or_notify_cancel():
            follower.set_result(done.result())

    future.add_done_callback(pass_on)
    return follower
