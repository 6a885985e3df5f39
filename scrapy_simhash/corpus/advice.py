"""What keeps similar items of a corpus apart, and what would be dropped if that did not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.greedy import Decisions, decide_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.corpus.workers import ADDRESS
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.features.changes import Changes, WordEdit
from scrapy_simhash.item.facts import NUMBERS_OF_TEXT
from scrapy_simhash.item.irrelevant import (
    LEAST,
    Example,
    are_irrelevant,
    are_moments,
    has_meaning,
    is_one_page,
)
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.values import short

#: Reasons that are named, the most frequent ones.
MOST_REASONS = 10
# Fields that are ignored together, at most; pairs that show whether one tells nothing.
_FIELDS = 3
_PAIRS = 50
# The share of pairs in which a counter must grow along the file.
_GROWING = 0.9

#: Returns the short values of items, by the numbers of these.
ReadValues = Callable[[Iterable[int]], Mapping[int, Mapping[str, Any]]]


class Near(NamedTuple):
    """Items that were kept although others are similar, for one reason.

    Attributes:
        differs: the field that differs, or what else does; see `Verdict.differs`.
        number: how many there are.
        items: the numbers of the first one and of the item that it is similar to.
        values: the values of both, or the words of their texts; None where one has none.
    """

    differs: str
    number: int
    items: tuple[int, int]
    values: tuple[str | None, str | None]


class FieldAdvice(NamedTuple):
    """Fields that tell nothing of an item.

    Attributes:
        ignore: their names.
        more: how many more items are dropped if they are ignored.
        is_exact: whether that is so; not if items without a text are compared as a whole.
    """

    ignore: tuple[str, ...]
    more: int
    is_exact: bool


@dataclass(frozen=True)
class Explainer:
    """Explains the decisions on a corpus.

    Attributes:
        sketches, plan, order, reference: as `decide_corpus` takes them.
        decisions: on all documents.
        read: returns the values of items.
        advance: called now and then with the number of documents that were decided on again.
    """

    sketches: Sketches
    plan: Plan
    order: NDArray[np.uint32]
    reference: int
    decisions: Decisions
    read: ReadValues
    advance: Callable[[int], None]

    def near(self) -> list[Near]:
        """What keeps similar items apart, the most frequent reasons first."""
        found = [
            (reason, count, *self._pairs(self.decisions, reason, 1)[0])
            for reason, count in self._reasons(self.decisions).most_common(MOST_REASONS)
        ]
        values = self.read({number for _, _, *both in found for number in both})
        return [
            Near(reason, count, (one, other), self._values(reason, (one, other), values))
            for reason, count, one, other in found
        ]

    def advice(self) -> list[FieldAdvice]:
        """Which fields to ignore, each line with those of the line before."""
        given, ignored, decisions = list[FieldAdvice](), tuple[str, ...](), self.decisions
        kept, more = int(decisions.kept.sum()), 0
        is_exact = not (self.sketches.rows["compared_by"] == ComparedBy.EXACT).any()
        while len(ignored) < _FIELDS and (name := self._irrelevant(decisions, ignored)):
            ignored = *ignored, name
            decisions = decide_corpus(
                self.sketches,
                self.plan,
                self.order,
                advance=self.advance,
                reference=self.reference,
                ignore=ignored,
            )
            more, before = kept - int(decisions.kept.sum()), more
            if more > before:
                given.append(FieldAdvice(ignored, more, is_exact))
        return given

    def _irrelevant(self, decisions: Decisions, ignored: Sequence[str]) -> str | None:
        """The field that keeps most items apart and tells nothing of them, if there is one."""
        reasons = [
            reason
            for reason, _ in self._reasons(decisions).most_common()
            if not has_meaning(reason) and reason not in ignored
        ][:_FIELDS]
        pairs = {reason: self._pairs(decisions, reason, _PAIRS) for reason in reasons}
        values = self.read({number for of in pairs.values() for both in of for number in both})
        for reason in reasons:
            examples = {
                pair[0]: example
                for pair in pairs[reason]
                if (example := self._example(reason, pair, values))
            }
            equal = [one for number, one in examples.items() if decisions.similarities[number] == 1]
            if are_moments([*examples.values()]) or _tell_nothing(reason, equal):
                return reason
        return None

    def _example(
        self, field: str, pair: tuple[int, int], values: Mapping[int, Mapping[str, Any]]
    ) -> Example | None:
        """Two items with their values, the later one first; None if one has no value."""
        one, other = max(pair), min(pair)
        mine, theirs = self._values(field, (one, other), values)
        if mine is None or theirs is None:
            return None
        return Example(self.sketches.url(one), self.sketches.url(other), {field: (mine, theirs)})

    def _reasons(self, decisions: Decisions) -> Counter[str]:
        counts = np.bincount(decisions.differs[self._are_near(decisions)])
        return Counter({decisions.reasons[code]: int(counts[code]) for code in counts.nonzero()[0]})

    def _are_near(self, decisions: Decisions) -> NDArray[np.bool_]:
        """Which documents were kept although others are similar."""
        are_near: NDArray[np.bool_] = decisions.kept & (decisions.differs > 0)
        are_near[: self.reference] = False
        return are_near

    def _pairs(self, decisions: Decisions, reason: str, most: int) -> list[tuple[int, int]]:
        """The first documents that a reason keeps apart from others, with these."""
        code = decisions.reasons.index(reason)
        are_asked = self._are_near(decisions) & (decisions.differs == code)
        numbers = np.flatnonzero(are_asked)[:most]
        return list(zip(numbers.tolist(), decisions.matches[numbers].tolist(), strict=True))

    def _values(
        self,
        reason: str,
        pair: tuple[int, int],
        values: Mapping[int, Mapping[str, Any]],
    ) -> tuple[str | None, str | None]:
        if reason.startswith("(") and reason != ADDRESS:
            one, other = map(self.sketches.text, pair)
            return (None, None) if one is None or other is None else _words(reason, one, other)
        key = name_of(reason).key
        one, other = (
            next((short(v) for n, v in values[number].items() if name_of(n).key == key), None)
            for number in pair
        )
        return one, other


def _tell_nothing(field: str, examples: Sequence[Example]) -> bool:
    """Whether a counter or token tells nothing of pairs of items with equal texts."""
    # Another address may be that of a variant, in whose field there is nothing else to be seen.
    if len(examples) < LEAST or not all(
        one.url == one.other or is_one_page(one.url, one.other) for one in examples
    ):
        return False
    growing = sum(_grows(*one.values[field]) for one in examples)
    return growing >= _GROWING * len(examples) and are_irrelevant([field], examples)


def _grows(later: str, earlier: str) -> bool:
    """Whether a counter counts what is read; True of what is no counter."""
    are_counters = later.isdecimal() and earlier.isdecimal()
    return not are_counters or int(later) > int(earlier)


def _words(reason: str, new: str, old: str) -> tuple[str, str]:
    """The words of two texts where they differ most."""

    def weight(change: WordEdit) -> tuple[bool, int]:
        words = [*change.new, *change.old]
        has_digits = any(map(str.isdigit, "".join(words)))
        return reason == NUMBERS_OF_TEXT and has_digits, len(words)

    most = max(Changes.of(new, old).all, key=weight, default=None)
    if most is None:
        return "", ""
    one, other = (" ".join([most.before, *words, most.after]).strip() for words in most[:2])
    return one, other
