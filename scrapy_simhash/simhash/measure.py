"""What a Hamming distance of two fingerprints means: a similarity, near-duplicates or not."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BITS",
    "FEW_FEATURES",
    "distance",
    "expected_distance",
    "hamming",
    "is_near",
    "limits",
    "similarity",
    "similarity_at",
    "within",
]

BITS = 128

#: Below as many distinct features an estimate says nothing: only an equal fingerprint counts.
FEW_FEATURES = 8


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


def hamming(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The Hamming distances of fingerprints given as bytes.

    Args:
        a: shape (..., bytes), any byte order, the same in both.
        b: as many bytes; the other axes are broadcast.

    Returns:
        shape (...).
    """
    distances: NDArray[np.int64] = np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.int64)
    return distances


def is_near(distance: int, feature_count: int, other_count: int, limit: int) -> bool:
    """Whether two documents are near-duplicates, as far as their fingerprints tell.

    Args:
        distance: of the fingerprints, in bits.
        feature_count: how many distinct features the one has.
        other_count: how many the other has.
        limit: the distance up to which they are. Below `FEW_FEATURES` only equal ones are.
    """
    return distance <= (limit if min(feature_count, other_count) >= FEW_FEATURES else 0)


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
