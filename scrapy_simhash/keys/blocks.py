"""Keys: what a document is stored under and looked up by. Pure arithmetic.

Two documents meet where they share a key in one slot. `Bands` are made of a text's shingles and
meet texts by their similarity, with a known probability and at a cost that hardly depends on how
many documents there are. `Blocks` are made of a fingerprint and miss nothing within a Hamming
distance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import combinations, starmap
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_simhash.classic.hashes import mix64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simhash.simhash.scheme import Sketch

__all__ = ["Bands", "Blocks", "bands_for", "blocks_for", "load_keys"]

_GOLDEN = 0x9E3779B97F4A7C15
_MOST_SLOTS = 128
_MOST_BINS = 512
_MOST_LOOKUPS = 100_000

# The bands for a similarity from so much on. Measured by benchmarks/bands.py; each finds a pair of
# exactly that similarity with a probability of .985 or more. More rows meet fewer strangers, which
# matters where the pages of a site have much in common; more bands cost more writing. Four plans,
# not a plan for each similarity: within its range a change of mind needs no new keys.
_BANDS_FROM = ((1.0, (1, 16)), (0.9, (6, 6)), (0.8, (8, 4)), (0.7, (16, 4)))

# Microseconds for a key looked up, for a candidate it leads to (its key row and its fingerprint)
# and for a key stored, by the name of SQLAlchemy's dialect; "" is any other one. They choose
# between plans and predict no time: that depends on the disk, the network and the batch. SQLite
# was measured; of a server only the first and the last, on PostgreSQL.
_COSTS = {"sqlite": (1.2, 5.0, 16.0), "": (3.6, 3.0, 12.0)}

# The candidates that fingerprints of real texts make, per candidate of random ones: measured .8 to
# 1.5 between texts of different content, up to 10 where pages share a template.
_CLUSTERING = 3.0


@dataclass(frozen=True)
class Bands:
    """Min-wise bands: equal for equal sets of shingles, likely to be for similar ones.

    One-permutation hashing (Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012): the range
    of the hashes is cut into `bands * rows` bins, of which each gives its least hash. An empty bin
    takes the value of another, the first that is not empty in a random order of its own that
    never changes (Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing", ICML
    2017). Two texts agree in a bin with the probability of their Jaccard similarity. Band j is
    made of the bins j, j + bands, j + 2 bands, ...: bins far apart.

    Attributes:
        bands: How many keys a document has.
        rows: How many bins must agree for one of them to do so.
    """

    bands: int = 8
    rows: int = 4

    needs_shingles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (
            min(self.bands, self.rows) < 1
            or self.bands > _MOST_SLOTS
            or self.bands * self.rows > _MOST_BINS
        ):
            raise ValueError(
                f"{self.bands} bands of {self.rows} rows: allowed are 1 to {_MOST_SLOTS} bands of "
                f"1 row or more, and {_MOST_BINS} rows in all"
            )

    @property
    def id(self) -> str:
        """What `load_keys` makes these keys from again."""
        return f"bands {self.bands}x{self.rows}"

    @property
    def slots(self) -> int:
        """How many keys are stored for a document."""
        return self.bands

    def recall(self, similarity: float) -> float:
        """The probability that two texts meet: that at least one of their bands agrees.

        Measured, it holds within .02 for texts of 8 to 31 shingles, and within chance above.

        Args:
            similarity: The Jaccard similarity of their shingles, 0 to 1.
        """
        return 1 - (1 - similarity**self.rows) ** self.bands

    def keys(self, sketch: Sketch) -> NDArray[np.int32]:
        """The keys to store.

        Args:
            sketch: Of a text that has a shingle; their hashes sorted and evenly spread.

        Returns:
            An array of shape (slots,).

        Raises:
            TypeError: If the sketch has no shingles: its scheme makes none, or it was made from a
                bare fingerprint.
            ValueError: If there is not a single shingle.
        """
        if sketch.shingles is None:
            raise TypeError(
                "bands are made of a text's shingles, and this sketch has none: its scheme makes "
                "none, or it stands for a bare fingerprint. Use blocks"
            )
        if not sketch.shingles.size:
            raise ValueError("a text without a single shingle has no keys")
        starts, orders, factors = _bins(self.bands * self.rows)
        first = sketch.shingles.searchsorted(starts)
        filled = first < np.append(first[1:], sketch.shingles.size)
        # Every order begins with the bin itself.
        turn = filled[orders].argmax(axis=1)
        chosen = first[orders[np.arange(len(orders)), turn]]
        terms = sketch.shingles[chosen] * factors
        keys = mix64(terms.reshape(self.rows, self.bands).sum(axis=0))
        return keys.astype(np.uint32).view(np.int32)

    def probes(self, sketch: Sketch, distance: int) -> list[NDArray[np.int32]]:
        """The keys to look up in each slot: the document's own, whatever the distance."""
        return list(self.keys(sketch).reshape(-1, 1))


@cache
def _bins(count: int) -> tuple[NDArray[np.uint64], NDArray[np.intp], NDArray[np.uint64]]:
    """What belongs to so many bins and never changes.

    Returns:
        Where each bin starts; for each bin all bins in the order in which they are asked for a
        value, itself first; an odd factor for each bin.
    """
    starts = [-(-(number << 64) // count) for number in range(count)]
    # SplitMix64 from the seed 0, whose state only counts: the same on every machine for ever.
    states = np.arange(1, count * count + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    random = mix64(states).reshape(count, count)
    factors = random.diagonal() | np.uint64(1)
    np.fill_diagonal(random, 0)
    return np.array(starts, np.uint64), random.argsort(axis=1), factors


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
        if not 1 <= len(self.widths) <= _MOST_SLOTS or not all(1 <= w <= 32 for w in self.widths):
            raise ValueError(
                f"blocks of {self.widths} bits: allowed are 1 to {_MOST_SLOTS} blocks of 1 to 32 "
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

    def probes(self, sketch: Sketch, distance: int) -> list[NDArray[np.int32]]:
        """The keys to look up in each slot, so that nothing within a distance is missed.

        Args:
            sketch: Of a text that has a fingerprint.
            distance: The Hamming distance on the whole fingerprint.

        Returns:
            An array for each slot, with the document's own key first; empty where the slot need
            not be looked at.

        Raises:
            ValueError: If there is no fingerprint, or as `flips` does.
        """
        return [
            key ^ flips for key, flips in zip(self.keys(sketch), self.flips(distance), strict=True)
        ]

    def flips(self, distance: int) -> list[NDArray[np.int32]]:
        """What a key is combined with, by exclusive or, to give the keys to look up.

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


def bands_for(similarity: float) -> Bands:
    """The bands for a similarity.

    Args:
        similarity: The Jaccard similarity of the pairs to be found, 0.7 to 1.

    Returns:
        Bands whose recall is at least .985 at that similarity, and 1 for equal sets.

    Raises:
        ValueError: If the similarity is outside of its range.
    """
    if not 0.7 <= similarity <= 1:
        raise ValueError(f"a similarity to ask for is from 0.7 to 1: {similarity}")
    return next(Bands(*plan) for least, plan in _BANDS_FROM if similarity >= least)


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
        for count in range(1, min(distance + 1, bits, _MOST_SLOTS) + 1)
        for total in range(count, min(bits, 32 * count) + 1)
        if (plan := Blocks(_even(total, count))).lookups(distance) <= _MOST_LOOKUPS
    ]
    return min(plans, key=lambda plan: plan.cost(distance, expected_size, engine))


def _even(total: int, count: int) -> tuple[int, ...]:
    """So many widths that differ by one bit at most, the wider ones first."""
    width, wider = divmod(total, count)
    return (width + 1,) * wider + (width,) * (count - wider)


def load_keys(id: str) -> Bands | Blocks:  # noqa: A002
    """Make keys from their id.

    Args:
        id: "bands 8x4" or "blocks 22+21+21", with any numbers that are allowed.

    Raises:
        ValueError: If it is none.
    """
    if match := re.fullmatch(r"bands ([1-9]\d{0,2})x([1-9]\d{0,2})", id, re.ASCII):
        return Bands(int(match[1]), int(match[2]))
    if re.fullmatch(r"blocks [1-9]\d?(\+[1-9]\d?)*", id, re.ASCII):
        return Blocks(tuple(map(int, id.removeprefix("blocks ").split("+"))))
    raise ValueError(f"{id!r} is no id of keys; one reads 'bands 8x4' or 'blocks 22+21+21'")
