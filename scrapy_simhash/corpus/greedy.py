"""Decide on a corpus: one document after another, with the rule of an index.

Each document is compared with the earlier ones that were kept and share a key with it, and
`index.decide.decide` decides what it is. The only difference from an index that has all texts is
how those documents are found: by sorting in memory, not in a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.candidates import find_candidates
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.batch import fingerprint_key
from scrapy_simhash.index.decide import decide
from scrapy_simhash.index.rule import Met, apart, met_with
from scrapy_simhash.index.similarity_cache import changes_of
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.measure import common, hamming, similarity_at

# Decisions between two reports of progress; rows to cache, and shingles: 16 MiB.
_STEP, _ROWS, _HELD = 4096, 1 << 14, 2 << 20

_ALONE = Decision("unique", None, claims=True)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Entry i of each array is about document i.

    Attributes:
        kept: bool.
        matches: int64: the document of which this one is a near-duplicate or, if it is kept, whose
            text is similar although they differ; -1 for none.
        similarities: float32: of the two texts; NaN without a match.
        differs: uint16: index in `reasons` of what makes them differ; 0 for nothing.
        reasons: names of facts, after "".
    """

    kept: NDArray[np.bool_]
    matches: NDArray[np.int64]
    similarities: NDArray[np.float32]
    differs: NDArray[np.uint16]
    reasons: list[str]


def decide_corpus(
    sketches: Sketches,
    plan: Plan,
    order: NDArray[np.uint32] | None = None,
    advance: Callable[[int], None] = lambda place: None,
    reference: int = 0,
) -> Decisions:
    """Decide on a corpus.

    Args:
        sketches: of the documents.
        plan: how they are compared.
        order: their numbers in the order of the decisions; None for ascending.
        advance: called now and then with the number of documents done.
        reference: how many of the first documents are kept, whatever they are.
    """
    count = len(sketches)
    if order is None:
        order = np.arange(count, dtype=np.uint32)
    greedy = _Greedy(sketches, plan, order, reference)
    decisions = Decisions(
        np.ones(count, np.bool_),
        np.full(count, -1, np.int64),
        np.full(count, np.nan, np.float32),
        np.zeros(count, np.uint16),
        [""],
    )
    reasons = {"": 0}
    for turn, place in enumerate(greedy.places.tolist()):
        if turn % _STEP == 0:
            advance(place)
        decision = greedy.decide(turn)
        if decision.match is None:
            continue
        number = order[place]
        decisions.kept[number] = decision.kind != "duplicate"
        decisions.matches[number] = order[decision.match.claim.id - 1]
        decisions.similarities[number] = _similarity(decision.match, plan.scheme.bits)
        if decision.differs:
            decisions.differs[number] = reasons.setdefault(decision.differs, len(reasons))
    decisions.reasons[:] = reasons
    advance(count)
    return decisions


def _similarity(met: Met, bits: int) -> float:
    return similarity_at(met.distance, bits) if met.similarity is None else met.similarity


class _Greedy:
    """Decides on one document after another, by their places in the order.

    Attributes:
        places: of documents that may be near-duplicates, ascending. All others have no candidates.
    """

    def __init__(
        self, sketches: Sketches, plan: Plan, order: NDArray[np.uint32], reference: int
    ) -> None:
        self._sketches = sketches
        self._plan = plan
        self._order = order
        self._reference = reference
        later, self._earlier, self._shared = find_candidates(sketches, order, plan, reference)
        self._fingerprints = sketches.fingerprints
        self._is_listed = _listed_together(sketches)[order]
        self._shares: NDArray[np.bool_] = np.any(self._shared, axis=1)
        is_open = self._shares | self._is_listed
        is_open[later] = True
        self.places = np.flatnonzero(is_open)
        self._starts = np.searchsorted(later, self.places)
        self._stops = np.searchsorted(later, self.places, "right")
        self._kept = np.ones(len(order), np.bool_)
        self._by_key: dict[tuple[int, int], list[int]] = {}
        self._latest: dict[int, tuple[int]] = {}
        self._whole_keys = sketches.keys[:, plan.keys.slots]
        self._held: dict[int, NDArray[np.uint64]] = {}
        self._most = _HELD
        self._row = lru_cache(_ROWS)(lambda place: sketches.row(int(order[place]), place))

    def decide(self, turn: int) -> Decision:
        """Decide on the document at `places[turn]`."""
        place = int(self.places[turn])
        keys = self._keys(place)
        if place < self._reference:
            self._keep(place, keys)
            return _ALONE
        paired = self._earlier[self._starts[turn] : self._stops[turn]]
        candidates = set(paired[self._kept[paired]].tolist())
        candidates.update(self._near(place, keys), self._equal(keys))
        if self._is_listed[place]:
            # Two versions of a listed thing are compared even if they share no key.
            candidates.update(self._latest.get(self._row(place).identity, ()))
        decision = _ALONE
        if candidates and (similar := [*self._similar(place, sorted(candidates))]):
            mine = self._row(place)
            facts = self._sketches.facts(mine)
            met = [self._met(place, mine, *one) for one in similar]
            (decision,) = decide(
                [mine], [facts], [met], _none_in_flight, rule=self._plan.rule, made={}
            )
        if decision.claims:
            self._keep(place, keys)
        else:
            self._kept[place] = False
        return decision

    def _keys(self, place: int) -> list[tuple[int, int]]:
        """The slots and keys of a document that many share; see `index.batch.keys_of`.

        If all its bands are hot keys, its fingerprint is one more.
        """
        if not self._shares[place]:
            return []
        slots, number = self._plan.keys.slots, int(self._order[place])
        own = self._sketches.keys[number]
        keys = [(slot, int(own[slot])) for slot in np.flatnonzero(self._shared[place]).tolist()]
        if sum(slot < slots and self._is_hot((slot, key)) for slot, key in keys) == slots:
            keys.append((slots, fingerprint_key(self._fingerprints[number].tobytes())))
        return keys

    def _is_hot(self, key: tuple[int, int]) -> bool:
        can_be_hot = self._plan.keys.needs_shingles or key[0] == self._plan.keys.slots
        return can_be_hot and len(self._by_key.get(key, ())) >= HOT_KEY

    def _near(self, place: int, keys: Iterable[tuple[int, int]]) -> list[int]:
        """Kept documents with a key of its text and a close enough fingerprint."""
        plan = self._plan
        under = [
            self._by_key.get((slot, probe), ())
            for slot, key in keys
            if slot < plan.keys.slots
            for probe in (plan.flips[slot] ^ np.int32(key)).tolist()
        ]
        if not (found := np.array([*{*chain(*under)}], np.intp)).size:
            return []
        mine, others = self._fingerprints[self._order[place]], self._order[found]
        distances = hamming(mine, self._fingerprints[others])
        near: list[int] = found[distances <= plan.rule.limit].tolist()
        return near

    def _equal(self, keys: Iterable[tuple[int, int]]) -> Iterable[int]:
        """Kept documents that may equal it as a whole."""
        for key in keys:
            if key[0] == self._plan.keys.slots and not self._is_hot(key):
                yield from self._by_key.get(key, ())

    def _similar(self, place: int, candidates: list[int]) -> Iterator[tuple[int, float | None]]:
        """Those whose text is similar enough, or that may be equal, each with its similarity.

        The similarity of a text without shingles is unknown.
        """
        mine = self._sketches.shingles(int(self._order[place]))
        others = list(map(self._shingles, candidates))
        least = max(0.0, (self._plan.rule.similarity or 0.0) - 1e-9)
        numbers = self._order[candidates]
        may_be_equal = self._whole_keys[numbers] == self._whole_keys[self._order[place]]
        found = zip(candidates, others, common(mine, others, least), may_be_equal, strict=True)
        for other, theirs, shared, may_equal in found:
            known = mine.size and theirs.size
            if may_equal or shared >= 0 or not known:
                yield other, shared / (mine.size + theirs.size - shared) if known else None

    def _shingles(self, place: int) -> NDArray[np.uint64]:
        """The shingles of a document: many are compared with the same few."""
        if (found := self._held.get(place)) is None:
            if self._most <= 0:
                self._held.clear()
                self._most = _HELD
            found = self._held[place] = self._sketches.shingles(int(self._order[place]))
            self._most -= found.size
        return found

    def _met(self, place: int, mine: Row, other: int, similarity: float | None) -> Met:
        def changes() -> Changes | None:
            new, old = (self._sketches.text(int(self._order[one])) for one in (place, other))
            return None if new is None or old is None else changes_of(new, old)

        claim = self._row(other)
        return met_with(mine, claim, apart(mine, claim), lambda: (similarity, False), changes)

    def _keep(self, place: int, keys: Iterable[tuple[int, int]]) -> None:
        for key in keys:
            if not self._is_hot(key):
                self._by_key.setdefault(key, []).append(place)
        if self._is_listed[place]:
            self._latest[self._row(place).identity] = (place,)


def _none_in_flight(_number: int, _standing: Mapping[int, Row]) -> Sequence[Met]:
    """No in-flight duplicates: documents come one at a time."""
    return ()


def _listed_together(sketches: Sketches) -> NDArray[np.bool_]:
    """Which documents are listed things whose identity occurs more than once."""
    listed = np.flatnonzero(sketches.rows["listing"] != 0)
    identities = sketches.rows["identity"][listed]
    _, inverse, counts = np.unique(identities, return_inverse=True, return_counts=True)
    found = np.zeros(len(sketches), np.bool_)
    found[listed[counts[inverse] > 1]] = True
    return found
