"""The rows of the table at the end."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What a case came to.

    Attributes:
        case: what was done.
        runs: how many crawls there were.
        groups: how many different things were to be stored.
        lost: of these, those that no feed holds in the end.
        twice: what is stored although what stands for it is, by what is promised, stored already.
        wrong: sums of the stats that do not add up.
        unchecked: what was stored without an answer of the index.
    """

    case: str
    runs: int
    groups: int
    lost: int
    twice: int
    wrong: int
    unchecked: int = 0


class Cases(list[Row]):
    """What several scenes of one case came to."""

    def total(self, table: list[Row]) -> Row:
        """Enter the sum in the table."""
        sums = (sum(numbers) for numbers in zip(*(row[1:] for row in self), strict=True))
        row = Row(self[0].case, *sums)
        table.append(row)
        return row
