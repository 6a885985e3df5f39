"""Which documents of a corpus share a key, found by sorting.

Most keys are nobody else's, and most that are shared are shared by a few: the pairs of these are
told at once, and those too far apart are left out. A key that many share, as a template makes them,
is looked at while it is decided who stands under it: not many will.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.corpus.sketches import NOTHING
from scrapy_simhash.db.schema import EXACT
from scrapy_simhash.simhash.measure import hamming

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simhash.corpus.plan import Plan
    from scrapy_simhash.corpus.sketches import Sketches

__all__ = ["FEW", "Meetings", "meet"]

#: As many may share a key for all their pairs to be told at once. Far fewer than crowd a band.
FEW = 8

# Pairs whose distances are taken at a time.
_CHUNK = 1 << 20


class Meetings(NamedTuple):
    """Who meets whom, by the places of documents in the order in which they are decided on.

    Attributes:
        later, earlier: shape (pairs,), uint32: pairs that meet under keys that a few share, in
            ascending order. Only those near enough, or perhaps equal as whole items.
        shared: shape (places, slots + 1), bool: the keys that more of them share.
    """

    later: NDArray[np.uint32]
    earlier: NDArray[np.uint32]
    shared: NDArray[np.bool_]


def meet(sketches: Sketches, order: NDArray[np.uint32], plan: Plan) -> Meetings:
    """Find who meets whom.

    Args:
        sketches: of the documents.
        order: their numbers in the order in which they are decided on.
        plan: what they are compared by.
    """
    slots = plan.keys.slots
    basis = sketches.rows["basis"][order]
    by_text = np.flatnonzero((basis != NOTHING) & (basis != EXACT)).astype(np.uint32)
    as_wholes = np.flatnonzero(sketches.rows["has_digest"][order]).astype(np.uint32)
    shared = np.zeros((len(order), slots + 1), np.bool_)
    if not plan.keys.needs_shingles:
        # Blocks are looked up within a radius, so what two documents share is not one key.
        shared[by_text, :slots] = True
    found = [np.empty(0, np.uint64)]
    fingerprints = sketches.fingerprints
    for slot in range(slots + 1):
        if slot < slots and not plan.keys.needs_shingles:
            continue
        places = by_text if slot < slots else as_wholes
        pairs = _pairs(sketches.keys[:, slot][order[places]], places, shared[:, slot])
        if slot < slots:
            near = [
                chunk[_distances(fingerprints, order, chunk) <= plan.rule.limit]
                for chunk in np.array_split(pairs, len(pairs) // _CHUNK + 1)
            ]
            pairs = np.concatenate(near)
        found.append(pairs)
    pairs = np.sort(np.concatenate(found))
    # numpy's own way to find what is distinct takes ten times as long for so many.
    is_first = np.ones(len(pairs), np.bool_)
    is_first[1:] = pairs[1:] != pairs[:-1]
    pairs = pairs[is_first]
    return Meetings((pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32), shared)


def _pairs(
    keys: NDArray[np.int32], places: NDArray[np.uint32], shared: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """The pairs of those that share a key with a few, the later one in the upper half.

    With the keys 7, 5, 7 at the places 0, 1, 2 the only pair is (2, 0).

    Args:
        keys: shape (n,).
        places: likewise, ascending: whose they are.
        shared: is set where more share a key.
    """
    both = keys.view(np.uint32).astype(np.uint64) << np.uint64(32) | places
    both.sort()
    is_first = np.ones(len(both), np.bool_)
    is_first[1:] = both[1:] >> np.uint64(32) != both[:-1] >> np.uint64(32)
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(both)))
    many = np.repeat(counts > FEW, counts)
    shared[both[many].astype(np.uint32)] = True
    few = both[np.repeat((counts > 1) & (counts <= FEW), counts)]
    found = [np.empty(0, np.uint64)]
    for gap in range(1, FEW):
        one, other = few[:-gap], few[gap:]
        same = one >> np.uint64(32) == other >> np.uint64(32)
        found.append(other[same] << np.uint64(32) | one[same] & np.uint64(0xFFFFFFFF))
    return np.concatenate(found)


def _distances(
    fingerprints: NDArray[np.uint8], order: NDArray[np.uint32], pairs: NDArray[np.uint64]
) -> NDArray[np.uint16]:
    one = order[(pairs >> np.uint64(32)).astype(np.uint32)]
    other = order[pairs.astype(np.uint32)]
    return hamming(fingerprints[one], fingerprints[other])
