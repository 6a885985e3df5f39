"""What goes wrong in one place goes no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Contained"]


class Contained:
    """A context manager that reports what goes wrong inside, and goes on behind it.

    One serves all, and at once: it is entered several times for each item.

    Args:
        report: is told of it.
    """

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report

    def __enter__(self) -> None:
        """Nothing happens yet."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # A cancelled task, and whoever ends the process, are nothing that has gone wrong.
        if not isinstance(error, Exception):
            return False
        self._report(error)
        return True
