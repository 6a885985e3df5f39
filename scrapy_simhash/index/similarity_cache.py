"""Compares texts with stored ones: exactly if the text is stored, otherwise by an estimate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.changes import Changes
from scrapy_simhash.features.shingles import similarity_of
from scrapy_simhash.item.state import without_state
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Row

# Bytes of all texts together, with their shingles.
_MOST = 32 << 20


def changes_of(new: str, old: str, *, tells_state: bool = True) -> Changes:
    """How a text differs from an earlier one; the numbers that tell its state are left out.

    `tells_state` is False if both texts are known to have none.
    """
    changes = Changes.of(new, old)
    if not tells_state or not changes.has_numbers:  # as in most copies
        return changes
    rest, old_rest = without_state(new), without_state(old)
    return changes if rest is new and old_rest is old else Changes.of(rest, old_rest)


class SimilarityCache:
    """Compares documents with the texts of claims, and keeps these: an LRU cache."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        #: Compressed texts, and the shingles of those that were compared.
        self._texts: OrderedDict[int, bytes] = OrderedDict()
        self._shingles: dict[int, NDArray[np.uint64] | None] = {}
        self._held = 0

    def missing(self, claims: Iterable[int]) -> list[int]:
        """The claims whose texts are not cached."""
        return [claim for claim in claims if claim not in self._texts]

    def add(self, texts: Mapping[int, bytes]) -> None:
        """Add the compressed texts of claims, by the claims' numbers."""
        for claim, packed in texts.items():
            if len(packed) < _MOST:
                self._texts[claim] = packed
                self._held += len(packed)

    def trim(self) -> None:
        """Remove the least recently used texts, as far as there are too many."""
        while self._held > _MOST:
            claim, packed = self._texts.popitem(last=False)
            shingles = self._shingles.pop(claim, None)
            self._held -= len(packed) + (0 if shingles is None else shingles.nbytes)

    def similarity(
        self, shingles: NDArray[np.uint64] | None, mine: Row, claim: Row
    ) -> tuple[float | None, bool]:
        """The Jaccard similarity of a document and a claim, and whether it is an estimate.

        The similarity is None if it is unknown, because the scheme has no shingles.
        """
        if shingles is None or mine.minhash is None or claim.minhash is None:
            return None, False
        if (stored := self._shingles_of(claim.id)) is not None:
            return jaccard(shingles, stored), False
        return similarity_of(mine.minhash, claim.minhash), True

    def _shingles_of(self, claim: int) -> NDArray[np.uint64] | None:
        if (packed := self._texts.get(claim)) is None:
            return None
        self._texts.move_to_end(claim)
        if claim not in self._shingles:
            # A damaged text counts as not stored.
            text, _ = unpack_text(packed)
            shingles = None if text is None else self._scheme.sketch(text).shingles
            self._shingles[claim] = shingles
            self._held += 0 if shingles is None else shingles.nbytes
        return self._shingles[claim]

    def changes(self, text: str | None, claim: int) -> Changes | None:
        """How a text differs from that of a claim; None unless both are at hand."""
        if text is None or (packed := self._texts.get(claim)) is None:
            return None
        old, _ = unpack_text(packed)
        return None if old is None else changes_of(text, old)
