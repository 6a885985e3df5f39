from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.classic.scheme import within
from scrapy_simhash.simhash.measure import (
    candidate_limit,
    distance,
    expected_distance,
    hamming,
    jaccard,
    similarity_at,
)
from scrapy_simhash.simhash.shingles import majority

fingerprints = st.integers(0, 2**128 - 1)
hashes = st.lists(fingerprints, min_size=1, max_size=9).map(
    lambda values: sorted(values, key=lambda value: value % 2**64)
)


def rows(values: list[int]) -> np.ndarray:
    low = [value & (2**64 - 1) for value in values]
    return np.array([low, [value >> 64 for value in values]], np.uint64).T.copy()


def reference_majority(values: list[int]) -> int:
    made = 0
    for bit in range(128):
        ones = sum(value >> bit & 1 for value in values)
        made |= (breaker(values, bit) if 2 * ones == len(values) else 2 * ones > len(values)) << bit
    return made


def breaker(values: list[int], bit: int) -> int:
    """The bit that decides an even sum: of the first value in its own 128th of the range."""
    from_there = [value for value in values if value % 2**64 >= bit << 57]
    return (from_there or values)[0] >> 64 + bit % 64 & 1


@given(hashes)
def test_majority_takes_the_sign_of_every_column(values: list[int]) -> None:
    assert majority(rows(values)) == reference_majority(values)


def test_majority_of_many_rows() -> None:
    """More rows than bytes can count in one go, in both directions."""
    generator = random.Random(5)
    values = [generator.getrandbits(128) for _ in range(10_008)]
    values.sort(key=lambda value: value % 2**64)
    assert majority(rows(values)) == reference_majority(values)
    assert majority(rows(values[1:])) == reference_majority(values[1:])
    assert majority(rows([2**128 - 1] * 5000)) == 2**128 - 1


def replaced(drawn: np.ndarray, place: int) -> int:
    """How far a set is from itself with one of its features, in order, replaced by the last."""
    own = drawn[drawn[:-1, 0].argsort()]
    other = np.vstack([np.delete(own, place, axis=0), drawn[-1:]])
    return distance(majority(own), majority(other[other[:, 0].argsort()]))


@pytest.mark.parametrize("size", [16, 32, 64, 100])
def test_whichever_feature_changes_few_ties_change_with_it(size: int) -> None:
    """The first one too: once all even splits went by it, and .97 looked like .8."""
    generator = np.random.default_rng(size)
    expected = expected_distance((size - 1) / (size + 1))
    for place in (0, size // 2, size - 1):
        measured = [
            replaced(generator.integers(0, 2**64, (size + 1, 2), dtype=np.uint64), place)
            for _ in range(300)
        ]
        assert np.mean(measured) < expected + 2
        assert np.percentile(measured, 99) < expected + 15


@pytest.mark.parametrize("size", [2, 8, 12, 40])
def test_even_splits_pull_unrelated_sets_neither_together_nor_apart(size: int) -> None:
    generator = np.random.default_rng(size)
    drawn = np.sort(generator.integers(0, 2**64, (800, size), dtype=np.uint64))
    # The second column as the scheme makes it: what one has does not follow from the other.
    second = generator.integers(0, 2**64, (800, size), dtype=np.uint64)
    made = [majority(np.stack(pair, axis=1)) for pair in zip(drawn, second, strict=True)]
    apart = [distance(one, other) for one, other in zip(made[::2], made[1::2], strict=True)]
    assert np.mean(apart) == pytest.approx(64, abs=1.2)
    ones = [sum(one >> bit & 1 for one in made) for bit in range(128)]
    assert max(abs(count - 400) for count in ones) < 75


@given(fingerprints, fingerprints)
def test_distance_counts_the_differing_bits(a: int, b: int) -> None:
    assert distance(a, b) == sum((a >> i & 1) != (b >> i & 1) for i in range(128))
    assert distance(a, b) == distance(b, a)


@given(fingerprints, st.sets(st.integers(0, 127), max_size=9), st.integers(0, 9))
def test_within_includes_the_limit(a: int, flipped: set[int], n: int) -> None:
    b = a
    for bit in flipped:
        b ^= 1 << bit
    assert within(a, b, n) == (len(flipped) <= n)


@given(st.sampled_from([64, 128]), st.floats(0.05, 1))
def test_similarity_and_distance_are_inverse(bits: int, s: float) -> None:
    assert similarity_at(expected_distance(s, bits), bits) == pytest.approx(s, abs=1e-6)


def test_the_law_holds_for_random_sets() -> None:
    """Sets of known similarity, hashed at random, are at the distance that the law expects."""
    generator = np.random.default_rng(7)
    for shared, own in ((81, 10), (61, 20), (41, 30)):  # odd sizes have no even splits
        measured = []
        for _ in range(300):
            drawn = generator.integers(0, 2**64, (shared + 2 * own, 2), dtype=np.uint64)
            a, b = drawn[: shared + own], np.delete(drawn, np.s_[shared : shared + own], axis=0)
            measured.append(distance(majority(a), majority(b)))
        jaccard = shared / (shared + 2 * own)
        assert np.mean(measured) == pytest.approx(expected_distance(jaccard), abs=1)


@pytest.mark.parametrize(("asked", "expected"), [(0.8, 33), (0.9, 25), (1, 0), (1.0, 0)])
def test_limits_of_the_design(asked: float, expected: int) -> None:
    assert candidate_limit(asked) == expected


def packed(values: list[int], width: int) -> np.ndarray:
    data = b"".join(value.to_bytes(width, "big") for value in values)
    return np.frombuffer(data, np.uint8).reshape(-1, width)


@given(st.data(), st.sampled_from([1, 5, 8, 16, 20, 64]))
def test_distances_of_many_fingerprints_are_those_of_each_pair(data, width: int) -> None:
    values = st.lists(st.integers(0, 2 ** (8 * width) - 1), max_size=6)
    rows, columns = data.draw(values), data.draw(values)
    found = hamming(packed(rows, width)[:, None], packed(columns, width)[None])
    assert found.shape == (len(rows), len(columns))
    assert found.tolist() == [[distance(a, b) for b in columns] for a in rows]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_jaccard_is_what_sets_share_of_what_they_have(a: set[int], b: set[int]) -> None:
    one, other = (np.array(sorted(values), np.uint64) for values in (a, b))
    assert jaccard(one, other) == (len(a & b) / len(a | b) if a | b else 0)
