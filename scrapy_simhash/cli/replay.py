"""What another threshold would have decided, from the fingerprints that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.simhash.measure import SIMILARITIES, hamming, limits, near

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.history.documents import Documents

__all__ = [
    "Judged",
    "Level",
    "Pair",
    "Scores",
    "levels",
    "recommend",
    "replay",
    "scores",
    "steps",
]

# Documents that are compared with all earlier ones at a time; bounds the memory.
_CHUNK = 64


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
        tried = sorted({*SIMILARITIES, similarity})
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
    farthest = max(limit for _, limit in tried)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        # What no level has kept is nobody's match.
        kept_before = np.flatnonzero(kept[:, :start].any(axis=0))
        candidates = np.append(kept_before, np.arange(start, stop))
        prints = documents.fingerprints
        distances = hamming(prints[start:stop, None], prints[None, candidates])
        # Pairs of a document and an earlier one, in the order of the former. Few are near enough.
        rows, columns = np.nonzero(distances <= farthest)
        earlier = candidates[columns] < rows + start
        rows, columns = rows[earlier], columns[earlier]
        ours, others, apart = rows + start, candidates[columns], distances[rows, columns]
        pairs_of = np.searchsorted(ours, np.arange(start, stop + 1))
        is_own = documents.owners[ours] == documents.owners[others]
        for level, (_, limit) in enumerate(tried):
            is_near = near(apart, documents.sizes[ours], documents.sizes[others], limit)
            for document in range(start, stop):
                pairs = slice(*pairs_of[document - start : document - start + 2])
                met = is_near[pairs] & kept[level, others[pairs]]
                kept[level, document] = not met.any() or (met & is_own[pairs]).any()
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
            prints = documents.fingerprints
            distances = hamming(prints[document, None], prints[others])
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


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Labelled pairs: element i of each array belongs to pair i.

    Attributes:
        distances: of their fingerprints; -1 where one has none.
        sizes: how many features the first text has.
        other_sizes: the same of the second one.
        compared: whether a crawl compares such texts at all.
        labels: whether they are near-duplicates to whoever labelled them.
    """

    distances: NDArray[np.int64]
    sizes: NDArray[np.int64]
    other_sizes: NDArray[np.int64]
    compared: NDArray[np.bool_]
    labels: NDArray[np.bool_]

    def called(self, limit: int) -> NDArray[np.bool_]:
        """Whether a crawl calls them near-duplicates."""
        return self.compared & near(self.distances, self.sizes, self.other_sizes, limit)


def scores(pairs: Judged, tried: Sequence[Level]) -> list[Scores]:
    """Judge labelled pairs at each level."""
    judged = []
    for _, limit in tried:
        called, labels = pairs.called(limit), pairs.labels
        judged.append(
            Scores(
                int((called & labels).sum()),
                int((~called & labels).sum()),
                int((called & ~labels).sum()),
                int((~called & ~labels).sum()),
            )
        )
    return judged
