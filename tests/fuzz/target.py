"""A target is a check and the strategies of its arguments. A short run of each is a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["TARGETS", "Check", "fuzzed", "target"]

Check = Callable[..., None]

#: The targets of all imported files: checks and strategies.
TARGETS: dict[str, tuple[Check, tuple[SearchStrategy[Any], ...]]] = {}


def target(*given: SearchStrategy[Any], examples: int) -> Callable[[Check], Check]:
    """Make a check a target, and a test that draws the same examples each time.

    Args:
        given: strategies of the arguments.
        examples: number of examples where hypothesis draws 100; the profiles draw fewer.
    """
    drawn = max(examples * settings.default.max_examples // 100, 1)

    def enter(check: Check) -> Check:
        TARGETS[check.__name__.removeprefix("test_")] = check, given
        return fuzzed(check, given, max_examples=drawn, derandomize=True)

    return enter


def fuzzed(check: Check, strategies: tuple[SearchStrategy[Any], ...], **options: Any) -> Check:
    """The check as a hypothesis test without deadline and database."""
    chosen = settings(
        deadline=None, database=None, suppress_health_check=list(HealthCheck), **options
    )
    return chosen(given(*strategies)(check))
