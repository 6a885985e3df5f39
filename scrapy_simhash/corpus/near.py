"""Why similar items of a corpus were kept, and which fields to ignore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.greedy import Decisions
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.corpus.workers import ADDRESS
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.irrelevant import (
    FieldAdvice,
    Pair,
    ReadValues,
    differing_facts,
    irrelevant_fields,
)
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.values import short

#: The maximum number of reasons, the most frequent first.
MOST_REASONS = 10
# The maximum number of items that are examined for advice.
_MOST_ITEMS = 10_000


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


@dataclass(frozen=True)
class Explainer:
    """Explains the decisions on a corpus.

    Attributes:
        sketches, reference: as `decide_corpus` takes them.
        decisions: on all documents.
        read: returns the values of items.
    """

    sketches: Sketches
    reference: int
    decisions: Decisions
    read: ReadValues

    def near(self) -> list[Near]:
        """Why similar items were kept, the most frequent reasons first."""
        codes = self.decisions.differs[numbers := self._numbers()]
        reasons, firsts, counts = np.unique(codes, return_index=True, return_counts=True)
        often = np.argsort(-counts, kind="stable")[:MOST_REASONS]
        found = [
            (
                self.decisions.reasons[reasons[one]],
                int(counts[one]),
                self._pair(numbers[firsts[one]]),
            )
            for one in often.tolist()
        ]
        values = self.read({number for _, _, pair in found for number in pair})
        return [
            Near(reason, count, pair, self._values(reason, pair, values))
            for reason, count, pair in found
        ]

    def advice(self) -> list[FieldAdvice]:
        """Which fields to ignore."""
        return irrelevant_fields(list(map(self._changed, self._numbers()[:_MOST_ITEMS])), self.read)

    def _numbers(self) -> NDArray[np.intp]:
        """The numbers of the documents that were kept although a similar one is kept."""
        are_near = self.decisions.kept & (self.decisions.differs > 0)
        are_near[: self.reference] = False
        return np.flatnonzero(are_near)

    def _pair(self, number: np.intp) -> tuple[int, int]:
        return int(number), int(self.decisions.matches[number])

    def _changed(self, number: np.intp) -> Pair:
        """A document and the similar one, with the facts that differ."""
        pair = self._pair(number)
        rows = [self.sketches.row(one, one) for one in pair]
        changed = differing_facts(*(Facts.unpack(row.facts or b"") for row in rows))
        one, other = map(self.sketches.text, pair)
        # The later one may have been decided on first.
        later, earlier = max(pair), min(pair)
        urls = self.sketches.url(later), self.sketches.url(earlier)
        return Pair(*urls, changed, one == other, (later, earlier))

    def _values(
        self, reason: str, pair: tuple[int, int], values: Mapping[int, Mapping[str, Any]]
    ) -> tuple[str | None, str | None]:
        if reason.startswith("(") and reason != ADDRESS:
            new, old = map(self.sketches.text, pair)
            return new, old
        key = name_of(reason).key
        one, other = (
            next((short(v) for n, v in values[number].items() if name_of(n).key == key), None)
            for number in pair
        )
        return one, other
