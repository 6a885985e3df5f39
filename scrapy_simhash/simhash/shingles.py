"""The default scheme, which reduces the pairs of neighbouring tokens of a text to 128 bits.

A fingerprint tells on which side of random hyperplanes the sum of the features lies (Charikar,
"Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and Das Sarma,
"Detecting Near-Duplicates for Web Crawling", WWW 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.features.shingles import (
    compiled_sketches,
    mix64,
    shingle_names,
    shingles_and_digest,
)
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part

# The low 64 bits of a feature plus this number make its high bits when they are mixed.
_SECOND = 0x9E3779B97F4A7C15


class Shingles:
    """The default scheme: the set of a text's pairs of neighbouring tokens, on 128 bits.

    The low 64 bits are what `shingles` hashes each pair to, the high ones a second mix of it. In
    scripts without spaces it is four letters in a row.
    """

    # The number changes whenever fingerprints change; the rest is information.
    id: str = "shingles/2 tokens=2,4 hash=poly+splitmix64 bits=128 tie=bit fold=unicode14"
    bits: ClassVar[int] = 128
    has_shingles: ClassVar[bool] = True

    _secret = b""

    def keyed(self, secret: bytes) -> Self:
        """The scheme keyed with the secret of a database."""
        scheme = copy(self)
        scheme._secret = secret
        scheme.id = f"{type(self).id} {key_part(secret)}"
        return scheme

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint and its shingles."""
        return self.sketch_all([text])[0]

    def sketch_all(self, texts: list[str]) -> list[Sketch]:
        """Reduce texts to their fingerprints and shingles; others may run meanwhile."""
        if (core := native.core) is None:
            return [self._sketch(text) for text in texts]
        return [*map(_unpacked, compiled_sketches(core, texts, self._secret, _SECOND))]

    def _sketch(self, text: str) -> Sketch:
        low, digest = shingles_and_digest(text, self._secret)
        if not low.size:
            return Sketch(None, 0, low)
        return Sketch(majority(self._words(low)), low.size, low, digest)

    def explain(self, text: str) -> Explanation:
        """The steps from a text to its fingerprint."""
        names = shingle_names(text, self._secret)
        words = self._words(np.array(list(names.values()), np.uint64))
        hashes = [int(high) << 64 | int(low) for low, high in words]
        features = [Feature(name, 1, hash_) for name, hash_ in zip(names, hashes, strict=True)]
        sums = bit_sums(hashes, [1] * len(hashes), self.bits)
        return Explanation(
            scheme=self.id,
            bits=self.bits,
            tokens=tokens(text),
            left_out=[],
            features=features,
            sums=sums[::-1].tolist(),
            fingerprint=self.sketch(text).fingerprint,
        )

    def _words(self, low: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The low and the high 64 bits of features."""
        return np.stack([low, mix64(low + np.uint64(_SECOND))], axis=1)


def _unpacked(sketch: bytes) -> Sketch:
    """A sketch as the core makes it: the fingerprint, the digest, then the shingles."""
    if not sketch:
        return Sketch(None, 0, np.empty(0, np.uint64))
    words = np.frombuffer(sketch, np.uint64)
    low, high = words[:2].tolist()
    return Sketch(high << 64 | low, len(words) - 3, words[3:], int(words.view(np.int64)[2]))


def fingerprint(text: str) -> int | None:
    """The fingerprint of a text by the default scheme, without a secret: the same everywhere.

    A database has fingerprints with a secret of its own, which `Index.scheme` makes.

    Returns:
        An unsigned integer of 128 bits, or None for a text of fewer than two tokens.

    >>> fingerprint("Goats at sea") == fingerprint("GOATS: at sea!")
    True
    >>> fingerprint("Goats") is None
    True
    """
    return _DEFAULT.sketch(text).fingerprint


_DEFAULT = Shingles()

# The highest number that a byte can count to.
_MOST_ROWS = 255


def majority(hashes: NDArray[np.uint64]) -> int:
    """The fingerprint of a set of features, each counting the same.

    A bit is 1 if more than half of the hashes have it. Each tie is broken by a different hash. With
    0 for every tie the fingerprints of small sets would be similar, and with the same hash for all
    ties one changed feature would flip many of them.

    Args:
        hashes: A row for each feature, at least one, and a column for each 64 bits, the lowest
            first. The rows are sorted by the first column, which is evenly spread.
    """
    twice = 2 * _ones(hashes)
    signs = twice > len(hashes)
    if len(hashes) % 2 == 0:
        ties = np.flatnonzero(twice == len(hashes))
        signs[ties] = _tie_breakers(hashes, ties.view(np.uint64))
    return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


def _tie_breakers(hashes: NDArray[np.uint64], ties: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bits that break ties.

    The range of the first column is cut into a part for each bit, and the first hash from the
    beginning of the part decides. Its bit is taken from the last column, which does not depend on
    the part.
    """
    width = 64 * hashes.shape[1]
    rows = hashes[:, 0].searchsorted(ties * np.uint64(2**64 // width))
    # The first hash follows the last one.
    deciding = hashes[:, -1].take(rows, mode="wrap")
    return deciding >> (ties & np.uint64(63)) & np.uint64(1)


def _ones(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of rows that have each bit."""
    packed = hashes.view(np.uint8)
    counts = np.zeros(packed.shape[1] * 8, np.int64)
    for start in range(0, len(packed), _MOST_ROWS):
        bits = np.unpackbits(packed[start : start + _MOST_ROWS], axis=1, bitorder="little")
        counts += np.add.reduce(bits, axis=0, dtype=np.uint8)
    return counts


def bit_sums(hashes: Sequence[int], weights: Sequence[float], bits: int) -> NDArray[np.float64]:
    """Add up the weights for every bit: plus if the bit of a hash is 1, minus if it is 0.

    The lowest bit comes first. The signs of the sums are exact and do not depend on the order of
    the features, each an unsigned integer of at most `bits` bits with a finite weight.
    """
    width = -(-bits // 8)
    sums = np.zeros(bits)
    values = np.asarray(weights, np.float64)
    for start in range(0, len(hashes), _MOST_ROWS):
        rows = slice(start, start + _MOST_ROWS)
        packed = b"".join([value.to_bytes(width, "little") for value in hashes[rows]])
        table = np.frombuffer(packed, np.uint8).reshape(-1, width)
        ones = np.unpackbits(table, axis=1, count=bits, bitorder="little")
        sums += (values[rows, None] * (2.0 * ones - 1)).sum(axis=0)
    # Sums near 0 are added again, exactly: a rounding error would give them a random sign.
    for bit in np.flatnonzero(np.abs(sums) <= 1e-9 * np.abs(values).sum()):
        sums[bit] = math.fsum(
            weight if value >> int(bit) & 1 else -weight
            for value, weight in zip(hashes, weights, strict=True)
        )
    return sums


def signs(sums: NDArray[np.float64], tie: str = ">") -> int:
    """The fingerprint with a 1 for every positive sum of `bit_sums`; for 0 too if tie is ">="."""
    ones = sums >= 0 if tie == ">=" else sums > 0
    return int.from_bytes(np.packbits(ones, bitorder="little").tobytes(), "little")


def check_tie(tie: str) -> None:
    """Raise ValueError for an unknown rule for sums of 0."""
    if tie not in (">", ">="):
        raise ValueError(f"tie: {tie!r}; allowed are '>' (a sum of 0 makes a 0) and '>=' (a 1)")


def check_weights(weights: Mapping[Any, float]) -> None:
    """Raise TypeError or ValueError for weights that are not finite numbers."""
    for feature, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise TypeError(f"weights: {weight!r}, the weight of {feature!r}, is not a number")
        if not math.isfinite(weight):
            raise ValueError(f"weights: {weight!r}, the weight of {feature!r}, is not finite")
