"""Find candidate pairs: documents of a corpus that share a key, by sorting the keys.

Most keys belong to one document, and most others to few, whose pairs are listed at once, without
those too far apart. A key that many documents share, as those of a template do, is left to the
decisions: these compare only with the documents that were kept, which are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.db.values import EXACT
from scrapy_simhash.simhash.measure import hamming

#: All pairs of documents that share a key are listed if these are at most so many. Hot keys have
#: far more.
FEW = 8

# Pairs whose distances are computed at a time.
_CHUNK = 1 << 20


class Candidates(NamedTuple):
    """Documents to compare, by their positions in the order of the decisions.

    Attributes:
        later, earlier: shape (pairs,), uint32: pairs that share a key with few others, ascending.
            Their fingerprints are close enough, or the items may be equal as a whole.
        shared: shape (documents, slots + 1), bool: the keys that more documents share.
    """

    later: NDArray[np.uint32]
    earlier: NDArray[np.uint32]
    shared: NDArray[np.bool_]


def find_candidates(
    sketches: Sketches, order: NDArray[np.uint32], plan: Plan, reference: int
) -> Candidates:
    """Find the documents to compare; the first ones, the reference, not with each other."""
    slots = plan.keys.slots
    compared_by = sketches.rows["compared_by"][order]
    texts = np.flatnonzero((compared_by >= 0) & (compared_by != EXACT)).astype(np.uint32)
    whole_items = np.flatnonzero(sketches.rows["has_digest"][order]).astype(np.uint32)
    shared = np.zeros((len(order), slots + 1), np.bool_)
    if not plan.keys.needs_shingles:
        # Blocks are looked up within a radius, so similar documents need not share an equal key.
        shared[texts, :slots] = True
    found = [np.empty(0, np.uint64)]
    fingerprints = sketches.fingerprints
    for slot in range(slots + 1):
        if slot < slots and not plan.keys.needs_shingles:
            continue
        places = texts if slot < slots else whole_items
        pairs = _pairs(sketches.keys[:, slot][order[places]], places, shared[:, slot])
        pairs = pairs[pairs >> np.uint64(32) >= reference]
        if slot < slots:
            near = [
                chunk[_distances(fingerprints, order, chunk) <= plan.rule.limit]
                for chunk in np.array_split(pairs, len(pairs) // _CHUNK + 1)
            ]
            pairs = np.concatenate(near)
        found.append(pairs)
    pairs = np.sort(np.concatenate(found))
    # numpy.unique takes ten times as long.
    is_first = np.ones(len(pairs), np.bool_)
    is_first[1:] = pairs[1:] != pairs[:-1]
    pairs = pairs[is_first]
    return Candidates((pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32), shared)


def _pairs(
    keys: NDArray[np.int32], places: NDArray[np.uint32], shared: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Pairs of documents that share a key with few others, the later one in the upper 32 bits.

    `shared` is set for those that share a key with more. With the keys 7, 5, 7 at the places 0, 1,
    2 the only pair is (2, 0).
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
