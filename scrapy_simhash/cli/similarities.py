"""The similarities of stored documents: true where both texts are kept, estimated elsewhere."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.features.minhash import similarity_of
from scrapy_simhash.simhash.measure import jaccard

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["Similarities"]

# Shingles that are remembered, of all texts together: 32 MiB.
_MOST = 4 << 20

# Pairs whose texts are read at once: each may be as large as a text can be.
_PAIRS = 64


class Similarities:
    """Compares documents of a namespace, and remembers the shingles of those met lately.

    Args:
        database: where they are.
        namespace: in which one.
        scheme: makes the shingles of a text.
        documents: that are compared, by their numbers.
        least: below that an estimate will do.
    """

    def __init__(
        self,
        database: Database,
        namespace: history.NamespaceRow,
        scheme: Scheme,
        documents: history.Documents,
        least: float = 0.0,
    ) -> None:
        self._database = database
        self._namespace = namespace
        self._scheme = scheme
        self._documents = documents
        self._least = least
        # None for a text that is not kept.
        self._shingles: OrderedDict[int, NDArray[np.uint64] | None] = OrderedDict()
        self._held = 0

    def __call__(
        self, pairs: Iterable[tuple[int, int]]
    ) -> dict[tuple[int, int], tuple[float | None, bool]]:
        """The similarity of each pair, None where nothing is known; and whether it is estimated."""
        found = {pair: self._estimate(*pair) for pair in pairs}
        unsure = [
            pair
            for pair, (similarity, is_estimate) in found.items()
            if is_estimate and similarity is not None and similarity >= self._least
        ]
        unsure.sort()
        for start in range(0, len(unsure), _PAIRS):
            part = unsure[start : start + _PAIRS]
            self._read({number for pair in part for number in pair})
            for one, other in part:
                a, b = self._shingles[one], self._shingles[other]
                if a is not None and b is not None:
                    found[one, other] = (jaccard(a, b), False)
            self._forget()
        return found

    def _estimate(self, one: int, other: int) -> tuple[float | None, bool]:
        a, b = self._documents.rows[one], self._documents.rows[other]
        if a.minhash is None or b.minhash is None:
            return None, False
        if (a.minhash, a.fingerprint, a.size) == (b.minhash, b.fingerprint, b.size):
            return 1.0, False
        return similarity_of(a.minhash, b.minhash), True

    def _read(self, numbers: Iterable[int]) -> None:
        """Have the shingles of these, as far as their texts are kept."""
        unknown = {}
        for number in numbers:
            if number in self._shingles:
                self._shingles.move_to_end(number)
            else:
                unknown[number] = self._documents.places[number]
        texts = history.texts(self._database, self._namespace, unknown.values())
        for number, place in unknown.items():
            text = texts.get(place)
            shingles = None if text is None else self._scheme.sketch(text).shingles
            self._shingles[number] = shingles
            self._held += 1 if shingles is None else shingles.size

    def _forget(self) -> None:
        while self._held > _MOST:
            _, shingles = self._shingles.popitem(last=False)
            self._held -= 1 if shingles is None else shingles.size
