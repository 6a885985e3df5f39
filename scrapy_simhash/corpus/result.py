"""What was decided on a corpus: counts, the table of groups, and why similar items were kept."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.greedy import Decisions
from scrapy_simhash.corpus.sketches import NOTHING, UNREADABLE, Sketches
from scrapy_simhash.corpus.workers import ADDRESS, Sketcher
from scrapy_simhash.feed.source import chosen
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.irrelevant import FieldAdvice, Pair, differing_facts, irrelevant_fields
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.values import short

# The maximum number of reasons, the most frequent first.
_MOST_REASONS = 10
# The maximum number of items that are examined for advice.
_MOST_ITEMS = 10_000

# Columns of the table of groups. Items are numbered from 1; a group has the number of the item that
# is kept. The original is the item of which this one is a copy or, if it is kept, the item whose
# text is similar and from which it `differs`. The names are those of `history.record.Record`.
_COLUMNS = {
    "group": "int64",
    "id": "int64",
    "kept": "bool",
    "similarity": "double",
    "original_id": "int64",
    "differs": "string",
    "url": "string",
}


# With a reference, also the file and the address of that item. Its items have negative numbers.
_REFERENCE_COLUMNS = {"original_file": "string", "original": "string"}


class Near(NamedTuple):
    """Items that were kept although others are similar, for one reason.

    Attributes:
        differs: the field that differs, or what else does; see `Verdict.differs`.
        number: how many there are.
        items: the numbers of the first one and of the item that it is similar to.
        values: the values of both, or their texts; None where one has none.
    """

    differs: str
    number: int
    items: tuple[int, int]
    values: tuple[str | None, str | None]


class Counts(NamedTuple):
    """Numbers of items.

    Attributes:
        read: all items but those of the reference.
        kept: those written to the output.
        dropped: near-duplicates.
        unchecked: kept without a check, because they are empty or too short, or can't be read.
        rejected: records that are no items, such as lines of invalid JSON.
        problems: what is wrong with the first 10 of them, and where they are.
        reference: items of the reference.
        known: near-duplicates of one of these.
        unreadable: records of the reference that are no items.
        written: fields that were not compared, as they tell when, or in which order, items were
            written down.
        near: what keeps items apart although they are similar.
        advice: which fields to ignore to drop more.
    """

    read: int
    kept: int
    dropped: int
    unchecked: int
    rejected: int
    problems: Sequence[str]
    reference: int = 0
    known: int = 0
    unreadable: int = 0
    written: Sequence[str] = ()
    near: Sequence[Near] = ()
    advice: Sequence[FieldAdvice] = ()


@dataclass
class Result:
    """The decisions on the records of a reference and behind it, of those to copy.

    Attributes:
        sketcher: has read the records.
        starts: the number of the first record of each file, and of all.
        references: the number of files of the reference.
        sketches, decisions: of all records.
    """

    sketcher: Sketcher
    starts: Sequence[int]
    references: int
    sketches: Sketches
    decisions: Decisions

    def __post_init__(self) -> None:
        # The number of the first record that may be copied; what follows is about those behind it.
        self.first = self.starts[self.references]
        self.compared_by = self.sketches.rows["compared_by"][self.first :]
        self.rejected = self.compared_by == UNREADABLE
        self.dropped = ~self.decisions.kept[self.first :]
        self.kept = ~self.dropped & ~self.rejected

    @property
    def types(self) -> dict[str, str]:
        """The columns of the table of groups, with their types."""
        return _COLUMNS | (_REFERENCE_COLUMNS if self.references else {})

    def groups(self) -> Iterator[dict[str, Any]]:
        """The rows of the table of groups."""
        decisions = self.decisions
        for number in (self.first + np.flatnonzero(~self.rejected)).tolist():
            is_kept, match = bool(decisions.kept[number]), int(decisions.matches[number])
            similarity = float(decisions.similarities[number])
            row = {
                "group": self._shown(number if is_kept else match),
                "id": self._shown(number),
                "kept": is_kept,
                "similarity": None if np.isnan(similarity) else round(similarity, 4),
                "original_id": None if match < 0 else self._shown(match),
                "differs": decisions.reasons[decisions.differs[number]] or None,
                "url": self.sketches.url(number) or None,
            }
            if self.references:
                is_known = 0 <= match < self.first
                place = bisect(self.starts, match) - 1
                row["original_file"] = str(self.sketcher.sources[place].path) if is_known else None
                row["original"] = (self.sketches.url(match) or None) if match >= 0 else None
            yield row

    def counts(self) -> Counts:
        """The numbers of items, and why similar ones were kept."""
        first, of_reference = self.first, self.sketches.rows["compared_by"][: self.first]
        matches = self.decisions.matches[first:]
        # Those that were kept although a similar one is kept.
        near = first + np.flatnonzero(self.kept & (self.decisions.differs[first:] > 0))
        pairs = map(self._pair, near[:_MOST_ITEMS])
        return Counts(
            len(self.rejected),
            kept=int(self.kept.sum()),
            dropped=int(self.dropped.sum()),
            unchecked=int((self.compared_by == NOTHING).sum()),
            rejected=int(self.rejected.sum()),
            problems=self.sketches.problems,
            reference=int((of_reference != UNREADABLE).sum()),
            known=int((self.dropped & (matches < first)).sum()),
            unreadable=int((of_reference == UNREADABLE).sum()),
            near=self._near(near),
            advice=irrelevant_fields([*map(self._changed, pairs)], self._values),
        )

    def _pair(self, number: np.intp) -> tuple[int, int]:
        """An item and the similar one."""
        return int(number), int(self.decisions.matches[number])

    def _near(self, numbers: NDArray[np.intp]) -> list[Near]:
        """Why similar items were kept, the most frequent reasons first."""
        codes, firsts, counts = np.unique(
            self.decisions.differs[numbers], return_index=True, return_counts=True
        )
        often = np.argsort(-counts, kind="stable")[:_MOST_REASONS].tolist()
        pairs = [self._pair(numbers[firsts[one]]) for one in often]
        values = self._values({number for pair in pairs for number in pair})
        found = []
        for one, (new, old) in zip(often, pairs, strict=True):
            reason = self.decisions.reasons[codes[one]]
            both = self._value(reason, new, values), self._value(reason, old, values)
            found.append(Near(reason, int(counts[one]), (self._shown(new), self._shown(old)), both))
        return found

    def _value(
        self, reason: str, number: int, values: Mapping[int, Mapping[str, Any]]
    ) -> str | None:
        """What an item has of what keeps it apart."""
        if reason.startswith("(") and reason != ADDRESS:
            return self.sketches.text(number)
        key = name_of(reason).key
        return next((short(v) for n, v in values[number].items() if name_of(n).key == key), None)

    def _changed(self, pair: tuple[int, int]) -> Pair:
        """A document and the similar one, with the facts that differ."""
        rows = [self.sketches.row(number, number) for number in pair]
        changed = differing_facts(*(Facts.unpack(row.facts or b"") for row in rows))
        one, other = map(self.sketches.text, pair)
        # The later one may have been decided on first.
        later, earlier = max(pair), min(pair)
        urls = self.sketches.url(later), self.sketches.url(earlier)
        return Pair(*urls, changed, one == other, (later, earlier))

    def _values(self, numbers: Iterable[int]) -> dict[int, Mapping[str, Any]]:
        """The short values of some items: the files are read up to the last one of these."""
        asked = sorted(numbers)
        wanted = map(set(asked).__contains__, count())
        found = islice(chosen(self.sketcher.sources, wanted), len(asked))
        return {
            number: self.sketcher.values(source, record)
            for number, (source, record) in zip(asked, found, strict=True)
        }

    def _shown(self, number: int) -> int:
        return number - self.first + 1 if number >= self.first else -1 - number
