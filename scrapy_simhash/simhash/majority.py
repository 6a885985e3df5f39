"""Features to a fingerprint: the side of random hyperplanes on which their sum lies.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and
Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

__all__ = ["bit_sums", "check_tie", "check_weights", "majority", "signs"]

_MOST_ROWS = 255  # what a byte can count to
_SIDE_BY_SIDE = 16


def majority(hashes: NDArray[np.uint64]) -> int:
    """The fingerprint of a set of features, each counting the same.

    A bit is 1 where more than half of the hashes have it. On an even split one of the hashes
    decides: 0 for every tie would pull the fingerprints of small sets together. For each bit it is
    another one, so that a feature that changes turns few ties with it.

    Args:
        hashes: One row a feature and one column per 64 bits, lowest bits first; at least one row.
            Sorted by the first column, and that evenly spread.

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
    """What the bits are whose sums are even.

    The range of the first column is cut into as many parts as there are bits. Each part gives the
    first hash from its beginning on, and that its bit: of the last column, since what the first one
    has follows from the part.
    """
    width = 64 * hashes.shape[1]
    rows = hashes[:, 0].searchsorted(ties * np.uint64(2**64 // width))
    # After the last hash comes the first one again.
    deciding = hashes[:, -1].take(rows, mode="wrap")
    return deciding >> (ties & np.uint64(63)) & np.uint64(1)


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
