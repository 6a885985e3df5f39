"""What a report is about, read from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from scrapy_simhash.history import sql
from scrapy_simhash.history.advice import SettingAdvice, advise
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.decisions import count, read_decisions
from scrapy_simhash.history.patterns import Pattern, read_patterns
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, RunRow, Selection, read_runs
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.words import UNCHANGED
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.simhash.measure import similarity_at

#: One file shows the newest duplicates up to this number, and learns from as many URLs.
MOST_ROWS = 100_000

# Items kept although similar that are read, the newest.
_MOST_KEPT = 1_000

# The changes that are listed, without new items.
_MOST_CHANGES = 1_000
# The new items that are listed.
_MOST_NEW = 1_000


class ReportData(NamedTuple):
    """What a report is about: what some runs met in a namespace.

    It has the newest duplicates, the oldest first, and how often there is each action of all
    duplicates, and of stored items each distance of the nearest other item, and each field that
    keeps one apart. A trial stores nothing, as `scrapy simhash try`.
    """

    namespace: NamespaceRow
    selection: Selection
    runs: Sequence[RunRow]
    rule: Rule
    drops: Sequence[Record]
    kept: Sequence[Record]
    changes: Sequence[Record]
    counts: Counter[str]
    nearest: Counter[int]
    differs: Counter[str]
    patterns: Sequence[Pattern]
    advice: Sequence[SettingAdvice]
    is_trial: bool

    @property
    def stats(self) -> dict[str, float]:
        """The summed stats of the runs, without their prefix."""
        return sum_stats(row.stats for row in self.runs)

    def change_counts(self) -> dict[str, int]:
        """How much is new, changed, and so on."""
        # What is missing is known when the stats are written already.
        listed = Counter(change.status for change in self.changes)
        counted = {
            name.removeprefix("changes/"): int(count)
            for name, count in self.stats.items()
            if name.startswith("changes/")
        }
        return {**listed, **counted}

    @property
    def duplicates(self) -> list[Record]:
        """Without unchanged items, which are dropped for their own earlier version."""
        return [drop for drop in self.drops if drop.status != UNCHANGED]

    @property
    def threshold(self) -> float:
        """The similarity of near-duplicates, estimated where the distance decides."""
        if self.rule.threshold is None:
            return similarity_at(self.rule.limit, self.namespace.bits)
        return self.rule.threshold


def read_report(
    namespace: NamespaceRow,
    rule: Rule,
    selection: Selection = EVERYTHING,
    *,
    is_trial: bool = False,
) -> ReportData:
    """Read what a report is about."""
    runs = read_runs(namespace, selection)
    kept = [*read_decisions(namespace, selection, kept=True, newest=_MOST_KEPT)]
    changes = [*islice(read_changes(namespace, selection, STATUSES[1:]), _MOST_CHANGES)]
    # In the first visit of a site all is new.
    counted = {name for row in runs for name in row.stats if "/changes/" in name}
    if counted > {"simhash/changes/new"}:
        changes += islice(read_changes(namespace, selection, STATUSES[:1]), _MOST_NEW)
    # What a page has shown in another run tells nothing of its URL.
    newest = Selection([row.id for row in runs[:1]])
    patterns = read_patterns(namespace, newest)
    return ReportData(
        namespace,
        selection,
        runs,
        rule,
        drops=[*read_decisions(namespace, selection, newest=MOST_ROWS)],
        kept=kept,
        changes=changes,
        counts=count(namespace, sql.drops.action, selection),
        nearest=count(namespace, sql.claims.nearest, selection),
        differs=count(namespace, sql.claims.differs, selection),
        patterns=[one for one in patterns if one.repeats >= LEAST],
        advice=advise(namespace, selection) if kept else [],
        is_trial=is_trial,
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
