"""What a report is about, read from the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.advice import Advice, advise
from scrapy_simhash.history.drops import SAME, Drop, count_drops, read_drops
from scrapy_simhash.history.kept import KeptBeside, kept_beside, nearest_kept
from scrapy_simhash.history.namespaces import NotFound, RunRow, choose_namespace, read_runs
from scrapy_simhash.history.patterns import Pattern, read_patterns
from scrapy_simhash.history.query import NamespaceRow
from scrapy_simhash.index.learned import LearnedField, read_learned
from scrapy_simhash.simhash.measure import candidate_limit, similarity_at

#: One file shows the newest duplicates up to this number, and learns from as many URLs.
MOST_ROWS = 100_000


class Subject(NamedTuple):
    """What a report is about.

    Attributes:
        database: the index.
        namespace: the one in question.
        run: the number of the run; None for all runs.
        runs: that run, or all runs, the newest first.
        drops: the newest duplicates that are remembered, the oldest first.
        counts: the number of all duplicates that are remembered, by action.
        limit: the largest distance at which documents are compared.
        similarity: from which they are near-duplicates; None where the distance alone decides.
        nearest: the number of stored items by the distance of their nearest other one.
        kept: items that were stored although their text is similar to another one's.
        patterns: parts of URLs, of all runs, those that repeat most first.
        stats: the summed stats of the runs, without their prefix.
        is_trial: whether nothing is stored, as in `scrapy simhash try`.
        learned: the fields that are not compared on some hosts.
        advice: what to change.
    """

    database: Database
    namespace: NamespaceRow
    run: int | None
    runs: Sequence[RunRow]
    drops: Sequence[Drop]
    counts: Mapping[str, int]
    limit: int
    similarity: float | None
    nearest: Mapping[int, int]
    kept: KeptBeside
    patterns: Sequence[Pattern]
    stats: Mapping[str, float]
    is_trial: bool
    learned: Sequence[LearnedField]
    advice: Sequence[Advice]

    @property
    def duplicates(self) -> list[Drop]:
        """Without unchanged items, which are dropped for their own earlier version."""
        return [drop for drop in self.drops if drop.action != SAME]

    @property
    def threshold(self) -> float:
        """The similarity of near-duplicates, estimated where the distance decides."""
        if self.similarity is None:
            return similarity_at(self.limit, self.namespace.bits)
        return self.similarity


def read_subject(
    database: Database,
    name: str | None = None,
    run: int | None = None,
    limit: int | None = None,
    similarity: float | None = None,
    *,
    is_trial: bool = False,
) -> Subject:
    """Read what a report is about.

    Args:
        database: the index.
        name: of the namespace; not needed if the database has only one.
        run: all runs otherwise.
        limit: derived from the similarity or, without one, from the farthest duplicate.
        similarity: None where the distance alone decides.
        is_trial: see `Subject`.

    Raises:
        NotFound: the database has no such namespace or run.
        IndexUnavailable: the database did not answer in time.
    """
    namespace = choose_namespace(database, name)
    runs = read_runs(database, namespace)
    if run is not None:
        runs = [row for row in runs if row.id == run]
        if not runs:
            raise NotFound(f"the namespace {namespace.name!r} has no items of run {run}")
    drops = read_drops(database, namespace, run, limit=MOST_ROWS)
    if limit is None:
        farthest = max((drop.distance for drop in drops), default=0)
        limit = farthest if similarity is None else candidate_limit(similarity)
    return Subject(
        database,
        namespace,
        run,
        runs,
        drops,
        count_drops(database, namespace, run),
        limit,
        similarity,
        nearest_kept(database, namespace, run),
        kept_beside(database, namespace, run),
        read_patterns(database, namespace, limit=MOST_ROWS),
        sum_stats(row.stats for row in runs),
        is_trial,
        read_learned(database, namespace.id),
        advise(database, namespace, run),
    )


def sum_stats(stats: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The summed stats of runs, without their prefix."""
    total: dict[str, float] = {}
    for one in stats:
        for name, value in one.items():
            if isinstance(value, (int, float)):
                short = name.removeprefix("simhash/")
                total[short] = total.get(short, 0) + value
    return total
