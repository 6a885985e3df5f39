"""The rungs of benchmarks/ladder.py: none misses anything, and each costs what the books say."""

from __future__ import annotations

import runpy
from math import comb
from pathlib import Path

import pytest

LADDER = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ladder.py"))
RUNGS = {name: (way, arguments) for name, way, arguments in LADDER["rungs"]()}
STORED, ASKED = LADDER["fingerprints"](3000, 16)
_, TRUTH = LADDER["brute_force"](STORED, ASKED)


@pytest.mark.parametrize("name", RUNGS)
def test_nothing_is_missed_and_nothing_invented(name: str) -> None:
    way, arguments = RUNGS[name]
    _, answers = way(STORED, ASKED, *arguments)
    assert answers == TRUTH
    assert any(TRUTH)
    assert not all(TRUTH)


@pytest.mark.parametrize(("blocks", "tables"), [(4, 4), (5, 10), (6, 20), (7, 35)])
def test_choices_of_blocks_are_not_counted_as_orders(blocks: int, tables: int) -> None:
    """6 blocks of which 3 must match are 20 tables; counted as permutations they would be 120."""
    rung, _ = LADDER["choose"](STORED, ASKED, blocks)
    assert rung.tables == tables == comb(blocks, blocks - 3)


def test_all_neighbours_within_three_bits() -> None:
    assert len(set(LADDER["ball"](3))) == 43_745


def test_union_of_one_bit_lists_is_everything() -> None:
    """Half of all fingerprints stand in each list, and nearly all in one or another of the 64."""
    rung, _ = LADDER["one_bit_lists"](STORED, ASKED)
    assert rung.candidates / len(ASKED) == pytest.approx(64 * len(STORED) / 2, rel=0.02)
