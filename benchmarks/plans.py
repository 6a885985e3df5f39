"""Plans that find every 64-bit fingerprint within a Hamming distance, side by side in memory.

    python benchmarks/plans.py --size 1000000 --distance 3

The ladder of the literature, from comparing with everything to one table for each choice of blocks
(Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007), and the blocks
of this package. For each: the tables, the keys looked up and the candidates compared for a query,
the microseconds of CPU a query takes in a batch (the best of three), the bytes a fingerprint takes,
the seconds to build it, and how many of the fingerprints within the distance it missed. The
fingerprints are random; for each query one more stands at every distance up to that asked for.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from math import comb
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.keys.plan import Blocks, blocks_for

BITS = 64
ALL = (1 << BITS) - 1
MOST_AT_ONCE = 1 << 20  # keys looked up in one call


class Found(NamedTuple):
    """Row i of each: the number of a query and of a fingerprint within the distance of it."""

    queries: NDArray[np.intp]
    fingerprints: NDArray[np.intp]
    candidates: int


class Search(Protocol):
    """Fingerprints made ready to be searched."""

    tables: int
    lookups: int
    bytes: int

    def find(self, queries: NDArray[np.uint64], distance: int) -> Found:
        """Everything within the distance of each query."""


class BruteForce:
    """Compare with everything."""

    tables = lookups = 0

    def __init__(self, fingerprints: NDArray[np.uint64]) -> None:
        self.fingerprints = fingerprints
        self.bytes = fingerprints.nbytes

    def find(self, queries: NDArray[np.uint64], distance: int) -> Found:
        """Everything within the distance of each query."""
        near = [
            np.flatnonzero(np.bitwise_count(self.fingerprints ^ query) <= distance)
            for query in queries
        ]
        numbers = np.repeat(np.arange(len(queries)), [len(of_query) for of_query in near])
        return Found(numbers, np.concatenate(near), len(queries) * len(self.fingerprints))


class BitLists:
    """For each bit the list of those that have it: who stands in enough of the lists is near.

    A list is a bitmap, and the bitmap of those that do not have the bit is its complement.
    """

    tables = lookups = BITS

    def __init__(self, fingerprints: NDArray[np.uint64]) -> None:
        self.size = len(fingerprints)
        self.lists = [
            np.packbits((fingerprints >> np.uint64(bit)).astype(np.uint8) & 1)
            for bit in range(BITS)
        ]
        self.bytes = sum(of_bit.nbytes for of_bit in self.lists)

    def find(self, queries: NDArray[np.uint64], distance: int) -> Found:
        """Everything within the distance of each query."""
        near = []
        for query in queries.tolist():
            agreed = np.zeros(self.size, np.uint8)
            for bit, of_bit in enumerate(self.lists):
                agreed += np.unpackbits(of_bit if query >> bit & 1 else ~of_bit, count=self.size)
            near.append(np.flatnonzero(agreed >= BITS - distance))
        numbers = np.repeat(np.arange(len(queries)), [len(of_query) for of_query in near])
        return Found(numbers, np.concatenate(near), len(queries) * self.size)


class KeyTables:
    """Sorted tables of keys, each made of the bits of a mask and searched within a radius."""

    def __init__(
        self, fingerprints: NDArray[np.uint64], masks: list[int], radii: list[int]
    ) -> None:
        self.fingerprints = fingerprints
        self.searches = []
        for mask, radius in zip(masks, radii, strict=True):
            keys = fingerprints & np.uint64(mask)
            order = keys.argsort()
            self.searches.append(
                (np.uint64(mask), keys[order], order.astype(np.uint32), flips(mask, radius))
            )
        self.tables = len(masks)
        self.lookups = sum(flipped.size for *_, flipped in self.searches)
        self.bytes = fingerprints.nbytes + sum(
            keys.nbytes + order.nbytes for _, keys, order, _ in self.searches
        )

    def find(self, queries: NDArray[np.uint64], distance: int) -> Found:
        """Everything within the distance of each query."""
        near = []
        candidates = 0
        for numbers, found_numbers in self.candidates(queries):
            candidates += len(found_numbers)
            difference = self.fingerprints[found_numbers] ^ queries[numbers]
            within = np.bitwise_count(difference) <= distance
            near.append(np.stack([numbers[within], found_numbers[within]]))
        # A fingerprint can be found in several tables.
        numbers, found_numbers = np.unique(np.concatenate(near, axis=1), axis=1)
        return Found(numbers, found_numbers, candidates)

    def candidates(
        self, queries: NDArray[np.uint64]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint32]]]:
        """The numbers of queries, and of fingerprints with a key that is looked up for them."""
        for mask, keys, order, flipped in self.searches:
            batch = max(1, MOST_AT_ONCE // max(1, flipped.size))
            for first in range(0, len(queries), batch):
                asked = (queries[first : first + batch, None] & mask) ^ flipped
                left = keys.searchsorted(asked.ravel(), "left")
                count = keys.searchsorted(asked.ravel(), "right") - left
                numbers = np.repeat(np.arange(asked.size) // max(1, flipped.size), count)
                within = np.arange(len(numbers)) - np.repeat(count.cumsum() - count, count)
                yield first + numbers, order[np.repeat(left, count) + within]


def flips(mask: int, radius: int) -> NDArray[np.uint64]:
    """Every choice of at most so many bits of a mask."""
    bits = [1 << bit for bit in range(BITS) if mask >> bit & 1]
    chosen = [sum(some) for count in range(radius + 1) for some in combinations(bits, count)]
    return np.array(chosen, np.uint64)


def block_masks(widths: tuple[int, ...]) -> list[int]:
    """The masks of contiguous blocks, the lowest bits first."""
    edges = [sum(widths[:number]) for number in range(len(widths) + 1)]
    return [(1 << high) - (1 << low) for low, high in pairwise(edges)]


def even_widths(count: int) -> tuple[int, ...]:
    """The 64 bits in so many blocks."""
    return tuple(BITS // count + (number < BITS % count) for number in range(count))


def choose(fingerprints: NDArray[np.uint64], blocks: int, chosen: int) -> KeyTables:
    """A table for each choice of blocks, which together make the key.

    Distance k leaves `blocks - k` of the blocks unharmed: so many may be chosen.
    """
    masks = [sum(some) for some in combinations(block_masks(even_widths(blocks)), chosen)]
    return KeyTables(fingerprints, masks, [0] * len(masks))


def radius(fingerprints: NDArray[np.uint64], blocks: Blocks, distance: int) -> KeyTables:
    """The package's blocks with the radii of the package."""
    return KeyTables(fingerprints, block_masks(blocks.widths), list(blocks.radii(distance)))


def plans(distance: int, size: int) -> dict[str, Callable[[NDArray[np.uint64]], Search]]:
    """What makes fingerprints ready to be searched within a distance, by name."""
    best = blocks_for(BITS, distance, size)
    every: dict[str, Callable[[NDArray[np.uint64]], Search]] = {
        "brute force": BruteForce,
        "one-bit lists": BitLists,
        f"{distance + 1} blocks, 1 equal": lambda them: choose(them, distance + 1, 1),
        f"{distance + 2} choose 2": lambda them: choose(them, distance + 2, 2),
        f"{distance + 3} choose 3": lambda them: choose(them, distance + 3, 3),
        f"{distance + 4} choose 4": lambda them: choose(them, distance + 4, 4),
        "every neighbour": lambda them: KeyTables(them, [ALL], [distance]),
        "32+32 with radii": lambda them: radius(them, Blocks((32, 32)), distance),
        "22+21+21 with radii": lambda them: radius(them, Blocks(), distance),
        f"blocks_for: {best.id[7:]}": lambda them: radius(them, best, distance),
    }
    if sum(comb(BITS, errors) for errors in range(distance + 1)) > MOST_AT_ONCE:
        del every["every neighbour"]  # 679,121 keys within 4, 8 million within 5
    return every


def pairs(found: Found) -> set[tuple[int, int]]:
    """What was found, as a set."""
    return set(zip(found.queries.tolist(), found.fingerprints.tolist(), strict=True))


def with_neighbours(
    size: int, queries: int, distance: int, random: np.random.Generator
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Random fingerprints, and queries with a neighbour at each distance up to the one given."""
    fingerprints = random.integers(0, 1 << BITS, size, np.uint64)
    asked = random.integers(0, 1 << BITS, queries, np.uint64)
    places = iter(random.permutation(size)[: queries * (distance + 1)])
    for query in asked:
        for errors in range(distance + 1):
            bits = random.choice(BITS, errors, replace=False)
            flipped = sum(1 << int(bit) for bit in bits)
            fingerprints[next(places)] = query ^ np.uint64(flipped)
    return fingerprints, asked


def main() -> None:
    """Print a line for each plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--distance", type=int, default=3)
    parser.add_argument("--queries", type=int, default=64)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    fingerprints, queries = with_neighbours(options.size, options.queries, options.distance, random)
    truth = None
    print(f"{options.size} fingerprints, distance {options.distance}")
    print(
        f"{'plan':24}{'tables':>8}{'lookups':>9}{'candidates':>12}{'us':>10}{'bytes':>7}"
        f"{'build s':>9}{'missed':>8}"
    )
    for name, build in plans(options.distance, options.size).items():
        start = time.process_time()
        search = build(fingerprints)
        built = time.process_time() - start
        seconds = []
        for _ in range(3):
            start = time.process_time()
            found = search.find(queries, options.distance)
            seconds.append(time.process_time() - start)
        found_numbers = pairs(found)
        truth = found_numbers if truth is None else truth
        print(
            f"{name:24}{search.tables:8}{search.lookups:9}"
            f"{found.candidates / len(queries):12.1f}"
            f"{min(seconds) / len(queries) * 1e6:10.1f}{search.bytes / len(fingerprints):7.0f}"
            f"{built:9.1f}{len(truth - found_numbers):8}"
        )


if __name__ == "__main__":
    main()
