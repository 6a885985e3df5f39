"""What another threshold would have decided, from what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.db.schema import EXACT
from scrapy_simhash.index.decide import Met, Rule, decide, stands_for
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.simhash.measure import SIMILARITIES, candidate_limit, hamming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.history.documents import Documents
    from scrapy_simhash.index.decide import Decision
    from scrapy_simhash.index.verdict import FactsMode, Row, SameUrl

    #: The similarities of pairs of documents, and whether they are estimates.
    Measure = Callable[
        [Iterable[tuple[int, int]]], Mapping[tuple[int, int], tuple[float | None, bool]]
    ]

__all__ = ["Level", "Replayed", "levels", "recommend", "replay"]

# Documents that are decided on at a time, in batches as the index does; bounds the memory.
_BATCH = 32

# Claims that a document is held against at most, those of its owner and with its very facts first.
_MOST = 32

#: Names that mean something to the rule; of stored facts no name is known.
_PAGE_FACTS = {
    name_of(f"page:{name}").key: f"page:{name}"
    for name in (
        *("title", "heading", "headline", "language", "datePublished", "startDate", "time"),
        *("price", "priceCurrency", "sku", "gtin", "mpn", "isbn", "productID"),
    )
}


class Level(NamedTuple):
    """A threshold to try.

    Attributes:
        name: what to set, such as "0.85".
        limit: the largest distance of a near-duplicate.
        similarity: the least similarity of one; None where the distance alone decides.
    """

    name: str
    limit: int
    similarity: float | None = None


def levels(similarity: float, distance: int | None, bits: int) -> tuple[list[Level], int]:
    """The thresholds to try, the loosest first, and which of them is the present one.

    Similarities where a similarity is what is set, distances otherwise.
    """
    if distance is None:
        tried = sorted({*SIMILARITIES, similarity})
        return [Level(f"{s:g}", candidate_limit(s), s) for s in tried], tried.index(similarity)
    around = range(min(distance + 4, bits // 2), max(distance - 4, 0) - 1, -1)
    return [Level(str(one), one) for one in around], around.index(distance)


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """What was decided: row i of each is of level i, column j of document j.

    Attributes:
        kept: shape (levels, documents), bool.
        matches: shape (levels, documents), int64: the number of the document that it is a
            near-duplicate of; -1 if it is none.
        similarities: likewise, float64: how similar the two are; NaN where that is not known.
        estimated: likewise, bool: whether that is an estimate.
    """

    kept: NDArray[np.bool_]
    matches: NDArray[np.int64]
    similarities: NDArray[np.float64]
    estimated: NDArray[np.bool_]


def replay(
    documents: Documents,
    tried: Sequence[Level],
    measure: Measure,
    *,
    facts: FactsMode = "auto",
    same_url: SameUrl = "pass",
    advance: Callable[[int], None] = lambda count: None,
) -> Replayed:
    """Decide on the documents again, in their order, at each level.

    By the rule of the index, batch by batch as there; but each is compared with all that were kept
    before it, so this finds what keys might have missed.

    Args:
        documents: what was met.
        tried: the levels.
        measure: gives the similarities of pairs, each a document and an earlier one.
        facts: see :class:`Rule`.
        same_url: likewise.
        advance: called with the number of documents that were done.
    """
    worlds = [_World(len(documents), level, facts, same_url) for level in tried]
    arrays = _Arrays.of(documents.rows)
    for start in range(0, len(documents), _BATCH):
        stop = min(start + _BATCH, len(documents))
        claimed = np.any([world.claimed[:start] for world in worlds], axis=0)
        near = _near(arrays, start, stop, np.flatnonzero(claimed), tried)
        chosen = [world.choose(near, start) for world in worlds]
        similarities: Mapping[tuple[int, int], tuple[float | None, bool]] = {}
        if any(level.similarity is not None for level in tried):
            similarities = measure({pair[:2] for pairs in chosen for pair in pairs})
        said = [_facts(row) for row in documents.rows[start:stop]]
        for world, pairs in zip(worlds, chosen, strict=True):
            world.decide(documents.rows, start, said, pairs, similarities)
        advance(stop - start)
    return Replayed(
        *(
            np.array([getattr(world, name) for world in worlds]).reshape(len(tried), -1)
            for name in ("kept", "matches", "similarities", "estimated")
        )
    )


def _facts(row: Row) -> Facts | None:
    """What a document says beside its text, with the names that matter."""
    if row.facts is None or row.basis == EXACT:
        return None
    return Facts(Facts.unpack(row.facts).records, _PAGE_FACTS)


@dataclass(frozen=True, slots=True, eq=False)
class _Arrays:
    """What tells which pairs are worth a look."""

    fingerprints: NDArray[np.uint8]
    owners: NDArray[np.int64]
    facts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Arrays:
        packed = np.frombuffer(b"".join(row.fingerprint for row in rows), np.uint8)
        return cls(
            packed.reshape(len(rows), -1) if rows else packed.reshape(0, 1),
            np.array([row.owner for row in rows], np.int64),
            np.array([hash(row.facts) for row in rows], np.int64),
        )


class _Near(NamedTuple):
    """Pairs of a document of the batch and an earlier one, the most telling first for each."""

    documents: NDArray[np.int64]
    others: NDArray[np.int64]
    distances: NDArray[np.int64]


def _near(
    arrays: _Arrays, start: int, stop: int, before: NDArray[np.intp], tried: Sequence[Level]
) -> _Near:
    """The pairs that the loosest level would look at."""
    candidates = np.append(before, np.arange(start, stop))
    prints = arrays.fingerprints
    apart = hamming(prints[start:stop, None], prints[None, candidates])
    rows, columns = np.nonzero(apart <= max(level.limit for level in tried))
    earlier = candidates[columns] < rows + start
    rows, columns = rows[earlier], columns[earlier]
    ours, others, distances = rows + start, candidates[columns], apart[rows, columns].astype(int)
    stranger = np.where(arrays.facts[ours] == arrays.facts[others], 1, 2)
    stranger[arrays.owners[ours] == arrays.owners[others]] = 0
    # No distance takes more than eight bits.
    order = np.argsort((rows * 3 + stranger) << 8 | distances, kind="stable")
    return _Near(ours[order], others[order], distances[order])


class _World:
    """What one level has decided so far."""

    def __init__(self, count: int, level: Level, facts: FactsMode, same_url: SameUrl) -> None:
        self.rule = Rule(level.limit, level.similarity, facts, same_url)
        self.kept = np.zeros(count, bool)
        self.claimed = np.zeros(count, bool)
        self.matches = np.full(count, -1)
        self.similarities = np.full(count, np.nan)
        self.estimated = np.zeros(count, bool)
        # Claims that stand for a later document by now.
        self._taken: dict[int, Row] = {}
        self._newest: dict[int, int] = {}

    def choose(self, near: _Near, start: int) -> list[tuple[int, int, int]]:
        """The pairs to decide by: document, earlier one, distance."""
        is_old = near.others < start
        wanted = (near.distances <= self.rule.limit) & (self.claimed[near.others] | ~is_old)
        chosen = np.flatnonzero(wanted & is_old)
        ours = near.documents[chosen]
        # How many of the same document come before each.
        place = np.arange(len(ours)) - np.searchsorted(ours, ours)
        chosen = np.append(chosen[place < _MOST], np.flatnonzero(wanted & ~is_old))
        return list(zip(*(column[chosen].tolist() for column in near), strict=True))

    def decide(
        self,
        rows: Sequence[Row],
        start: int,
        said: Sequence[Facts | None],
        pairs: Iterable[tuple[int, int, int]],
        similarities: Mapping[tuple[int, int], tuple[float | None, bool]],
    ) -> None:
        """Decide on as many documents as are said something of."""
        batch = rows[start : start + len(said)]
        met: list[list[Met]] = [[] for _ in batch]
        twins: list[list[tuple[int, Met]]] = [[] for _ in batch]
        for number, other, distance in pairs:
            known = similarities.get((number, other), (None, False))
            one = Met(distance, *known, self._taken.get(other, rows[other]))
            if other < start:
                met[number - start].append(one)
            else:
                twins[number - start].append((other - start, one))
        decisions = decide(
            batch,
            said,
            met,
            lambda number, standing: [one for other, one in twins[number] if other in standing],
            rule=self.rule,
            newest=self._newest,
            made={},
        )
        for number, (row, decision) in enumerate(zip(batch, decisions, strict=True), start):
            self._note(number, row, decision)

    def _note(self, number: int, row: Row, decision: Decision) -> None:
        self.claimed[number] = decision.claims
        is_unchanged = decision.kind == "same" and not decision.claims
        self.kept[number] = decision.kind != "duplicate" and not (
            is_unchanged and self.rule.same_url == "drop"
        )
        if decision.claims:
            self._newest[row.owner] = row.id
        if decision.match is None:
            return
        claim = decision.match.claim
        if decision.kind == "same":
            self._taken[claim.id - 1] = stands_for(claim, row)
        elif decision.kind == "duplicate":
            self.matches[number] = claim.id - 1
            if decision.match.similarity is not None:
                self.similarities[number] = decision.match.similarity
                self.estimated[number] = decision.match.estimated


def recommend(kept: NDArray[np.bool_], present: int) -> int:
    """The level around which the fewest decisions hang; the present one unless another is better.

    A good threshold lies where there is nothing to decide: between the pages that are the same and
    those that are not.
    """
    differing = (kept[1:] != kept[:-1]).sum(axis=1)
    margins = [
        int(differing[max(0, level - 1) : level + 1].max()) for level in range(kept.shape[0])
    ]
    # At either end there is a step on one side only.
    inner = range(1, kept.shape[0] - 1) or range(kept.shape[0])
    best = min(inner, key=lambda level: (margins[level], abs(level - present)))
    return present if margins[present] <= margins[best] else best
