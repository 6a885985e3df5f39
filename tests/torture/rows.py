"""The rows of the table that torture prints."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """The result of a case.

    Attributes:
        case: its description.
        runs: number of crawls.
        groups: number of groups of duplicates, each of which should be stored once.
        lost: groups that no feed contains.
        twice: pages stored although their group was known to be stored.
        wrong: sums of the stats that do not match.
        unchecked: pages stored without an answer of the index.
    """

    case: str
    runs: int
    groups: int
    lost: int
    twice: int
    wrong: int
    unchecked: int = 0


class Cases(list[Row]):
    """The results of several scenes of one case."""

    def total(self, table: list[Row]) -> Row:
        """Add the sum to the table."""
        sums = (sum(numbers) for numbers in zip(*(row[1:] for row in self), strict=True))
        row = Row(self[0].case, *sums)
        table.append(row)
        return row
