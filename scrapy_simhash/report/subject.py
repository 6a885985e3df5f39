"""What a report is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.history.drops import SAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.drops import Drop
    from scrapy_simhash.history.namespaces import NamespaceRow
    from scrapy_simhash.history.runs import RunRow

__all__ = ["MOST_BYTES", "MOST_DIFFERENCES", "MOST_ROWS", "Report", "format_time"]

#: Bounds of what is in one file: rows of the table, differences, and bytes of these.
MOST_ROWS, MOST_DIFFERENCES, MOST_BYTES = 50_000, 5_000, 8_000_000


class Report(NamedTuple):
    """What a report is about."""

    database: Database
    namespace: NamespaceRow
    run: int | None
    runs: Sequence[RunRow]
    drops: Sequence[Drop]
    counts: Mapping[str, int]
    limit: int

    @property
    def duplicates(self) -> list[Drop]:
        """The drops that are another page's near-duplicates, not their own unchanged selves."""
        return [drop for drop in self.drops if drop.action != SAME]


def format_time(seconds: float) -> str:
    """UTC, to the second."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
