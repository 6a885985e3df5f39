"""What is known later, and the waiting for it: with asyncio and with any Twisted reactor."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

T = TypeVar("T")


class Answer(Generic[T]):
    """What is known later, in the thread of the event loop.

    The futures of `concurrent.futures` would take locks some forty times a page.

    Attributes:
        given: the answer, or an error; None before it is known.
        is_over: whether it is known, or nobody waits any more; any thread may read this.
    """

    def __init__(self) -> None:
        self.given: T | Exception | None = None
        self.is_over = False
        self._waiting: list[Deferred[None]] = []

    def give(self, answer: T | Exception) -> None:
        """Give the answer or an error, unless there is one or nobody waits any more."""
        if not self.is_over:
            self.given, self.is_over = answer, True
            for waiter in self._waiting:
                _resume(waiter)

    async def wait(self, timeout: float | None = None) -> T:
        """The answer; raises its error, or TimeoutError after `timeout` seconds."""
        if not self.is_over:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            timer = None if timeout is None else call_later(max(0.0, timeout), _resume, waiter)
            try:
                await maybe_deferred_to_future(waiter)
            finally:
                if timer is not None:
                    timer.cancel()
        if not self.is_over:
            raise TimeoutError
        if isinstance(self.given, Exception):
            raise self.given
        return cast("T", self.given)


def _resume(waiter: Deferred[None]) -> None:
    if not waiter.called:
        waiter.callback(None)
