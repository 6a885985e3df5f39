"""Figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Section", "share", "table"]


class Section(NamedTuple):
    """What was measured by one part.

    Attributes:
        name: of the part.
        text: its tables.
        sizes: of its sets.
    """

    name: str
    text: str
    sizes: Mapping[str, int]


def table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def share(part: int, whole: int) -> str:
    """A share, and of how many."""
    return f"{part / whole:.3f} of {whole:,}" if whole else "-"
