"""Find candidates: earlier documents of a corpus that share a key, while the corpus is sketched.

Most keys belong to one document, and most others to few, whose pairs are listed at once, without
those too far apart. A key that many documents share, as those of a template do, is left to the
decisions: these compare only with the documents that were kept, which are few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.index.batch import fingerprint_key
from scrapy_simhash.keys.plan import HOT_KEY
from scrapy_simhash.simhash.measure import hamming

#: A document is paired with all earlier ones that share a key if these are fewer. Hot keys have far
#: more.
FEW = 8

# Binary digits of the fewest buckets.
_BUCKETS = 12
# Digits by which buckets grow.
_GROWTH = 2
# Marks unused entries.
_NONE = np.uint32(0xFFFFFFFF)
# Factors that mix a slot and a key.
_MIX = np.array([0x9E3779B1, 0x85EBCA6B], np.uint32)


class Found(NamedTuple):
    """Documents that may have candidates, by their places in the order of the decisions.

    Attributes:
        places: of these documents, ascending.
        pairs: the earlier documents that share a key which few have. Their fingerprints are close
            enough, or the items may be equal as a whole.
        shared: the slots of their keys that more documents share.
        listed: those with the identity of an earlier listed item, perhaps.
    """

    places: Sequence[int]
    pairs: Mapping[int, Sequence[int]]
    shared: Mapping[int, Sequence[int]]
    listed: Collection[int]


class KeyTable:
    """The keys of documents in a hash table made of arrays: Python's take ten times the memory.

    Each document has as many entries as columns: a key of its text for each slot, one of the item
    as a whole, one of its identity. The entries in a bucket are a chain, the latest one first.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._slots = plan.keys.slots
        self._columns = self._slots + 2
        self._bits, self._count = _BUCKETS, 0
        # Numbers of entries, from 1; 0 is the end of a chain. The latest of each bucket, and for
        # each entry the one before it; of an entry that is none itself.
        self._latest = np.zeros(1 << _BUCKETS, np.uint32)
        self._before = np.empty(0, np.uint32)

    def add(self, sketches: Sketches, numbers: NDArray[np.uint32], first: int) -> Found:
        """Add documents from a place on, and find their candidates.

        Args:
            sketches: of all documents so far.
            numbers: of all documents so far, in the order of the decisions.
            first: how many of these were added before.
        """
        self.sketches, self.numbers = sketches, numbers
        added = numbers[first:]
        has = self._has_entries(added)
        shared = np.zeros((len(added), self._slots + 1), np.bool_)
        if not self._plan.keys.needs_shingles:
            # Blocks are looked up within a radius, so similar documents need share no key.
            shared[:, : self._slots] = has[:, : self._slots]
            has[:, : self._slots] = False
        entries = (np.flatnonzero(has) + first * self._columns).astype(np.uint32)
        self._insert(entries, len(numbers) * self._columns)
        turns, others = self._walk(entries)
        counts = np.bincount(turns, minlength=len(entries))
        documents, slots = np.divmod(entries, np.uint32(self._columns))
        listed = set(documents[(slots > self._slots) & (counts > 0)].tolist())
        is_key = slots <= self._slots
        many = is_key & (counts >= FEW)
        shared[documents[many] - first, slots[many]] = True
        few = (is_key & ~many)[turns]
        turns, others = turns[few], others[few] // np.uint32(self._columns)
        pairs = self._near(documents[turns], others, slots[turns] < self._slots)
        by_place: dict[int, list[int]] = defaultdict(list)
        for document, slot in np.argwhere(shared).tolist():
            by_place[first + document].append(slot)
        return Found(sorted({*by_place, *pairs, *listed}), pairs, by_place, listed)

    def earlier(self, place: int, slot: int) -> Iterator[int]:
        """The earlier documents that share a key of a document, the latest first."""
        entry = place * self._columns + slot
        (key,) = self._keys(np.array([entry], np.uint32))
        while 0 < (entry := int(self._before[entry])) < _NONE:
            entry -= 1
            if entry % self._columns == slot and self._keys(np.array([entry], np.uint32)) == key:
                yield entry // self._columns

    def _has_entries(self, numbers: NDArray[np.uint32]) -> NDArray[np.bool_]:
        rows = self.sketches.rows[numbers]
        has = np.empty((len(numbers), self._columns), np.bool_)
        compared_by = rows["compared_by"]
        has[:, : self._slots] = ((compared_by >= 0) & (compared_by != ComparedBy.EXACT))[:, None]
        has[:, self._slots] = rows["has_digest"]
        has[:, self._slots + 1] = rows["listing"] != 0
        return has

    def _keys(self, entries: NDArray[np.uint32]) -> NDArray[np.int32]:
        places, slots = np.divmod(entries, np.uint32(self._columns))
        numbers = self.numbers[places]
        keys = self.sketches.keys[numbers, np.minimum(slots, self._slots)]
        if (is_identity := slots > self._slots).any():
            identities = self.sketches.rows["identity"][numbers[is_identity]]
            keys[is_identity] = identities.astype(np.int32)
        return keys

    def _insert(self, entries: NDArray[np.uint32], room: int) -> None:
        known = len(self._before)
        self._before.resize(room, refcheck=False)
        self._before[known:] = _NONE
        self._count += len(entries)
        if self._count > len(self._latest):
            while self._count > 1 << self._bits:
                self._bits += _GROWTH
            self._latest = np.zeros(1 << self._bits, np.uint32)
            self._before[entries] = 0
            entries = np.flatnonzero(self._before != _NONE).astype(np.uint32)
        if not len(entries):
            return
        mixed = self._keys(entries).view(np.uint32) + entries % np.uint32(self._columns) * _MIX[0]
        buckets = mixed * _MIX[1] >> np.uint32(32 - self._bits)
        packed = buckets.astype(np.uint64) << np.uint64(32) | entries
        packed.sort()
        buckets, entries = (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)
        ends = np.append(np.flatnonzero(buckets[1:] != buckets[:-1]), len(entries) - 1)
        starts = np.append(0, ends[:-1] + 1)
        self._before[entries[1:]] = entries[:-1] + np.uint32(1)
        self._before[entries[starts]] = self._latest[buckets[starts]]
        self._latest[buckets[ends]] = entries[ends] + np.uint32(1)

    def _walk(self, entries: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
        """Up to FEW earlier entries with the same key for each of some entries.

        Returns the indices of these, and the earlier entries.
        """
        keys, slots = self._keys(entries), entries % np.uint32(self._columns)
        counts = np.zeros(len(entries), np.uint8)
        turns, others = [np.empty(0, np.intp)], [np.empty(0, np.uint32)]
        turn, at = np.arange(len(entries)), self._before[entries]
        while True:
            goes_on = (at > 0) & (counts[turn] < FEW)
            turn, at = turn[goes_on], at[goes_on] - np.uint32(1)
            if not len(turn):
                return np.concatenate(turns), np.concatenate(others)
            same = (keys[turn] == self._keys(at)) & (slots[turn] == at % np.uint32(self._columns))
            counts[turn] += same
            turns.append(turn[same])
            others.append(at[same])
            at = self._before[at]

    def _near(
        self, later: NDArray[np.uint32], earlier: NDArray[np.uint32], is_text: NDArray[np.bool_]
    ) -> dict[int, list[int]]:
        """The pairs whose fingerprints are close enough, or that share a key of the whole item."""
        both = self.sketches.fingerprints(self.numbers[later], self.numbers[earlier])
        near = ~is_text | (hamming(*both) <= self._plan.rule.limit)
        pairs: dict[int, list[int]] = defaultdict(list)
        for document, candidate in zip(later[near].tolist(), earlier[near].tolist(), strict=True):
            pairs[document].append(candidate)
        return pairs


class KeptByKey:
    """The kept documents under keys that many share; under a hot key, only the first ones."""

    def __init__(self, plan: Plan, table: KeyTable) -> None:
        self._plan, self._table = plan, table
        self._kept: dict[tuple[int, int], list[int]] = {}

    def keys(
        self, place: int, shared: Sequence[int], kept: NDArray[np.bool_]
    ) -> list[tuple[int, int]]:
        """The slots and keys of a document, of those in `shared`; see `index.batch.keys_of`.

        If all its bands are hot keys, its fingerprint is one more.
        """
        slots, number = self._plan.keys.slots, int(self._table.numbers[place])
        own = self._table.sketches.keys[number]
        keys = []
        for slot in shared:
            keys.append(key := (slot, int(own[slot])))
            if key not in self._kept:
                earlier = self._table.earlier(place, slot)
                self._kept[key] = [other for other in earlier if kept[other]][::-1]
        if sum(slot < slots and self._is_hot((slot, key)) for slot, key in keys) == slots:
            fingerprint = self._table.sketches.rows["fingerprint"][number].tobytes()
            keys.append((slots + 1, fingerprint_key(fingerprint)))
        return keys

    def under(self, keys: Iterable[tuple[int, int]]) -> set[int]:
        """Those with a key of a text, or with one that is looked up with it."""
        slots, flips = self._plan.keys.slots, self._plan.flips
        text_keys = ((slot, np.int32(key)) for slot, key in keys if slot < slots)
        probes = (
            (slot, probe) for slot, key in text_keys for probe in (flips[slot] ^ key).tolist()
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
