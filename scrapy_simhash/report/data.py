"""What a report is about, read from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history.advice import Pattern, SettingAdvice, advise, read_patterns
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.decisions import count, read_newest
from scrapy_simhash.history.namespaces import RunRow, read_runs
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.history.sql import NamespaceRow, Selection
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.words import UNCHANGED
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.simhash.measure import similarity_at

#: One file shows the newest duplicates up to this number, and learns from as many URLs.
MOST_ROWS = 100_000

# Items kept although similar that are read, the newest.
_MOST_KEPT = 10_000

# Runs to choose from, beside all together.
_MOST_RUNS = 10
# Of each run, the changes that are listed, without new items.
_MOST_CHANGES = 5_000
# Of each run, the new items that are listed.
_MOST_NEW = 2_000


class ReportData(NamedTuple):
    """What a report is about: all runs, or one of them.

    It has the newest duplicates, the oldest first, and by run how often there is each action of all
    duplicates, and of stored items each second in which they were made, each distance of the
    nearest other item, and each field that keeps one apart. A trial stores nothing, as
    `scrapy simhash try`. The report opens with the run; `None` stands for all.
    """

    namespace: NamespaceRow
    run: int | None
    runs: Sequence[RunRow]
    rule: Rule
    drops: Sequence[Record]
    kept: Sequence[Record]
    changes: Sequence[Record]
    tallies: Mapping[str, Mapping[int, Counter[Any]]]
    patterns: Sequence[Pattern]
    advice: Sequence[SettingAdvice]
    is_trial: bool

    def tally(self, name: str) -> Counter[Any]:
        """How often a column has each value, see :func:`count`."""
        return sum(self.tallies[name].values(), Counter[Any]())

    @property
    def counts(self) -> Counter[str]:
        """The number of all duplicates that are remembered, by action."""
        return self.tally("action")

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """What keeps similar items apart, with their number, the most frequent first."""
        return sorted(self.tally("differs").items(), key=lambda one: (-one[1], one[0]))

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

    def views(self) -> list[Self]:
        """What the report shows: the run that it opens with, other runs, and all together."""
        if len(self.runs) < 2:
            return [self._replace(run=row.id) for row in self.runs] or [self]
        numbers = _shown(self.runs, self.run)
        return [*map(self._only, numbers), self._replace(run=None)]

    def _only(self, run: int) -> Self:
        """What belongs to one run."""
        tallies = {name: {run: by_run.get(run, Counter())} for name, by_run in self.tallies.items()}
        is_often = max(tallies["differs"][run].values(), default=0) >= LEAST
        return self._replace(
            run=run,
            runs=[row for row in self.runs if row.id == run],
            drops=[drop for drop in self.drops if drop.run == run],
            kept=[pair for pair in self.kept if pair.run == run],
            changes=[change for change in self.changes if change.run == run],
            tallies=tallies,
            advice=advise(self.namespace, run) if is_often else [],
        )


def _shown(runs: Sequence[RunRow], run: int | None) -> list[int]:
    """The run to open with, by default the largest of the newest visit, and other new ones."""
    newest = [row.id for row in runs[:_MOST_RUNS]]
    visit = [row for row in runs if row.visit == runs[0].visit]
    first = max(visit, key=lambda row: (row.counts or (row.claims + row.drops,))[0]).id
    first = first if run is None else run
    return [first, *(number for number in newest if number != first)]


def read_report(
    namespace: NamespaceRow, rule: Rule, run: int | None = None, *, is_trial: bool = False
) -> ReportData:
    """Read what a report is about; it opens with the run, by default as `_shown` says."""
    runs = read_runs(namespace)
    if run is not None and run not in {row.id for row in runs}:
        raise NotFound(f"the namespace {namespace.name!r} has no items of run {run}")
    kept = read_newest(namespace, kept=True, limit=_MOST_KEPT)
    # What a page has shown in another run tells nothing of its URL.
    newest = Selection([row.id for row in runs[:1]])
    patterns = read_patterns(namespace, newest, limit=MOST_ROWS)
    return ReportData(
        namespace,
        run,
        runs,
        rule,
        drops=read_newest(namespace, limit=MOST_ROWS),
        kept=kept,
        changes=_changes(namespace, [row for row in runs if row.id in _shown(runs, run)]),
        tallies={name: count(namespace, name) for name in ("action", "nearest", "differs")},
        patterns=[one for one in patterns if one.repeats >= LEAST],
        advice=advise(namespace) if kept else [],
        is_trial=is_trial,
    )


def _changes(namespace: NamespaceRow, runs: Iterable[RunRow]) -> list[Record]:
    """What happened in each of these runs; of the first visit of a site, where all is new, none."""
    found: list[Record] = []
    for row in runs:
        of_run = Selection([row.id])
        listed = [*islice(read_changes(namespace, of_run, STATUSES[1:]), _MOST_CHANGES)]
        counted = {name for name in row.stats if "/changes/" in name}
        if counted > {"simhash/changes/new"}:
            listed += islice(read_changes(namespace, of_run, STATUSES[:1]), _MOST_NEW)
        found += listed
    return found


def sum_stats(stats: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The summed stats of runs, without their prefix."""
    total: dict[str, float] = {}
    for one in stats:
        for name, value in one.items():
            if isinstance(value, (int, float)):
                short = name.removeprefix("simhash/")
                total[short] = total.get(short, 0) + value
    return total
