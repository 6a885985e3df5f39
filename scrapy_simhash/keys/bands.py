"""MinHash bands (LSH): keys that similar sets of shingles share with a known probability.

Two documents meet if they share a key in one slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.features.shingles import mix64

if TYPE_CHECKING:
    from scrapy_simhash.simhash.scheme import Sketch


_GOLDEN = 0x9E3779B97F4A7C15
MOST_SLOTS = 128
_MOST_BINS = 512

# The bands from a similarity on. By benchmarks/bands.py, each finds a pair of exactly that
# similarity with a probability of .985 or more. More rows meet fewer other texts, which matters if
# the pages of a site have much in common; more bands cost more writing. With four plans only, a
# change of the similarity rarely needs new keys.
_BANDS_FROM = ((1.0, (1, 16)), (0.9, (6, 6)), (0.8, (8, 4)), (0.7, (16, 4)))


@dataclass(frozen=True)
class Bands:
    """MinHash bands: equal for equal sets of shingles, likely to be for similar ones.

    One-permutation hashing (Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012): the range of
    the hashes is cut into `bands * rows` bins, and each gives its least hash. An empty bin takes
    the value of the first bin that is not empty, in a random but fixed order of its own
    (Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML 2017). Two
    texts agree in a bin with the probability of their Jaccard similarity. Band j is made of the
    bins j, j + bands, j + 2 bands, ...: bins far apart.

    Each of the bands is a key of a document; all of its bins, as many as rows, must agree.
    """

    bands: int = 8
    rows: int = 4

    needs_shingles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (
            min(self.bands, self.rows) < 1
            or self.bands > MOST_SLOTS
            or self.bands * self.rows > _MOST_BINS
        ):
            raise ValueError(
                f"{self.bands} bands of {self.rows} rows: allowed are 1 to {MOST_SLOTS} bands of "
                f"1 row or more, and {_MOST_BINS} rows in all"
            )

    @property
    def id(self) -> str:
        """The id from which `load_keys` makes the same keys."""
        return f"bands {self.bands}x{self.rows}"

    @property
    def slots(self) -> int:
        """The number of keys stored for a document."""
        return self.bands

    def recall(self, similarity: float) -> float:
        """The probability that two texts of a Jaccard similarity meet.

        Measured, it holds within .02 for texts of 8 to 31 shingles, and within chance above.
        """
        return 1 - (1 - similarity**self.rows) ** self.bands

    def keys(self, sketch: Sketch) -> NDArray[np.int32]:
        """The keys to store, and to look up, of shape (slots,).

        Raises TypeError without shingles, as of a bare fingerprint, ValueError if there is none.
        """
        if sketch.shingles is None:
            raise TypeError(
                "bands need shingles, which this sketch does not have: its scheme has none, or it "
                "is a bare fingerprint. Use blocks"
            )
        if not sketch.shingles.size:
            raise ValueError("a text without a single shingle has no keys")
        bins = _bins(self.bands * self.rows)
        if native.core is not None:
            hashes = np.ascontiguousarray(sketch.shingles, np.uint64)
            return np.frombuffer(native.core.bands(hashes, *bins, self.bands), np.int32)
        starts, orders, factors = bins
        first = sketch.shingles.searchsorted(starts)
        filled = first < np.append(first[1:], sketch.shingles.size)
        # Every order begins with the bin itself.
        turn = filled[orders].argmax(axis=1)
        chosen = first[orders[np.arange(len(orders)), turn]]
        terms = sketch.shingles[chosen] * factors
        keys = mix64(terms.reshape(self.rows, self.bands).sum(axis=0, dtype=np.uint64))
        return keys.astype(np.uint32).view(np.int32)


@cache
def _bins(count: int) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """The constants of a number of bins, which must never change.

    The start of each bin; the order in which bins are tried for its value, itself first; an odd
    factor.
    """
    starts = [-(-(number << 64) // count) for number in range(count)]
    # SplitMix64 from seed 0: the same on every machine.
    states = np.arange(1, count * count + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    random = mix64(states).reshape(count, count)
    factors = random.diagonal() | np.uint64(1)
    np.fill_diagonal(random, 0)
    return np.array(starts, np.uint64), random.argsort(axis=1).astype(np.int64), factors


def bands_for(similarity: float) -> Bands:
    """The bands with a recall of .985 or more at a Jaccard similarity, and 1 for equal sets."""
    if not 0.7 <= similarity <= 1:
        raise ValueError(f"a similarity is from 0.7 to 1 here: {similarity}")
    return next(Bands(*plan) for least, plan in _BANDS_FROM if similarity >= least)
