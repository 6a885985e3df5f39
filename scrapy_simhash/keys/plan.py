"""Blocks, parts of a fingerprint as keys, which find everything within a Hamming distance.

And the choice of keys for a scheme, a similarity and a distance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import combinations, starmap
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.keys.bands import MOST_SLOTS, Bands, bands_for
from scrapy_simhash.simhash.measure import BITS
from scrapy_simhash.simhash.scheme import Scheme, Sketch, has_shingles, own_distance

#: A band shared by this many claims is hot: no more are stored under it. Otherwise a template that
#: is on every page of a site would make each claim read all of them.
HOT_KEY = 16

_MOST_LOOKUPS = 100_000

# Microseconds to look up a key, to read a candidate (its key row and its fingerprint) and to store
# a key, measured with SQLite. They are for comparing plans, not for predicting times. A candidate
# among random fingerprints stands for three with real texts: measured .8 to 1.5 for different
# content, up to 10 for pages with a common template.
_LOOK_UP = 1.2
_CANDIDATE = 3 * 5.0
_STORE = 16.0


@dataclass(frozen=True)
class Blocks:
    """Contiguous blocks of a fingerprint, looked up with all keys within a radius of each.

    With radii r_i, everything within the distance k is found if and only if the sum of r_i + 1 over
    all blocks is at least k + 1. The radii are chosen for each query, so that one table serves any
    distance. (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, is
    the case of radius 0; Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index
    Hashing", CVPR 2012, that of equal radii.)

    Block 0 is the lowest bits of the fingerprint, and so on upwards. Bits above the last block are
    not used: two fingerprints are no farther apart on fewer bits.
    """

    widths: tuple[int, ...] = (22, 21, 21)

    needs_shingles: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.widths) <= MOST_SLOTS or not all(1 <= w <= 32 for w in self.widths):
            raise ValueError(
                f"blocks of {self.widths} bits: allowed are 1 to {MOST_SLOTS} blocks of 1 to 32 "
                "bits"
            )

    @property
    def id(self) -> str:
        """The id from which `load_keys` makes the same keys."""
        return "blocks " + "+".join(map(str, self.widths))

    @property
    def slots(self) -> int:
        """The number of keys stored for a document."""
        return len(self.widths)

    @property
    def bits(self) -> int:
        """The number of bits of a fingerprint in the keys: the lowest."""
        return sum(self.widths)

    def keys(self, sketch: Sketch) -> NDArray[np.int32]:
        """The keys to store, of shape (slots,); ValueError without a fingerprint."""
        if sketch.fingerprint is None:
            raise ValueError("a text without a fingerprint has no keys")
        rest = sketch.fingerprint
        keys = []
        for width in self.widths:
            keys.append(rest & ((1 << width) - 1))
            rest >>= width
        return np.array(keys, np.uint32).view(np.int32)

    def radii(self, distance: int) -> tuple[int, ...]:
        """The radius of each block for a distance; -1 for a block that is not searched.

        As even as possible; larger for wider blocks, which are more selective.
        """
        if distance < 0:
            raise ValueError(f"a distance is 0 or more, not {distance}")
        each, farther = divmod(distance + 1, len(self.widths))
        widest = sorted(range(len(self.widths)), key=lambda block: -self.widths[block])
        radii = [each - 1] * len(self.widths)
        for block in widest[:farther]:
            radii[block] += 1
        return tuple(radii)

    def flips(self, distance: int) -> list[NDArray[np.int32]]:
        """The masks whose exclusive or with a key gives the keys to look up within a distance.

        An array for each slot, with 0 first; empty for a slot that is not searched. Raises
        ValueError for a distance that is negative, or takes too many lookups.
        """
        lookups = self.lookups(distance)
        if lookups > _MOST_LOOKUPS:
            raise ValueError(
                f"{self.id!r} takes {lookups} lookups a document for the distance {distance}; "
                f"allowed are {_MOST_LOOKUPS}. Use keys for this distance, or a smaller distance"
            )
        return list(starmap(_flips, zip(self.widths, self.radii(distance), strict=True)))

    def lookups(self, distance: int) -> int:
        """The number of keys that are looked up for a document."""
        return sum(map(_ball, self.widths, self.radii(distance)))

    def candidates(self, distance: int, size: int) -> float:
        """The expected number of candidates among documents with random fingerprints."""
        balls = zip(self.widths, map(_ball, self.widths, self.radii(distance)), strict=True)
        return size * sum(ball / (1 << width) for width, ball in balls)

    def cost(self, distance: int, size: int) -> float:
        """The rough cost in microseconds of one more document, to compare plans by."""
        return (
            _LOOK_UP * self.lookups(distance)
            + _CANDIDATE * self.candidates(distance, size)
            + _STORE * self.slots
        )


@cache
def _ball(width: int, radius: int) -> int:
    """The number of keys within a radius of one."""
    return sum(comb(width, flips) for flips in range(radius + 1))


@cache
def _flips(width: int, radius: int) -> NDArray[np.int32]:
    """All keys of a width with up to `radius` bits set, the fewest first."""
    masks = [
        sum(1 << bit for bit in bits)
        for flips in range(radius + 1)
        for bits in combinations(range(width), flips)
    ]
    flips = np.array(masks, np.uint32).view(np.int32)
    flips.setflags(write=False)
    return flips


def blocks_for(bits: int, distance: int, expected_size: int = 1_000_000) -> Blocks:
    """The blocks of the lowest cost to miss nothing within a Hamming distance.

    Tries all numbers of blocks of even widths over the low bits or all of them: with more bits
    there are fewer candidates, with more blocks smaller radii. For a very large distance the choice
    amounts to reading everything.
    """
    if bits < 1 or distance < 0 or expected_size < 0:
        raise ValueError(
            f"no blocks for {bits} bits, the distance {distance} and {expected_size} documents: "
            "allowed are 1 bit or more, a distance and a number of 0 or more"
        )
    plans = [
        plan
        for count in range(1, min(distance + 1, bits, MOST_SLOTS) + 1)
        for total in range(count, min(bits, 32 * count) + 1)
        if (plan := Blocks(_even(total, count))).lookups(distance) <= _MOST_LOOKUPS
    ]
    return min(plans, key=lambda plan: plan.cost(distance, expected_size))


def _even(total: int, count: int) -> tuple[int, ...]:
    """Widths that differ by one bit at most, the wider ones first."""
    width, wider = divmod(total, count)
    return (width + 1,) * wider + (width,) * (count - wider)


@cache
def load_keys(id: str) -> Bands | Blocks:  # noqa: A002
    """Make keys from an id such as "bands 8x4" or "blocks 22+21+21"; ValueError for others."""
    if match := re.fullmatch(r"bands ([1-9]\d{0,2})x([1-9]\d{0,2})", id, re.ASCII):
        return Bands(int(match[1]), int(match[2]))
    if re.fullmatch(r"blocks [1-9]\d?(\+[1-9]\d?)*", id, re.ASCII):
        return Blocks(tuple(map(int, id.removeprefix("blocks ").split("+"))))
    raise ValueError(f"{id!r} is not an id of keys, such as 'bands 8x4' or 'blocks 22+21+21'")


def distance_of(scheme: Scheme, distance: int | None) -> int | None:
    """The distance up to which documents are duplicates; None if their similarity decides.

    By default that of the scheme. Raises ValueError for one out of range, or for none if the scheme
    has no shingles.
    """
    distance = own_distance(scheme) if distance is None else distance
    if distance is None and not (has_shingles(scheme) and scheme.bits == BITS):
        raise ValueError(
            f"a similarity needs shingles, and fingerprints of {BITS} bits; {scheme.id!r} has "
            f"{scheme.bits} bits: a distance is needed"
        )
    if distance is not None and not 0 <= distance <= scheme.bits // 2:
        raise ValueError(
            f"distance {distance}: allowed is 0 to {scheme.bits // 2}, half the bits of "
            f"{scheme.id!r}"
        )
    return distance


def choose_keys(
    scheme: Scheme, similarity: float, distance: int | None, *, expected_size: int = 1_000_000
) -> Bands | Blocks:
    """Bands for a similarity, blocks for a distance; raises as `distance_of` and `bands_for`."""
    distance = distance_of(scheme, distance)
    if distance is None:
        return bands_for(similarity)
    return blocks_for(scheme.bits, distance, expected_size)
