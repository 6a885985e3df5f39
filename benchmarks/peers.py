"""Other packages as what they all can do: find a stored text that another one is near.

Those that take features are given `features` of a text, so that all can be made to compare the
same; they find texts of that `similarity`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Features = Callable[[str], Iterable[str]]

__all__ = ["PEERS", "Matcher"]


class Matcher(Protocol):
    """Texts that are stored, and how one that is near is found."""

    def meet(self, number: int, text: str) -> int | None:
        """Return the number of a stored text that this one is near; store it if none is."""


class Simhash:
    """simhash, with its own features, and the distance that the literature has.

    Version 2.1.2 fails, with numpy 2, on a text that has a feature more than 255 times.
    """

    def __init__(self, _features: Features, _similarity: float) -> None:
        from simhash import Simhash, SimhashIndex

        self._fingerprint = Simhash
        self._index = SimhashIndex([], k=3)

    def meet(self, number: int, text: str) -> int | None:
        """See `Matcher`."""
        try:
            fingerprint = self._fingerprint(text)
        except OverflowError:
            return None
        near = self._index.get_near_dups(fingerprint)
        if near:
            return min(map(int, near))
        self._index.add(str(number), fingerprint)
        return None


class Datasketch:
    """datasketch: MinHash of 128 permutations, and LSH."""

    def __init__(self, features: Features, similarity: float) -> None:
        from datasketch import MinHash, MinHashLSH

        self._features = features
        self._minhash = MinHash
        self._index = MinHashLSH(num_perm=128, params=_bands(similarity))

    def meet(self, number: int, text: str) -> int | None:
        """See `Matcher`."""
        features = [name.encode("utf-8", "replace") for name in self._features(text)]
        if not features:
            return None
        minhash = self._minhash(num_perm=128)
        minhash.update_batch(features)
        near = self._index.query(minhash)
        if near:
            return min(near)
        self._index.insert(number, minhash)
        return None


@cache
def _bands(similarity: float) -> tuple[int, int]:
    """How datasketch divides permutations; finding that out takes most of the time."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=similarity, num_perm=128)
    return index.b, index.r


class Gaoya:
    """gaoya: MinHash of 100 hashes in 20 bands."""

    def __init__(self, features: Features, similarity: float) -> None:
        from gaoya.minhash import MinHashStringIndex

        self._index = MinHashStringIndex(
            jaccard_threshold=similarity,
            num_bands=20,
            band_size=5,
            analyzer=lambda text: list(features(text)),
        )

    def meet(self, number: int, text: str) -> int | None:
        """See `Matcher`."""
        near = self._index.query(text)
        if near:
            return min(near)
        self._index.insert_document(number, text)
        return None


class Rensa:
    """rensa: MinHash of 128 permutations in 16 bands, of an estimated similarity."""

    def __init__(self, features: Features, similarity: float) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._features, self._similarity = features, similarity
        self._minhash = RMinHash
        self._index = RMinHashLSH(threshold=similarity, num_perm=128, num_bands=16)
        self._kept: dict[int, Any] = {}

    def meet(self, number: int, text: str) -> int | None:
        """See `Matcher`."""
        minhash = self._minhash(num_perm=128, seed=1)
        minhash.update(list(self._features(text)))
        near = [
            one
            for one in self._index.query(minhash)
            if minhash.jaccard(self._kept[one]) >= self._similarity
        ]
        if near:
            return min(near)
        self._index.insert(number, minhash)
        self._kept[number] = minhash
        return None


PEERS: dict[str, Callable[[Features, float], Matcher]] = {
    "simhash": Simhash,
    "datasketch": Datasketch,
    "gaoya": Gaoya,
    "rensa": Rensa,
}
