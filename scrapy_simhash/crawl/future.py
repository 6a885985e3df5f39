"""Futures of the event loop: with asyncio and with any Twisted reactor."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

T = TypeVar("T")


class Future(Generic[T]):
    """The result of a job, resolved and awaited in the thread of the event loop.

    Those of `concurrent.futures` would take locks some forty times a page.

    Attributes:
        result: None before it is known.
        exception: in place of a result.
        done: whether it is resolved or cancelled; any thread may read this.
    """

    def __init__(self) -> None:
        self.result: T | None = None
        self.exception: Exception | None = None
        self.done = False
        self._waiting: list[Deferred[None]] = []

    def resolve(self, outcome: T | Exception) -> None:
        """Set the result or the exception, unless it is done."""
        if self.done:
            return
        if isinstance(outcome, Exception):
            self.exception = outcome
        else:
            self.result = outcome
        self.done = True
        for waiter in self._waiting:
            _resume(waiter)

    def cancel(self) -> None:
        """Ignore the outcome: nobody waits for it any more."""
        self.done = True

    async def wait(self, timeout: float | None = None) -> T:
        """The result; raises the exception, or TimeoutError after `timeout` seconds."""
        if not self.done:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            timer = None if timeout is None else call_later(max(0.0, timeout), _resume, waiter)
            try:
                await maybe_deferred_to_future(waiter)
            finally:
                if timer is not None:
                    timer.cancel()
        if not self.done:
            raise TimeoutError
        if self.exception is not None:
            raise self.exception
        return cast("T", self.result)


def _resume(waiter: Deferred[None]) -> None:
    if not waiter.called:
        waiter.callback(None)
