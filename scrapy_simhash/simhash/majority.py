"""Fingerprints from features: the side of random hyperplanes on which their sum lies.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and
Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_ROWS = 255  # what a byte can count to
_SIDE_BY_SIDE = 16


def majority(hashes: NDArray[np.uint64]) -> int:
    """The fingerprint of a set of features, each counting the same.

    A bit is 1 if more than half of the hashes have it. Ties are broken by one of the hashes,
    another one for each bit: with 0 for every tie the fingerprints of small sets would be similar,
    and with a single hash one changed feature would flip many ties.

    Args:
        hashes: one row a feature and one column per 64 bits, lowest bits first; at least one row.
            Sorted by the first column, which is evenly spread.

    Returns:
        A fingerprint of 64 bits a column.
    """
    twice = 2 * _ones(hashes)
    signs = twice > len(hashes)
    if len(hashes) % 2 == 0:
        ties = np.flatnonzero(twice == len(hashes))
        signs[ties] = _tie_breakers(hashes, ties.view(np.uint64))
    return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


def _tie_breakers(hashes: NDArray[np.uint64], ties: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bits of ties.

    The range of the first column is cut into one part a bit; the first hash from the beginning of
    the part decides. Its bit is taken from the last column, which does not depend on the part.
    """
    width = 64 * hashes.shape[1]
    rows = hashes[:, 0].searchsorted(ties * np.uint64(2**64 // width))
    # Behind the last hash the first one follows again.
    deciding = hashes[:, -1].take(rows, mode="wrap")
    return deciding >> (ties & np.uint64(63)) & np.uint64(1)


def _ones(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many rows have each bit."""
    rows, columns = hashes.shape
    # Several rows side by side make fewer and longer additions, which are faster in numpy.
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
    """Sum up the weights for every bit: plus if the bit of a hash is 1, minus if it is 0.

    Args:
        hashes: unsigned integers of at most `bits` bits, one a feature.
        weights: as many finite numbers.
        bits: the width.

    Returns:
        The sums, of shape (bits,), the lowest bit first. Their signs are exact and do not depend on
        the order of the features.
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
    # Sums near 0 once more, exactly: a rounding error would give them a random sign.
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
