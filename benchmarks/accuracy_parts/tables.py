"""Figures as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Section", "bar", "share", "table"]


class Section(NamedTuple):
    """What was measured by one part.

    Attributes:
        name: of the part.
        text: its tables.
        sizes: of its sets.
        plot: for Vega-Lite, if there is one.
    """

    name: str
    text: str
    sizes: Mapping[str, int]
    plot: dict[str, Any] | None = None


def table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def share(part: int, whole: int) -> str:
    """A share, and of how many."""
    return f"{part / whole:.3f} of {whole:,}" if whole else "-"


def bar(judge: str, name: str, found: int, copies: int, wrong: int) -> dict[str, Any]:
    """A bar of a plot, with how many were wrong."""
    return {
        "judge": judge,
        "is_this": judge.startswith("this,"),
        "set": name,
        "share": found / copies if copies else 0,
        "label": f"{found} of {copies}; {wrong} wrong",
    }
