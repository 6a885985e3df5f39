"""Find candidates: earlier documents of a corpus that share a key, by sorting the keys.

Most keys belong to one document, and most others to few, whose pairs are listed at once, without
those too far apart. A key that many documents share, as those of a template do, is left to the
decisions: these compare only with the documents that were kept, which are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.index.batch import family_keys
from scrapy_simhash.keys.plan import HOT_KEY, Blocks
from scrapy_simhash.simhash.measure import hamming

#: The most documents whose pairs are listed, if they share a key. Hot keys have far more.
FEW = 8

_HALF = np.uint64(32)


class Candidates(NamedTuple):
    """Documents that may have candidates, by their places in the order of the decisions.

    Attributes:
        pairs: shape (pairs, 2), uint32, sorted: a document and an earlier one that share a key
            which few have. Their fingerprints are close enough, or the items may be equal as a
            whole.
        shared: shape (documents, slots + 1), bool: the keys that more documents share.
        listed: bool: the listed items with the identity of another one.
    """

    pairs: NDArray[np.uint32]
    shared: NDArray[np.bool_]
    listed: NDArray[np.bool_]

    @classmethod
    def find(cls, sketches: Sketches, plan: Plan, numbers: NDArray[np.uint32]) -> Self:
        """Find the candidates of documents, given by their numbers in that order."""
        slots, rows = plan.keys.slots, sketches.rows
        compared_by = rows["compared_by"][numbers]
        has_text = np.flatnonzero((compared_by >= 0) & (compared_by != ComparedBy.EXACT))
        pairs, shared = np.empty(0, np.uint64), np.zeros((len(numbers), slots + 1), np.bool_)
        for slot in range(slots):
            if plan.keys.needs_shingles:
                found, many = _grouped(sketches.keys[numbers[has_text], slot], has_text)
                shared[many, slot] = True
                both = sketches.fingerprints(numbers[found >> _HALF], numbers[_low(found)])
                pairs = np.union1d(pairs, found[hamming(*both) <= plan.rule.limit])
            else:
                # Blocks are looked up within a radius, so similar documents need share no key.
                shared[has_text, slot] = True
        has_whole = np.flatnonzero(rows["has_digest"][numbers])
        found, many = _grouped(sketches.keys[numbers[has_whole], slots], has_whole)
        shared[many, slots] = True
        pairs = np.union1d(pairs, found)
        is_listed = rows["listing"][numbers] != 0
        _, among, counts = np.unique(
            rows["identity"][numbers[is_listed]], return_inverse=True, return_counts=True
        )
        is_listed[is_listed] = counts[among] > 1
        columns = np.stack([pairs >> _HALF, _low(pairs)], axis=1)
        return cls(columns.astype(np.uint32), shared, is_listed)


def _grouped(
    keys: NDArray[np.int32], places: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The pairs of documents with a key that few have, and the places of those with another one.

    A pair is one number, with the later place in the high bits.
    """
    packed = keys.view(np.uint32).astype(np.uint64) << _HALF | places.astype(np.uint64)
    packed.sort()
    in_order, ordered = _low(packed), packed >> _HALF
    # The places of keys that differ from the key before them, and of the first key.
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    sizes = np.diff(starts, append=len(packed))
    are_few = np.repeat(sizes <= FEW, sizes)
    pairs = [np.empty(0, np.uint64)]
    for step in range(1, FEW):
        have_key = are_few[step:] & (ordered[step:] == ordered[:-step])
        pairs.append(in_order[step:][have_key] << _HALF | in_order[:-step][have_key])
    return np.concatenate(pairs), in_order[~are_few]


def _low(packed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return packed & np.uint64(0xFFFFFFFF)


class KeptByKey:
    """The kept documents under keys that many share; under a hot key, only the first ones."""

    def __init__(self, sketches: Sketches, plan: Plan) -> None:
        self._sketches, self._plan = sketches, plan
        # For each slot the values to XOR a key with, to get the keys to look up.
        self._flips = [np.zeros(1, np.int32)] * plan.keys.slots
        if isinstance(plan.keys, Blocks):
            self._flips = plan.keys.flips(plan.rule.limit)
        self._kept: dict[tuple[int, int], list[int]] = {}

    def keys(self, number: int, shared: Sequence[int]) -> list[tuple[int, int]]:
        """The slots and keys of a document, of those in `shared`; see `index.batch.keys_of`.

        Also those of an item whose text many share; see `index.batch.family_keys`.
        """
        slots, own = self._plan.keys.slots, self._sketches.keys[number]
        keys = [(slot, int(own[slot])) for slot in shared]
        if hot := sum(slot < slots and self._is_hot((slot, key)) for slot, key in keys):
            more = family_keys(self._sketches.row(number, 0), is_full=hot == slots)
            keys += [(slots + 1, key) for key in more]
        return keys

    def under(self, keys: Iterable[tuple[int, int]]) -> set[int]:
        """Those with a key of a text, or with one that is looked up with it."""
        slots = self._plan.keys.slots
        text_keys = ((slot, np.int32(key)) for slot, key in keys if slot < slots)
        probes = (
            (slot, probe) for slot, key in text_keys for probe in (self._flips[slot] ^ key).tolist()
        )
        return set().union(*(self._kept.get(probe, ()) for probe in probes))

    def equal(self, keys: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Those that may equal an item as a whole."""
        for key in keys:
            if key[0] >= self._plan.keys.slots and not self._is_hot(key):
                yield from self._kept.get(key, ())

    def add(self, keys: Iterable[tuple[int, int]], place: int) -> None:
        """Note a document that is kept."""
        for key in keys:
            if not self._is_hot(key):
                self._kept.setdefault(key, []).append(place)

    def _is_hot(self, key: tuple[int, int]) -> bool:
        can_be_hot = self._plan.keys.needs_shingles or key[0] >= self._plan.keys.slots
        return can_be_hot and len(self._kept.get(key, ())) >= HOT_KEY
