"""The claims that the keys and identities of a batch lead to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.shingles import among, distinct
from scrapy_simhash.index.batch import Batch, KeyRow, family_keys, slotted
from scrapy_simhash.index.decide import NEAREST, WORDS
from scrapy_simhash.index.rule import are_equal
from scrapy_simhash.index.verdict import ClaimRow, Sighting
from scrapy_simhash.keys.plan import HOT_KEY

# Bits of a claim number; the bits above hold a document's number in its batch.
_CLAIM_BITS = 56

#: A document of a batch, given by its number, and a claim that may be near; the distance of their
#: fingerprints, and whether they may be equal as whole items.
PAIR = np.dtype([("document", "i8"), ("claim", "i8"), ("distance", "i8"), ("may_be_equal", "?")])


@dataclass
class BatchCandidates:
    """The claims that the keys and identities of a batch led to."""

    batch: Batch
    #: The distance within which claims are compared.
    limit: int
    #: What the identities of the batch have shown lately.
    of_identities: Sequence[Sighting] = ()
    #: Of type `PAIR`, each pair once.
    pairs: NDArray[np.void] = field(default_factory=lambda: np.empty(0, PAIR))
    hot_keys: frozenset[KeyRow] = frozenset()
    #: The sightings by which the claims that are compared are met now.
    meeting: Sequence[Sighting] = ()
    #: Of the claims that are compared.
    rows: dict[int, ClaimRow] = field(default_factory=dict)
    #: Some of what was dropped as copies of these, where they are of other sites.
    copies: Mapping[int, Sequence[ClaimRow]] = field(default_factory=dict)

    @cached_property
    def compared(self) -> list[dict[int, int | None]]:
        """For each document the claims to compare it with, with their distances if known.

        Those within the limit, equal items, which may be on pages with other texts, and what each
        identity was shown, even if no key leads to it.
        """
        near = self.pairs[(self.pairs["distance"] <= self.limit) | self.pairs["may_be_equal"]]
        compared: list[dict[int, int | None]] = [{} for _ in self.batch.rows]
        for number, claim, distance, _ in near.tolist():
            compared[number][claim] = distance
        for number, row in enumerate(self.batch.rows):
            if number not in self.batch.known:
                for claim in self.shown.get(row.identity, ()):
                    compared[number].setdefault(claim, None)
        return compared

    def family_keys(self, number: int, row: ClaimRow, slots: int) -> list[int]:
        """The keys of a document beside its bands, if some of these are hot; see `family_keys`."""
        if not self.hot_keys:
            return []
        bands = [key for key in self.batch.keys[number] if key.slot < slots]
        if self.hot_keys.isdisjoint(bands):
            return []
        return family_keys(row, is_full=self.hot_keys.issuperset(bands))

    @cached_property
    def shown(self) -> Mapping[int, set[int]]:
        """The claims that identities were shown lately."""
        shown = defaultdict[int, set[int]](set)
        for one in self.of_identities:
            shown[one.identity].add(one.claim)
        return shown


def with_texts(candidates: BatchCandidates) -> set[int]:
    """The claims whose texts are read: of each document the nearest, as far as it is allowed."""
    claims, wanted, left = candidates.rows, set[int](), WORDS
    for row, compared in zip(candidates.batch.rows, candidates.compared, strict=True):
        # Those with the same facts first: others are no copies, whatever their texts.
        others = [
            (claims[claim].facts != row.facts, distance or 0, claim)
            for claim, distance in compared.items()
            if claim in claims
        ]
        nearest = (claim for *_, claim in sorted(others) if not are_equal(row, claims[claim]))
        for rank, claim in enumerate(islice(nearest, NEAREST)):
            left -= row.size + claims[claim].size
            if rank and left < 0:
                break
            wanted.add(claim)
    return wanted


def joined(
    asked: NDArray[np.int64], asker: NDArray[np.intp], hits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The equi-join of the keys that were asked for and the hits, as distinct pairs.

    With keys 5, 5, 8 asked by the documents 0, 1, 1 and the hits (5, claim 70) and (8, claim 71)
    the pairs are (0, 70), (1, 70), (1, 71).

    `asked` is in ascending order.
    """
    left = np.searchsorted(asked, hits[:, 0], "left")
    count = np.searchsorted(asked, hits[:, 0], "right") - left
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    documents = asker[np.repeat(left, count) + within]
    # Each pair as one number, which sorts faster than rows. A batch has 64 documents at most.
    pairs = distinct(np.sort(np.repeat(hits[:, 1], count) | documents << _CLAIM_BITS))
    return np.stack([pairs >> _CLAIM_BITS, pairs & (1 << _CLAIM_BITS) - 1], axis=1)


def without_keys(hits: NDArray[np.int64], keys: Collection[KeyRow]) -> NDArray[np.int64]:
    """The hits without those of some keys."""
    if not keys:
        return hits
    slots, numbers = np.array([*keys]).T
    return hits[~among(hits[:, 0], slotted(slots, numbers))]


def shared(hits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys that led to too many claims."""
    asked = distinct(np.sort(hits[:, 0]))
    count = np.bincount(np.searchsorted(asked, hits[:, 0]))
    return asked[count >= HOT_KEY]
