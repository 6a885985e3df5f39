"""Fingerprints: made from hashed and weighted features, compared by their Hamming distance.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and
Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007.
"""

from __future__ import annotations

import math
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.classic.hashes import HASHES, load_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.classic.hashes import FeatureHash

__all__ = [
    "bit_sums",
    "distance",
    "expected_distance",
    "fingerprint_features",
    "limits",
    "majority",
    "similarity",
    "similarity_at",
    "within",
]

BITS = 128
_MOST_ROWS = 255  # what a byte can count to
_SIDE_BY_SIDE = 16


def majority(hashes: NDArray[np.uint64]) -> int:
    """The fingerprint of a set of features, each counting the same.

    A bit is 1 where more than half of the hashes have it. On an even split it is that of the first
    hash: 0 for every tie would pull the fingerprints of small sets together.

    Args:
        hashes: One row a feature and one column per 64 bits, lowest bits first; at least one row.
            In an order that depends on the set alone.

    Returns:
        A fingerprint of 64 bits a column.
    """
    # The bit of the first hash decides where it can: twice the ones are the rows only on a tie.
    first = np.unpackbits(hashes[0].view(np.uint8), bitorder="little")
    signs = 2 * _ones(hashes) + first > len(hashes)
    return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


def _ones(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many of the rows have each bit."""
    rows, columns = hashes.shape
    # Many rows side by side make few and long additions, which is what numpy is fast at.
    wide = np.zeros((-(-rows // _SIDE_BY_SIDE), _SIDE_BY_SIDE * columns), np.uint64)
    wide.reshape(-1)[: hashes.size] = hashes.reshape(-1)
    packed = wide.view(np.uint8)
    counts = np.zeros(packed.shape[1] * 8, np.int64)
    for start in range(0, len(packed), _MOST_ROWS):
        bits = np.unpackbits(packed[start : start + _MOST_ROWS], axis=1, bitorder="little")
        counts += np.add.reduce(bits, axis=0, dtype=np.uint8)
    total: NDArray[np.int64] = counts.reshape(_SIDE_BY_SIDE, -1).sum(axis=0)
    return total


def bit_sums(hashes: Sequence[int], weights: Sequence[float], bits: int) -> NDArray[np.float64]:
    """Add up the weights of the features for every bit: plus where it is 1, minus where it is 0.

    Args:
        hashes: Unsigned integers of at most `bits` bits, one a feature.
        weights: As many finite numbers.
        bits: The width.

    Returns:
        The sums, of shape (bits,), the lowest bit first. Their signs are exact, whatever the order
        of the features.
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
    # A sum that should be 0 but is the rounding error of many would get an accidental sign.
    for bit in np.flatnonzero(np.abs(sums) <= 1e-9 * np.abs(values).sum()):
        sums[bit] = math.fsum(
            weight if value >> int(bit) & 1 else -weight
            for value, weight in zip(hashes, weights, strict=True)
        )
    return sums


def signs(sums: NDArray[np.float64], tie: str = ">") -> int:
    """The fingerprint that has a 1 where a sum is positive.

    Args:
        sums: As `bit_sums` returns them.
        tie: ">" where a sum of 0 gives a 0, ">=" where it gives a 1.
    """
    ones = sums >= 0 if tie == ">=" else sums > 0
    return int.from_bytes(np.packbits(ones, bitorder="little").tobytes(), "little")


def fingerprint_features(
    features: Mapping[Any, float],
    *,
    hash: str | Mapping[Any, int] | FeatureHash = "fnv1a",  # noqa: A002
    bits: int = 64,
    tie: str = ">",
) -> int | None:
    """The fingerprint of weighted features: SimHash as the literature describes it.

    Every feature is hashed; its weight is added for each bit of the hash that is 1 and taken away
    for each that is 0; the signs of the sums are the fingerprint. That is the side of `bits`
    random hyperplanes on which the vector of the features lies.

    Args:
        features: Any real weight of each feature: a word, or whatever a mapping or a function
            given as `hash` takes.
        hash: See `scrapy_simhash.classic.hashes.load_hash`.
        bits: The width of the fingerprint, 1 to 160.
        tie: The rule for a sum of 0: ">" makes it a 0, ">=" a 1.

    Returns:
        An unsigned integer, or None where no feature counts.

    Raises:
        TypeError: If a weight, a hash or the width is of another type.
        ValueError: If a weight is infinite or no number, or an argument is out of its range.
    """
    _, function = load_hash(hash, bits)
    check_tie(tie)
    check_weights(features)
    if isinstance(hash, str) and hash in HASHES:
        for feature in features:
            if not isinstance(feature, str):
                raise TypeError(
                    f"features: {feature!r} is no string, which the hash {hash!r} takes"
                )
    hashed = [(function(feature), weight) for feature, weight in features.items()]
    counting = [(value, weight) for value, weight in hashed if value is not None and weight]
    if not counting:
        return None
    values, weights = zip(*counting, strict=True)
    return signs(bit_sums(values, weights, bits), tie)


def check_tie(tie: str) -> None:
    """Refuse a rule for even sums that there is not."""
    if tie not in (">", ">="):
        raise ValueError(f"tie: {tie!r}; allowed are '>' (a sum of 0 makes a 0) and '>=' (a 1)")


def check_weights(weights: Mapping[Any, float]) -> None:
    """Refuse weights that are no finite numbers."""
    for feature, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise TypeError(f"weights: {weight!r}, the weight of {feature!r}, is no number")
        if not math.isfinite(weight):
            raise ValueError(f"weights: {weight!r}, the weight of {feature!r}, is not finite")


def distance(a: int, b: int) -> int:
    """The Hamming distance of two fingerprints: the number of bits in which they differ.

    Raises:
        TypeError: If one of them is no integer.
        ValueError: If one of them is negative.
    """
    return _difference(a, b).bit_count()


def within(a: int, b: int, n: int = 3) -> bool:
    """Whether two fingerprints differ in at most `n` bits.

    Clears one differing bit after the other and stops at the first one too many, as `isEqual` of
    the literature does. `distance(a, b) <= n` says the same, and in Python sooner.

    Raises:
        TypeError: If a fingerprint is no integer.
        ValueError: If a fingerprint is negative.
    """
    difference = _difference(a, b)
    count = 0
    while difference and count <= n:
        difference &= difference - 1
        count += 1
    return count <= n


def _difference(a: int, b: int) -> int:
    if a is None or b is None:
        raise TypeError("a text without a fingerprint (None) has no distance to any other")
    a, b = index(a), index(b)
    if a < 0 or b < 0:
        raise ValueError(
            f"a fingerprint is an unsigned integer, not {min(a, b)}; a signed 64-bit value from a "
            "database needs & 0xFFFFFFFFFFFFFFFF"
        )
    return a ^ b


def similarity(a: int, b: int, *, bits: int = BITS) -> float:
    """Estimate how similar two texts are from their fingerprints.

    Args:
        a: A fingerprint.
        b: Another one of the same scheme.
        bits: The width of both.

    Returns:
        The estimated Jaccard similarity of their features, from 0 to 1. Its standard error with
        128 bits is about .08 at .8 and .04 at .95.

    Raises:
        TypeError: If a fingerprint is no integer.
        ValueError: If a fingerprint is negative or wider than `bits`.
    """
    difference = _difference(a, b)
    if max(a, b) >> bits:
        raise ValueError(f"the fingerprint {max(a, b):#x} has more than {bits} bits")
    return similarity_at(difference.bit_count(), bits)


def similarity_at(distance: float, bits: int = BITS) -> float:
    """The Jaccard similarity at which a distance is expected; inverts `expected_distance`.

    Args:
        distance: A Hamming distance, from 0 to `bits`.
        bits: The width of the fingerprints.

    Returns:
        A similarity from 1 down to 0, which is where half of the bits differ or more.

    Raises:
        ValueError: If the distance is outside of its range.
    """
    if not 0 <= distance <= bits:
        raise ValueError(f"a distance of {bits}-bit fingerprints is from 0 to {bits}: {distance}")
    cosine = max(0.0, math.cos(math.pi * distance / bits))
    return cosine / (2 - cosine)


def expected_distance(similarity: float, bits: int = BITS) -> float:
    """The mean distance of the fingerprints of two texts of a given Jaccard similarity.

    Every bit differs with the probability of a random hyperplane to part two vectors, their angle
    divided by pi (Charikar 2002). Two sets of about one size and of Jaccard similarity J are at
    the cosine 2J / (1 + J).

    Args:
        similarity: A Jaccard similarity, from 0 to 1.
        bits: The width of the fingerprints.

    Returns:
        A distance from 0 to bits / 2.

    Raises:
        ValueError: If the similarity is outside of its range.
    """
    if not 0 <= similarity <= 1:
        raise ValueError(f"a similarity is from 0 to 1: {similarity}")
    return bits * math.acos(2 * similarity / (1 + similarity)) / math.pi


def limits(similarity: float) -> tuple[int, int]:
    """The distances up to which two texts are taken for `similarity` alike or more.

    The distance of a pair is binomial. The limit on all 128 bits is the least that accepts a pair
    of exactly the similarity asked for with a probability of 1 - 1.25 (1 - similarity): .75 at .8,
    .94 at .95. Pairs above it, which is where nearly all duplicates are, are accepted more surely.
    Half of the differing bits of a pair fall on the low 64 bits; their limit, which makes a
    candidate only, stays just below that half, because every bit more multiplies the candidates.

    Args:
        similarity: The Jaccard similarity asked for, from 0.7 to 1.

    Returns:
        `(k1, k2)`: the limit on the low 64 bits and the one on all 128. (10, 22) at .8, (8, 17) at
        .9, (6, 14) at .95, (0, 0) at 1.

    Raises:
        ValueError: If the similarity is outside of its range.
    """
    if not 0.7 <= similarity <= 1:
        raise ValueError(f"a similarity to ask for is from 0.7 to 1: {similarity}")
    differs = expected_distance(similarity, 1)
    wanted = 1 - 1.25 * (1 - similarity) - 1e-12  # less what the sum may lose in rounding
    k2 = 0
    accepted = (1 - differs) ** BITS
    while accepted < wanted:
        k2 += 1
        accepted += math.comb(BITS, k2) * differs**k2 * (1 - differs) ** (BITS - k2)
    return max(0, (k2 - 1) // 2), k2
