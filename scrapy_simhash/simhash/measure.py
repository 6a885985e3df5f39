"""Distances and similarities of fingerprints, and the limit for a similarity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native

#: The width of the fingerprints of the default scheme.
BITS = 128
# The share of similar texts that are candidates.
_SURELY = 0.999

#: Texts with fewer distinct features are similar only if their fingerprints are equal.
FEW_FEATURES = 8


def distance(a: int, b: int) -> int:
    """The Hamming distance of two fingerprints: the number of bits in which they differ.

    Raises:
        TypeError: If one of them is not an integer.
        ValueError: If one of them is negative.

    >>> distance(0b1011, 0b0010)
    2
    """
    try:
        a, b = index(a), index(b)
    except TypeError as error:
        raise TypeError(
            "fingerprints are integers, as fingerprint(text) returns them, not "
            f"{type(a).__name__} and {type(b).__name__}; None stands for a text that is too short"
        ) from error
    if a < 0 or b < 0:
        raise ValueError(
            f"a fingerprint is an unsigned integer, not {min(a, b)}; a signed 64-bit value from a "
            "database needs & 0xFFFFFFFFFFFFFFFF"
        )
    return (a ^ b).bit_count()


def hamming(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The Hamming distances of many packed fingerprints.

    The last axis has the bytes of a fingerprint, the other axes are broadcast. The result has the
    shape without the last axis.
    """
    # Eight bytes at a time if possible, and no array of all differing bits.
    word: Any = np.uint64 if a.shape[-1] % 8 == 0 else np.uint8
    words_a: NDArray[Any] = np.ascontiguousarray(a).view(word)
    words_b: NDArray[Any] = np.ascontiguousarray(b).view(word)
    total = np.zeros(np.broadcast_shapes(a.shape[:-1], b.shape[:-1]), np.uint16)
    for place in range(words_a.shape[-1]):
        total += np.bitwise_count(words_a[..., place] ^ words_b[..., place])
    return total


def jaccard(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """The exact Jaccard similarity of two sets of sorted distinct hashes; 0 for two empty sets."""
    (similarity,) = jaccards(
        np.ascontiguousarray(a, np.uint64), [np.ascontiguousarray(b, np.uint64)]
    )
    return similarity


def jaccards(hashes: NDArray[np.uint64], others: Sequence[NDArray[np.uint64]]) -> list[float]:
    """The exact Jaccard similarities of one set and each of the others, see :func:`common`."""
    counts, size = np.array(common(hashes, [*others]), np.int64), hashes.size
    sizes = np.array([other.size for other in others], np.int64)
    found: list[float] = (counts / np.maximum(1, size + sizes - counts)).tolist()
    return found


def common(
    hashes: NDArray[np.uint64], others: list[NDArray[np.uint64]], least: float = 0.0
) -> list[int]:
    """How many hashes one set has in common with each of the others.

    The arrays are sorted, distinct and contiguous. The number is -1 if the Jaccard similarity is
    less than `least`.
    """
    if native.core is not None:
        return native.core.common(hashes, others, least)
    counts = [int(np.intersect1d(hashes, other, assume_unique=True).size) for other in others]
    enough = [least * (hashes.size + other.size) / (1 + least) - 1e-6 for other in others]
    return [-1 if count < bound else count for count, bound in zip(counts, enough, strict=True)]


def similarity(a: int, b: int, *, bits: int = BITS) -> float:
    """Estimate how similar two texts are from their fingerprints.

    Args:
        a: A fingerprint.
        b: A fingerprint of the same scheme.
        bits: The width of both.

    Returns:
        The estimated Jaccard similarity of their features, from 0 to 1. Its standard error with
        128 bits is about .08 at .8 and .04 at .95.

    Raises:
        TypeError: If a fingerprint is no integer.
        ValueError: If a fingerprint is negative or wider than `bits`.

    >>> similarity(0, 0)
    1.0
    >>> round(similarity(0, 2**16 - 1), 2)  # 16 of 128 bits differ
    0.86
    """
    differing = distance(a, b)
    if max(a, b) >> bits:
        raise ValueError(f"the fingerprint {max(a, b):#x} has more than {bits} bits")
    return similarity_at(differing, bits)


def similarity_at(distance: float, bits: int = BITS) -> float:
    """The Jaccard similarity at which a distance is expected: the inverse of `expected_distance`.

    It is 0 if half of the bits or more differ. Raises ValueError unless 0 <= distance <= bits.
    """
    if not 0 <= distance <= bits:
        raise ValueError(f"a distance of {bits}-bit fingerprints is from 0 to {bits}: {distance}")
    cosine = max(0.0, math.cos(math.pi * distance / bits))
    return cosine / (2 - cosine)


def expected_distance(similarity: float, bits: int = BITS) -> float:
    """The mean distance of the fingerprints of two texts of a given Jaccard similarity.

    A random hyperplane separates two vectors, so that a bit differs, with the probability of their
    angle divided by pi (Charikar 2002). Two sets of about the same size with Jaccard similarity J
    have the cosine 2J / (1 + J). Raises ValueError unless 0 <= similarity <= 1.
    """
    if not 0 <= similarity <= 1:
        raise ValueError(f"a similarity is from 0 to 1: {similarity}")
    return bits * math.acos(2 * similarity / (1 + similarity)) / math.pi


def candidate_limit(similarity: float) -> int:
    """The distance within which texts are compared by their shingles: 25 at .9, 33 at .8, 0 at 1.

    Of the texts with exactly that Jaccard similarity, one in a thousand lies beyond it. Raises
    ValueError unless it is from 0.7 to 1.
    """
    if not 0.7 <= similarity <= 1:
        raise ValueError(f"a similarity is from 0.7 to 1 here: {similarity}")
    differs = expected_distance(similarity, 1)
    limit, accepted = 0, (1 - differs) ** BITS
    while accepted < _SURELY:
        limit += 1
        accepted += math.comb(BITS, limit) * differs**limit * (1 - differs) ** (BITS - limit)
    return limit
