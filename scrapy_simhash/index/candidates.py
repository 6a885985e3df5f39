"""The claims that the keys and identities of a batch lead to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.shingles import distinct
from scrapy_simhash.index.batch import Batch, KeyRow
from scrapy_simhash.index.decide import TEXTS, WORDS
from scrapy_simhash.index.rule import are_equal
from scrapy_simhash.index.verdict import Place, Row
from scrapy_simhash.keys.plan import HOT_KEY

# Bits of a claim number; the bits above hold a document's number in its batch.
_CLAIM_BITS = 56

NO_HITS = np.empty((0, 2), np.int64)
_NONE = np.empty(0, np.int64)
#: The arrays of :class:`Candidates` without any.
NO_PAIRS = (_NONE, _NONE, _NONE, np.empty(0, np.bool_))


@dataclass(slots=True)
class Candidates:
    """The claims that the keys and identities of a batch led to; entry i of an array is pair i."""

    #: The batch, in which an item that is known by its alias alone has that as its identity.
    batch: Batch
    #: The distance within which claims are compared.
    limit: int
    #: The counter of the namespace when they were read: the same as long as nobody writes.
    counter: int
    #: The newest claim of each identity.
    newest: Mapping[int, int]
    #: Each pair of a document and a claim once, with the distance of their fingerprints, and
    #: whether they may be equal as whole items.
    documents: NDArray[np.int64]
    claims: NDArray[np.int64]
    distances: NDArray[np.int64]
    exactly: NDArray[np.bool_]
    hot_keys: frozenset[KeyRow] = frozenset()
    #: What is known of identities that were duplicates when they were last met.
    places: Mapping[int, Place] = field(default_factory=dict)
    #: Of the claims that are compared.
    rows: Mapping[int, Row] = field(default_factory=dict)
    #: Some of what was dropped as copies of these, where they are of other sites.
    copies: Mapping[int, Sequence[Row]] = field(default_factory=dict)

    def compared(self) -> dict[tuple[int, int], int | None]:
        """The pairs to compare, each with its distance if it is known.

        Those within the limit, equal items, which may be on pages with other texts, and the newest
        version of each identity, even if no key leads to it.
        """
        chosen = (self.distances <= self.limit) | self.exactly
        columns = (one[chosen].tolist() for one in (self.documents, self.claims, self.distances))
        pairs: dict[tuple[int, int], int | None] = {
            (number, claim): distance for number, claim, distance in zip(*columns, strict=True)
        }
        for number, row in enumerate(self.batch.rows):
            if row.identity in self.newest:
                pairs.setdefault((number, self.newest[row.identity]), None)
        return pairs


class Hits(NamedTuple):
    """The answer to the look-up of keys and identities."""

    counter: int | None
    newest: Mapping[int, int]
    #: Shape (n, 2), a key as in `Batch.asked` and a claim: for keys of texts, and of whole items.
    keys: NDArray[np.int64]
    exactly: NDArray[np.int64]
    #: The duplicates of each identity.
    places: Mapping[int, Sequence[int]]


def with_texts(
    pairs: Mapping[tuple[int, int], int | None], rows: Mapping[int, Row], batch: Sequence[Row]
) -> set[int]:
    """The claims whose texts are read: of each document the nearest, as far as it is allowed."""
    of: defaultdict[int, list[tuple[bool, int, int]]] = defaultdict(list)
    for (number, claim), distance in pairs.items():
        if claim in rows and not are_equal(batch[number], rows[claim]):
            # Those with the same facts first: others are no copies, whatever their texts.
            has_others = rows[claim].facts != batch[number].facts
            of[number].append((has_others, 0 if distance is None else distance, claim))
    wanted: set[int] = set()
    left = WORDS
    for number, others in of.items():
        for place, (_, _, claim) in enumerate(sorted(others)[:TEXTS]):
            left -= batch[number].size + rows[claim].size
            if place and left < 0:
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


def shared(hits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys that led to too many claims."""
    asked = distinct(np.sort(hits[:, 0]))
    count = np.bincount(np.searchsorted(asked, hits[:, 0]))
    return asked[count >= HOT_KEY]
