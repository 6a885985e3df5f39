"""Compares texts with stored ones: exactly if the text is stored, otherwise by an estimate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.hashes import similarity_of
from scrapy_simhash.item.state import without_state
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Row

# Shingles kept of all texts together: 32 MiB.
_MOST = 4 << 20


def changes_of(new: str, old: str) -> Changes:
    """How a text differs from an earlier one; the numbers that tell its state are left out."""
    changes = Changes.of(new, old)
    if not changes.has_numbers():  # as in most copies
        return changes
    rest, old_rest = without_state(new), without_state(old)
    return changes if rest is new and old_rest is old else Changes.of(rest, old_rest)


class _Stored(NamedTuple):
    shingles: NDArray[np.uint64]
    packed: bytes


class SimilarityCache:
    """Compares documents with the texts of claims, and keeps their shingles: an LRU cache."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._stored: OrderedDict[int, _Stored] = OrderedDict()
        self._held = 0

    def missing(self, claims: Iterable[int]) -> list[int]:
        """The claims whose texts are not cached."""
        return [claim for claim in claims if claim not in self._stored]

    def add(self, texts: Mapping[int, bytes]) -> None:
        """Add the compressed texts of claims, by the claims' numbers."""
        for claim, packed in texts.items():
            # A damaged text counts as not stored.
            if (text := unpack_text(packed)[0]) is None:
                continue
            shingles = self._scheme.sketch(text).shingles
            if shingles is not None and shingles.size < _MOST:
                self._stored[claim] = _Stored(shingles, packed)
                self._held += shingles.size

    def trim(self) -> None:
        """Remove the least recently used texts, as far as there are too many."""
        while self._held > _MOST:
            self._held -= self._stored.popitem(last=False)[1].shingles.size

    def similarity(
        self, shingles: NDArray[np.uint64] | None, mine: Row, claim: Row
    ) -> tuple[float | None, bool]:
        """The Jaccard similarity of a document and a claim, and whether it is an estimate.

        The similarity is None if it is unknown, because the scheme has no shingles.
        """
        if shingles is None or mine.minhash is None:
            return None, False
        if (stored := self._stored.get(claim.id)) is not None:
            self._stored.move_to_end(claim.id)
            return jaccard(shingles, stored.shingles), False
        if claim.minhash is None:
            return None, False
        return similarity_of(mine.minhash, claim.minhash), True

    def changes(self, text: str | None, claim: int) -> Changes | None:
        """How a text differs from that of a claim; None unless both are at hand."""
        if text is None or (stored := self._stored.get(claim)) is None:
            return None
        old, _ = unpack_text(stored.packed)
        return None if old is None else changes_of(text, old)
