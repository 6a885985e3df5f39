"""What a report is about, read from the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash import history
from scrapy_simhash.simhash.measure import candidate_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from scrapy_simhash.db.transactions import Database

__all__ = ["MOST_ROWS", "Subject", "read_subject", "sum_stats"]

#: So many of the newest drops are in one file; of so many claims and drops addresses are looked at.
MOST_ROWS = 100_000


class Subject(NamedTuple):
    """What a report is about.

    Attributes:
        database: where it is.
        namespace: in which one.
        run: the run that it is about; None for all of them.
        runs: that run, or all of them, the newest first.
        drops: the newest of those that are remembered, in their order.
        counts: how many are remembered, by what was done to them.
        limit: the distance up to which documents are compared.
        similarity: from which they are near-duplicates; None where the distance alone decides.
        nearest: how many claims had their nearest other claim at each distance.
        kept: the claims that were made although another one's text was near.
        patterns: the parts of addresses, whichever run met them; those that repeat most first.
        stats: the sums of the stats of the runs, without their prefix.
        is_trial: whether it was a trial, of which nothing is kept.
    """

    database: Database
    namespace: history.NamespaceRow
    run: int | None
    runs: Sequence[history.RunRow]
    drops: Sequence[history.Drop]
    counts: Mapping[str, int]
    limit: int
    similarity: float | None
    nearest: Mapping[int, int]
    kept: history.KeptBeside
    patterns: Sequence[history.Pattern]
    stats: Mapping[str, float]
    is_trial: bool

    @property
    def duplicates(self) -> list[history.Drop]:
        """The drops that are another page's near-duplicates, not their own unchanged selves."""
        return [drop for drop in self.drops if drop.action != history.SAME]


def read_subject(
    database: Database,
    name: str | None,
    run: int | None,
    limit: int | None,
    similarity: float | None,
    *,
    is_trial: bool = False,
) -> Subject:
    """Read what a report is about; see `write_report` for what is asked for.

    Raises:
        NotFound: there is no such namespace or run.
        IndexUnavailable: the database did not answer in time.
    """
    namespace = history.choose_namespace(database, name)
    runs = history.runs(database, namespace)
    if run is not None:
        runs = [row for row in runs if row.id == run]
        if not runs:
            raise history.NotFound(f"the namespace {namespace.name!r} has nothing of a run {run}")
    drops = history.drops(database, namespace, run, limit=MOST_ROWS)
    if limit is None:
        farthest = max((drop.distance for drop in drops), default=0)
        limit = farthest if similarity is None else candidate_limit(similarity)
    return Subject(
        database,
        namespace,
        run,
        runs,
        drops,
        history.count_drops(database, namespace, run),
        limit,
        similarity,
        history.nearest_kept(database, namespace, run),
        history.kept_beside(database, namespace, run),
        history.patterns(database, namespace, limit=MOST_ROWS),
        sum_stats(row.stats for row in runs),
        is_trial,
    )


def sum_stats(stats: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The sums of the stats of runs, without their prefix."""
    total: dict[str, float] = {}
    for one in stats:
        for name, value in one.items():
            if isinstance(value, (int, float)):
                short = name.removeprefix("simhash/")
                total[short] = total.get(short, 0) + value
    return total
