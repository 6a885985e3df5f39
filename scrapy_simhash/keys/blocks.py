"""Blocks: keys made of a fingerprint, which miss nothing within a Hamming distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, starmap
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_simhash.keys.bands import MOST_SLOTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simhash.simhash.scheme import Sketch

__all__ = ["Blocks", "blocks_for"]

_MOST_LOOKUPS = 100_000

# Microseconds for a key looked up, for a candidate it leads to (its key row and its fingerprint)
# and for a key stored, by the name of SQLAlchemy's dialect; "" is any other one. They choose
# between plans and predict no time: that depends on the disk, the network and the batch. SQLite
# was measured; of a server only the first and the last, on PostgreSQL.
_COSTS = {"sqlite": (1.2, 5.0, 16.0), "": (3.6, 3.0, 12.0)}

# The candidates that fingerprints of real texts make, per candidate of random ones: measured .8 to
# 1.5 between texts of different content, up to 10 where pages share a template.
_CLUSTERING = 3.0


@dataclass(frozen=True)
class Blocks:
    """Contiguous blocks of a fingerprint, looked up with all keys within a radius of each.

    Of k bits in error some block i of m has at most its radius r_i if and only if the sum of
    r_i + 1 is at least k + 1: nothing within the distance k is missed, and no sum less will do.
    The radii are chosen for each query, so that one table serves any distance. (Manku, Jain and
    Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, is the case of radius 0;
    Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012,
    that of m equal radii.)

    Block 0 is the lowest bits of the fingerprint, and so on upwards. Bits above the last block
    make no key: two fingerprints are no farther apart on the bits that do than on all of them.

    Attributes:
        widths: How many bits each block has, 1 to 32.
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
        """What `load_keys` makes these keys from again."""
        return "blocks " + "+".join(map(str, self.widths))

    @property
    def slots(self) -> int:
        """How many keys are stored for a document."""
        return len(self.widths)

    @property
    def bits(self) -> int:
        """How many bits of a fingerprint the keys are made of: the lowest."""
        return sum(self.widths)

    def keys(self, sketch: Sketch) -> NDArray[np.int32]:
        """The keys to store.

        Args:
            sketch: Of a text that has a fingerprint.

        Returns:
            An array of shape (slots,).

        Raises:
            ValueError: If there is no fingerprint.
        """
        if sketch.fingerprint is None:
            raise ValueError("a text without a fingerprint has no keys")
        rest = sketch.fingerprint
        keys = []
        for width in self.widths:
            keys.append(rest & ((1 << width) - 1))
            rest >>= width
        return np.array(keys, np.uint32).view(np.int32)

    def radii(self, distance: int) -> tuple[int, ...]:
        """How far from its own key each block is searched.

        As evenly as possible, the wider blocks farther: they are the more selective ones.

        Args:
            distance: The distance k within which nothing may be missed.

        Returns:
            A radius for each block; -1 where the block need not be searched at all.

        Raises:
            ValueError: If the distance is negative.
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
        """What a key is combined with, by exclusive or, to give the keys to look up.

        Args:
            distance: The Hamming distance on the whole fingerprint within which nothing may be
                missed.

        Returns:
            An array for each slot, with 0 first, which leaves the key as it is; empty where the
            slot need not be looked at.

        Raises:
            ValueError: If the distance is negative, or takes more lookups than are sensible.
        """
        lookups = self.lookups(distance)
        if lookups > _MOST_LOOKUPS:
            raise ValueError(
                f"{self.id!r} takes {lookups} lookups a document to miss nothing within the "
                f"distance {distance}; allowed are {_MOST_LOOKUPS}. Make the keys for this "
                "distance, or ask for a smaller one"
            )
        return list(starmap(_flips, zip(self.widths, self.radii(distance), strict=True)))

    def lookups(self, distance: int) -> int:
        """How many keys are looked up for a document."""
        return sum(map(_ball, self.widths, self.radii(distance)))

    def candidates(self, distance: int, size: int) -> float:
        """How many of so many documents with random fingerprints share a key that is looked up."""
        shares = (
            _ball(width, radius) / (1 << width)
            for width, radius in zip(self.widths, self.radii(distance), strict=True)
        )
        return size * sum(shares)

    def cost(self, distance: int, size: int, engine: str = "sqlite") -> float:
        """Roughly what the keys of one more document cost to look up and to store.

        Args:
            distance: The distance within which nothing is missed.
            size: How many documents there are.
            engine: The name of SQLAlchemy's dialect.

        Returns:
            Microseconds in a batch, to compare plans by.
        """
        lookup, candidate, store = _COSTS.get(engine, _COSTS[""])
        return (
            lookup * self.lookups(distance)
            + candidate * _CLUSTERING * self.candidates(distance, size)
            + store * self.slots
        )


@cache
def _ball(width: int, radius: int) -> int:
    """The number of keys within a radius of one."""
    return sum(comb(width, flips) for flips in range(radius + 1))


@cache
def _flips(width: int, radius: int) -> NDArray[np.int32]:
    """Every key of a width with at most so many bits set, the fewest first."""
    masks = [
        sum(1 << bit for bit in bits)
        for flips in range(radius + 1)
        for bits in combinations(range(width), flips)
    ]
    flips = np.array(masks, np.uint32).view(np.int32)
    flips.setflags(write=False)
    return flips


def blocks_for(
    bits: int, distance: int, expected_size: int = 1_000_000, engine: str = "sqlite"
) -> Blocks:
    """The blocks that cost least.

    Tries every number of blocks, of even widths, over the low bits or all of them: more bits make
    fewer candidates, more blocks take smaller radii. Where a distance is too large for any of them
    the choice comes to reading everything.

    Args:
        bits: The width of the fingerprints.
        distance: The Hamming distance on all of them within which nothing may be missed.
        expected_size: How many documents there will be.
        engine: The name of SQLAlchemy's dialect.

    Raises:
        ValueError: If a number is out of range.
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
    return min(plans, key=lambda plan: plan.cost(distance, expected_size, engine))


def _even(total: int, count: int) -> tuple[int, ...]:
    """So many widths that differ by one bit at most, the wider ones first."""
    width, wider = divmod(total, count)
    return (width + 1,) * wider + (width,) * (count - wider)
