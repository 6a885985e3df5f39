"""The ways to look up a fingerprint within 3 of 64 bits, from the plainest to this project's.

    python benchmarks/ladder.py
    python benchmarks/ladder.py --sizes 10000 100000 1000000 --queries 40

The literature on SimHash climbs this ladder in words. Here every rung is built over the same random
fingerprints, asked the same questions, half of which have an answer, and compared with what brute
force finds. All of it is numpy in memory, sorted keys and binary search; the differences between
the rungs are what counts, not the microseconds.

    candidates   fingerprints fetched and compared, per query
    expected     how many of them have nothing to do with the query, by arithmetic
    probes       keys looked up, per query
    tables       sorted copies to keep
    us a query   the median; what building the tables takes is left out
    found        share of what is there
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.keys.plan import Blocks
from scrapy_simhash.simhash.scheme import Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]
    Ids = NDArray[np.intp]

BITS = 64
K = 3


@dataclass
class Rung:
    """What one way to look up costs: a query each, but for the candidates, which are of all."""

    tables: int
    probes: float
    expected: float
    seconds: NDArray[np.float64]
    candidates: int = 0


def fingerprints(size: int, queries: int, seed: int = 1) -> tuple[Fingerprints, Fingerprints]:
    """Random stored fingerprints, and questions: every other one 0 to 3 bits off a stored one."""
    generator = np.random.default_rng(seed)
    stored = generator.integers(0, 1 << 63, size, dtype=np.uint64) << np.uint64(1)
    stored |= generator.integers(0, 2, size, dtype=np.uint64)
    asked = generator.permutation(stored)[:queries].copy()
    for number in range(queries):
        flips = number // 2 % (K + 1) if number % 2 else BITS // 2
        for bit in generator.choice(BITS, flips, replace=False):
            asked[number] ^= np.uint64(1) << np.uint64(bit)
    return stored, asked


def within(stored: Fingerprints, candidates: Ids, query: np.uint64) -> set[int]:
    """Those of the candidates that are near enough."""
    near = np.bitwise_count(stored[candidates] ^ query) <= K
    return set(candidates[near].tolist())


def brute_force(stored: Fingerprints, asked: Fingerprints) -> tuple[Rung, list[set[int]]]:
    """(a) Compare with every fingerprint."""
    rung = Rung(0, 0, len(stored), np.zeros(len(asked)), len(stored) * len(asked))
    answers = []
    for number, query in enumerate(asked):
        start = perf_counter()
        near = np.bitwise_count(stored ^ query) <= K
        answers.append(set(np.flatnonzero(near).tolist()))
        rung.seconds[number] = perf_counter() - start
    return rung, answers


def one_bit_lists(stored: Fingerprints, asked: Fingerprints) -> tuple[Rung, list[set[int]]]:
    """(b) A list for each value of each bit; near is what stands in 61 of a query's 64 lists.

    To take all that stands in any of them, as the documents have it, would be to take everything.
    """
    rung = Rung(2 * BITS, BITS, BITS * len(stored) / 2, np.zeros(len(asked)))
    hits = np.zeros((len(asked), len(stored)), np.uint8)
    for bit in range(BITS):
        ones = stored >> np.uint64(bit) & np.uint64(1) == 1
        lists = np.flatnonzero(~ones), np.flatnonzero(ones)
        for number, row in enumerate(hits):
            start = perf_counter()
            members = lists[int(asked[number]) >> bit & 1]
            row[members] += 1
            rung.seconds[number] += perf_counter() - start
            rung.candidates += members.size
    return rung, [set(np.flatnonzero(row >= BITS - K).tolist()) for row in hits]


Table = tuple["Callable[[Fingerprints], Fingerprints]", "Callable[[np.uint64], Fingerprints]"]
"""How to make a table's keys of stored fingerprints, and the keys to look up for a query."""


def look_up(
    stored: Fingerprints, asked: Fingerprints, tables: Sequence[Table], expected: float
) -> tuple[Rung, list[set[int]]]:
    """Look all probes up in one table after the other, which saves the memory of all at once."""
    rung = Rung(len(tables), 0, expected, np.zeros(len(asked)))
    answers: list[set[int]] = [set() for _ in asked]
    for keys_of, probes_of in tables:
        keys = keys_of(stored)
        order = keys.argsort()
        keys = keys[order]
        for number, query in enumerate(asked):
            start = perf_counter()
            probes = probes_of(query)
            first = keys.searchsorted(probes, "left")
            last = keys.searchsorted(probes, "right")
            hit = np.flatnonzero(last > first)
            ids = [order[first[i] : last[i]] for i in hit]
            candidates = np.concatenate(ids) if ids else np.empty(0, np.intp)
            answers[number].update(within(stored, candidates, query))
            rung.seconds[number] += perf_counter() - start
            rung.candidates += candidates.size
            rung.probes += len(probes) / len(asked)
    return rung, answers


def masked(mask: int) -> Table:
    """A table by some of the bits, probed with the query's own."""
    bits = np.uint64(mask)
    return (lambda stored: stored & bits), (lambda query: np.array([query & bits]))


def block_masks(blocks: int) -> list[int]:
    """The masks of contiguous blocks, as even as possible."""
    bounds = [round(BITS * number / blocks) for number in range(blocks + 1)]
    return [(1 << high) - (1 << low) for low, high in pairwise(bounds)]


def choose(stored: Fingerprints, asked: Fingerprints, blocks: int) -> tuple[Rung, list[set[int]]]:
    """(c), (d), (h) A table for every choice of all but K of the blocks: some choice is untouched.

    C(6, 3) = 20 choices, not the 120 orders in which they could be written.
    """
    chosen = list(combinations(block_masks(blocks), blocks - K))
    masks = [sum(choice) for choice in chosen]
    expected = sum(len(stored) / 2 ** mask.bit_count() for mask in masks)
    return look_up(stored, asked, [masked(mask) for mask in masks], expected)


def neighbours(stored: Fingerprints, asked: Fingerprints) -> tuple[Rung, list[set[int]]]:
    """(e) One table of whole fingerprints, probed with all 43,745 that are near enough."""
    masks = np.array(ball(K), np.uint64)
    table: Table = (lambda fingerprints: fingerprints, lambda query: query ^ masks)
    return look_up(stored, asked, [table], len(stored) * len(masks) / 2**BITS)


def ball(k: int) -> list[int]:
    """Every 64-bit mask of at most k bits."""
    return [
        sum(1 << bit for bit in bits)
        for flips in range(k + 1)
        for bits in combinations(range(BITS), flips)
    ]


def project(stored: Fingerprints, asked: Fingerprints, plan: Blocks) -> tuple[Rung, list[set[int]]]:
    """The project's: few wide blocks, each probed within a radius chosen for the distance."""
    flips = plan.flips(K)

    def table(slot: int, shift: int, width: int) -> Table:
        mask = np.uint64((1 << width) - 1)
        return (
            lambda fingerprints: fingerprints >> np.uint64(shift) & mask,
            lambda query: (
                (plan.keys(Sketch(int(query), 1, None))[slot] ^ flips[slot])
                .view(np.uint32)
                .astype(np.uint64)
            ),
        )

    shifts = np.cumsum([0, *plan.widths[:-1]]).tolist()
    expected = sum(
        len(stored) * sum(comb(width, flips) for flips in range(radius + 1)) / 2**width
        for width, radius in zip(plan.widths, plan.radii(K), strict=True)
    )
    tables = [table(*part) for part in zip(range(plan.slots), shifts, plan.widths, strict=True)]
    return look_up(stored, asked, tables, expected)


def rungs() -> Iterable[tuple[str, Callable[..., tuple[Rung, list[set[int]]]], tuple[object, ...]]]:
    """All ways by name."""
    yield "(a) brute force", brute_force, ()
    yield "(b) 64 one-bit lists", one_bit_lists, ()
    yield "(c) 4 blocks of 16", choose, (4,)
    yield "(h) 5 blocks choose 2", choose, (5,)
    yield "(d) 6 blocks choose 3", choose, (6,)
    yield "(h) 7 blocks choose 4", choose, (7,)
    yield "(e) all neighbours", neighbours, ()
    yield "project 22+21+21", project, (Blocks(),)
    yield "project 32+32", project, (Blocks((32, 32)),)


def main() -> None:
    """Print one table for each number of fingerprints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=24)
    options = parser.parse_args()
    for size in options.sizes:
        stored, asked = fingerprints(size, options.queries)
        _, truth = brute_force(stored, asked)
        print(
            f"\n{size:,} fingerprints    {'tables':>8}{'probes':>9}{'candidates':>15}"
            f"{'expected':>15}{'us a query':>13}{'found':>8}"
        )
        for name, way, arguments in rungs():
            rung, answers = way(stored, asked, *arguments)
            right = sum(len(a & t) for a, t in zip(answers, truth, strict=True))
            print(
                f"{name:24}{rung.tables:>10}{rung.probes:>9,.0f}"
                f"{rung.candidates / len(asked):>15,.2f}{rung.expected:>15,.2f}"
                f"{np.median(rung.seconds) * 1e6:>13,.0f}"
                f"{right / sum(map(len, truth)):>8.0%}"
            )


if __name__ == "__main__":
    main()
