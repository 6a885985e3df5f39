"""When two documents are near-duplicates, and what a document was compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrapy_simhash.db.values import PAGE
from scrapy_simhash.features.changes import Changes
from scrapy_simhash.index.verdict import FactsMode, Known, Row
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


class Met(NamedTuple):
    """A claim that a document was compared with."""

    #: Of the two fingerprints, in bits; similarity of the two texts, and whether it is estimated.
    distance: int
    similarity: float | None
    estimated: bool
    #: Its row: of the table, or of an earlier document of the batch.
    claim: Row
    #: Returns how the document's text differs, which may take long; None if a text is damaged. None
    #: in its place if a text is not at hand.
    changes: Callable[[], Changes | None] | None = None
    #: Why the document is not a duplicate of it, although the texts are similar.
    differs: str | None = None
    #: What was dropped as its copies, as far as it is known.
    copies: tuple[Row, ...] = ()


def met_with(
    mine: Row,
    claim: Row,
    distance: int,
    similarity: Callable[[], tuple[float | None, bool]],
    changes: Callable[[], Changes | None] | None = None,
) -> Met:
    """Compare a document with a claim.

    `similarity` returns that of the two texts, and whether it is an estimate; it is not called for
    equal items.
    """
    if are_equal(mine, claim):
        return Met(0, 1.0, False, claim)
    return Met(distance, *similarity(), claim, changes)


def apart(mine: Row, claim: Row) -> int:
    """The distance of the fingerprints of two documents."""
    one, two = (int.from_bytes(row.fingerprint, "big") for row in (mine, claim))
    return (one ^ two).bit_count()


def are_equal(mine: Row, claim: Row) -> bool:
    """Whether two items are exactly equal; False if they are compared by their pages."""
    if mine.compared_by == claim.compared_by == PAGE or mine.digest is None:
        return False
    return mine.digest == claim.digest
