"""What another threshold would have decided, from the fingerprints that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.simhash.measure import FEW_FEATURES, limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.history.documents import Documents

__all__ = ["Level", "Pair", "Scores", "levels", "recommend", "replay", "scores", "steps"]

_SIMILARITIES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)

# Documents that are compared with all earlier ones at a time; bounds the memory.
_CHUNK = 128


class Level(NamedTuple):
    """A threshold to try.

    Attributes:
        name: what to set, such as "0.85".
        limit: the largest distance of a near-duplicate.
    """

    name: str
    limit: int


class Pair(NamedTuple):
    """Two documents that a step from one level to the next decides differently.

    Attributes:
        document: the number of the one that is dropped at the looser level.
        match: the number of the one that it is then a near-duplicate of.
        distance: of their fingerprints.
    """

    document: int
    match: int
    distance: int


def levels(similarity: float, distance: int | None, bits: int) -> tuple[list[Level], int]:
    """The thresholds to try, the loosest first, and which of them is the present one.

    Similarities where a similarity is what is set, distances otherwise.
    """
    if distance is None:
        tried = sorted({*_SIMILARITIES, similarity})
        return [Level(f"{one:g}", limits(one)[1]) for one in tried], tried.index(similarity)
    around = range(min(distance + 4, bits // 2), max(distance - 4, 0) - 1, -1)
    return [Level(str(one), one) for one in around], around.index(distance)


def replay(
    documents: Documents,
    tried: Sequence[Level],
    advance: Callable[[int], None] = lambda count: None,
) -> NDArray[np.bool_]:
    """Decide on the documents again, in their order, at each level.

    Each is compared with all that were kept before it, so this finds what keys might have missed.
    A near version of what its own owner has is kept, as a crawl does by default.

    Args:
        documents: what was met.
        tried: the levels.
        advance: called with the number of documents that were done.

    Returns:
        Whether each is kept: an array of shape (levels, documents).
    """
    count = len(documents)
    kept = np.zeros((len(tried), count), bool)
    several = documents.sizes >= FEW_FEATURES
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        chunk = np.arange(start, stop)
        distances = _distances(documents, chunk, np.arange(stop))
        # Of few features only an equal fingerprint counts.
        distances[(distances > 0) & ~(several[chunk, None] & several[None, :stop])] = 255
        is_own = documents.owners[chunk, None] == documents.owners[None, :stop]
        for level, (_, limit) in enumerate(tried):
            near = distances <= limit
            earlier = near[:, :start] & kept[level, :start]
            has_own = (earlier & is_own[:, :start]).any(axis=1)
            has_other = (earlier & ~is_own[:, :start]).any(axis=1)
            for row in range(stop - start):
                among_us = near[row, start : start + row] & kept[level, start : start + row]
                own = is_own[row, start : start + row]
                kept[level, start + row] = (
                    has_own[row]
                    or (among_us & own).any()
                    or not (has_other[row] or (among_us & ~own).any())
                )
        advance(stop - start)
    return kept


def steps(
    documents: Documents, kept: NDArray[np.bool_], counted: NDArray[np.bool_], examples: int
) -> list[list[Pair]]:
    """Examples for each step from a level to the next stricter one: dropped there, kept here.

    Args:
        documents: what was met.
        kept: see :func:`replay`.
        counted: which documents may be examples: an array of shape (documents,).
        examples: how many for each step.
    """
    found: list[list[Pair]] = []
    for looser, stricter in pairwise(kept):
        pairs = []
        for document in np.flatnonzero(~looser & stricter & counted)[:examples].tolist():
            others = np.flatnonzero(looser[:document])
            others = others[documents.owners[others] != documents.owners[document]]
            distances = _distances(documents, np.array([document]), others)[0]
            nearest = int(distances.argmin())
            pairs.append(Pair(document, int(others[nearest]), int(distances[nearest])))
        found.append(pairs)
    return found


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


@dataclass(frozen=True, slots=True)
class Scores:
    """How a level judges labelled pairs.

    Attributes:
        found: near-duplicates that it calls so.
        missed: near-duplicates that it does not.
        wrong: others that it calls near-duplicates.
        right: others that it does not.
    """

    found: int
    missed: int
    wrong: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what it calls near-duplicates that are."""
        return self.found / max(1, self.found + self.wrong)

    @property
    def recall(self) -> float:
        """The share of the near-duplicates that it finds."""
        return self.found / max(1, self.found + self.missed)

    @property
    def f1(self) -> float:
        """The harmonic mean of the two, from 0 to 1."""
        return 2 * self.found / max(1, 2 * self.found + self.missed + self.wrong)


def scores(
    distances: NDArray[np.int64], labels: NDArray[np.bool_], tried: Sequence[Level]
) -> list[Scores]:
    """Judge labelled pairs at each level; those without a fingerprint have the distance -1."""
    judged = []
    for _, limit in tried:
        called = (distances >= 0) & (distances <= limit)
        judged.append(
            Scores(
                int((called & labels).sum()),
                int((~called & labels).sum()),
                int((called & ~labels).sum()),
                int((~called & ~labels).sum()),
            )
        )
    return judged


def _distances(
    documents: Documents, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.uint8]:
    """The distances of documents to others: an array of shape (rows, columns)."""
    ours, others = documents.fingerprints[rows], documents.fingerprints[columns]
    width = ours.shape[1]
    total = np.zeros((len(rows), len(columns)), np.uint8)
    # Eight bytes at a time where there are as many.
    size = 8 if width % 8 == 0 else 1
    kind = np.uint64 if size == 8 else np.uint8
    ours, others = ours.view(kind), others.view(kind)
    for part in range(width // size):
        total += np.bitwise_count(ours[:, part, None] ^ others[None, :, part])
    return total
