"""When two documents are near-duplicates, and the comparison of a document with a claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scrapy_simhash.db.values import PAGE
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.verdict import ClaimRow, FactsMode, Known, Match
from scrapy_simhash.keys.plan import choose_limits
from scrapy_simhash.simhash.measure import candidate_limit
from scrapy_simhash.simhash.scheme import Scheme, has_shingles, own_distance


@dataclass(frozen=True, slots=True)
class Rule:
    """When two documents are near-duplicates; see the arguments of :class:`Index`."""

    #: The largest Hamming distance of their fingerprints.
    limit: int
    #: The smallest Jaccard similarity of their shingles; None if the distance decides.
    similarity: float | None = None
    facts: FactsMode = "auto"
    known: Known | None = None
    change_similarity: float = 1.0
    #: Hashes of the names of fields that are ignored: an earlier version may have them.
    ignored: frozenset[int] = frozenset()
    #: The distance within which blocks of 64 bits are searched.
    radius: int = field(default=0, compare=False)

    @classmethod
    def of(
        cls, scheme: Scheme, similarity: float, distance: int | None = None, **more: Any
    ) -> Rule:
        """The rule for a similarity or a distance; raises ValueError as `choose_limits` does.

        The other arguments are fields of the rule.
        """
        radius, limit = choose_limits(scheme, similarity, distance)
        if distance is None and own_distance(scheme) is None and has_shingles(scheme):
            return cls(candidate_limit(similarity), similarity, radius=radius, **more)
        return cls(limit, radius=radius, **more)


def compare(
    row: ClaimRow,
    claim: ClaimRow,
    bits: int,
    *,
    distance: int | None = None,
    jaccard: Callable[[], tuple[float | None, bool]],
    changes: Callable[[], Changes | None] | None = None,
    copies: tuple[ClaimRow, ...] = (),
) -> Match:
    """Compare a document, given by its row, with a claim.

    Args:
        row: of the document.
        claim: a row of the table, or that of an earlier document of the batch.
        bits: the width of the fingerprints.
        distance: of the fingerprints, if it is known.
        jaccard: returns the similarity of the texts, and whether it is an estimate; it is not
            called for equal items.
        changes: returns how the texts differ, see :class:`Match`.
        copies: of the claim, see :class:`Match`.
    """
    if are_equal(row, claim):
        return Match(claim, 0, 1.0, bits=bits, copies=copies)
    if distance is None:
        distance = fingerprint_distance(row, claim)
    similarity, is_estimated = jaccard()
    return Match(claim, distance, similarity, is_estimated, bits, changes=changes, copies=copies)


def fingerprint_distance(row: ClaimRow, claim: ClaimRow) -> int:
    """The distance of the fingerprints of two documents."""
    fingerprint, other = (int.from_bytes(one.fingerprint, "big") for one in (row, claim))
    return (fingerprint ^ other).bit_count()


def are_equal(row: ClaimRow, claim: ClaimRow) -> bool:
    """Whether two items are exactly equal; False if they are compared by their pages."""
    if row.compared_by == claim.compared_by == PAGE or row.digest is None:
        return False
    return row.digest == claim.digest
