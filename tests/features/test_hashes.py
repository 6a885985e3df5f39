from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.features.shingles import BINS, minhash, mix64, shingles, similarity_of
from scrapy_simhash.simhash.measure import jaccard


def test_mix64_is_the_finaliser_of_splitmix64() -> None:
    """The first outputs of the published generator from seed 0: its state steps by the constant."""
    states = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(value) for value in mix64(states)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


hashes = st.sets(st.integers(0, 2**64 - 1), max_size=400).map(
    lambda chosen: np.array(sorted(chosen), np.uint64)
)


def random_sets(rng: np.random.Generator, common: int, own: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of equal size that have so many hashes in common."""
    values = rng.integers(0, 2**64, common + 2 * own, np.uint64)
    return np.sort(values[: common + own]), np.sort(np.roll(values, own)[: common + own])


@given(hashes)
def test_a_sketch_has_a_byte_for_each_bin_and_equal_sets_are_equal(chosen):
    sketch = minhash(chosen)
    assert len(sketch) == BINS
    assert similarity_of(sketch, sketch) == (1.0 if chosen.size else 0.0)


@given(hashes, hashes)
def test_the_order_of_two_sets_does_not_matter_and_a_similarity_is_from_0_to_1(one, other):
    estimate = similarity_of(minhash(one), minhash(other))
    assert estimate == similarity_of(minhash(other), minhash(one))
    assert 0 <= estimate <= 1


@pytest.mark.parametrize("similarity", [0.5, 0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("size", [2000, 8000])
def test_the_error_is_that_of_as_many_bins(size, similarity):
    """Unbiased, and never more than four standard errors away in 200 pairs."""
    rng = np.random.default_rng(size)
    common = round(2 * size * similarity / (1 + similarity))
    errors = []
    for _ in range(200):
        one, other = random_sets(rng, common, size - common)
        errors.append(similarity_of(minhash(one), minhash(other)) - jaccard(one, other))
    # Of a bin: it agrees, or it does not, or it does by chance.
    agrees = similarity + (1 - similarity) / 255
    deviation = np.sqrt(agrees * (1 - agrees) / BINS) * 255 / 254
    assert np.abs(errors).max() < 4 * deviation
    assert abs(np.mean(errors)) < 4 * deviation / np.sqrt(len(errors))
    assert np.std(errors) < 1.2 * deviation


@pytest.mark.parametrize("size", [8, 40, 150])
def test_of_small_sets_most_bins_say_nothing_and_the_estimate_is_no_worse_than_that(size):
    """The bins that are filled are about as many as the hashes; the error is that of as many."""
    rng = np.random.default_rng(size)
    common = round(2 * size * 0.9 / 1.9)
    errors = []
    for _ in range(500):
        one, other = random_sets(rng, common, size - common)
        errors.append(similarity_of(minhash(one), minhash(other)) - jaccard(one, other))
    expected = np.sqrt(0.9 * 0.1 / min(size, BINS))
    assert abs(np.mean(errors)) < 4 * expected / np.sqrt(len(errors)) + 0.02
    assert np.std(errors) < 1.2 * expected


def test_nothing_is_like_nothing():
    empty, full = minhash(np.empty(0, np.uint64)), minhash(shingles("a few words of a text"))
    assert empty == bytes(BINS)
    assert similarity_of(empty, empty) == similarity_of(empty, full) == 0


def test_the_bytes_never_change():
    """They are stored: another way to make them wants a migration."""
    text = " ".join(f"word{number * number % 97}" for number in range(300))
    sketch = minhash(shingles(text))
    assert sketch[:24].hex() == "000000006d6500c89b18000000005000f10000af00000000"
    assert blake2b(sketch, digest_size=8).hexdigest() == "e50c4985c439ae7a"
    assert minhash(np.array([1 << 16, 255 << 16, 1 << 63], np.uint64))[:1] == b"\x02"
