from __future__ import annotations

from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.keys.bands import Bands, bands_for
from scrapy_simhash.keys.plan import Blocks, blocks_for, choose_keys, distance_of, load_keys
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.simhash.shingles import Shingles


def text(hashes) -> Sketch:
    """A text of these shingles."""
    return Sketch(None, len(hashes), np.sort(np.asarray(hashes, np.uint64)))


def bare(fingerprint: int) -> Sketch:
    return Sketch(fingerprint, 0, None)


def probes_of(keys, sketch: Sketch, distance: int) -> list[np.ndarray]:
    """The keys to look up in each slot, so that nothing within the distance is missed."""
    if isinstance(keys, Bands):
        return list(keys.keys(sketch).reshape(-1, 1))
    return [key ^ flips for key, flips in zip(keys.keys(sketch), keys.flips(distance), strict=True)]


def meeting_slots(blocks: Blocks, stored: int, asked: int, distance: int) -> list[int]:
    keys = blocks.keys(bare(stored))
    probes = probes_of(blocks, bare(asked), distance)
    return [slot for slot, key in enumerate(keys) if key in probes[slot]]


# Bands


def split_mix_64(state: int = 0):
    """The generator of Steele, Lea and Flood, in plain Python."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        yield mixed(state)


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def plain_bands(hashes, bands: int, rows: int) -> list[int]:
    """The definition of the keys, without numpy, as unsigned integers."""
    count = bands * rows
    generator = split_mix_64()
    random = [[next(generator) for _ in range(count)] for _ in range(count)]
    least: dict[int, int] = {}
    for hash_ in sorted(hashes, reverse=True):
        least[hash_ * count >> 64] = hash_
    keys = [0] * bands
    for number in range(count):
        rank = random[number]
        asked = min(least, key=lambda other: -1 if other == number else rank[other])
        keys[number % bands] += least[asked] * (rank[number] | 1)
    return [mixed(key % 2**64) % 2**32 for key in keys]


@given(
    st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=60),
    st.sampled_from([(8, 4), (6, 6), (1, 16), (5, 3), (1, 1)]),
)
def test_bands_follow_their_definition(hashes, plan) -> None:
    keys = Bands(*plan).keys(text(list(hashes)))
    assert keys.dtype == np.int32
    assert keys.view(np.uint32).tolist() == plain_bands(hashes, *plan)


def test_bands_never_change() -> None:
    """Namespaces hold these keys: whatever changes them makes every stored document unfindable."""
    few = text([mixed(number) for number in range(1, 9)])
    many = text([mixed(number) for number in range(1, 301)])
    assert (
        Bands().keys(few).tobytes().hex()
        == "d675b13afcfcc2ad1b760f9da3e9c86a766759480fa8fb69a3c591f64cee4ef8"
    )
    assert (
        Bands(6, 6).keys(many).tobytes().hex() == "56e2ca6d985c9ac67f73debfe9dfb1d98cdfabf9ba468a7e"
    )


@pytest.mark.parametrize("bands", [Bands(), Bands(6, 6), Bands(5, 3)], ids=lambda bands: bands.id)
@pytest.mark.parametrize(
    ("size", "pairs"), [(8, 1500), (14, 1500), (31, 1500), (200, 600), (2000, 200)]
)
def test_texts_share_keys_as_often_as_their_similarity_predicts(bands, size, pairs) -> None:
    """1 - (1 - J^r)^b, within four standard errors and the .015 that very short texts may lose."""
    random = np.random.default_rng(size)
    for similarity in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        common = round(2 * size * similarity / (1 + similarity))
        shared = 0
        for _ in range(pairs):
            union = random.integers(0, 1 << 64, 2 * size - common, np.uint64)
            one, other = text(union[:size]), text(union[size - common :])
            shared += bool((bands.keys(one) == bands.keys(other)).any())
        expected = bands.recall(common / (2 * size - common))
        error = 4 * sqrt(max(expected * (1 - expected), 1 / pairs) / pairs)
        assert abs(shared / pairs - expected) <= error + 0.015, similarity


@pytest.mark.parametrize(
    ("similarity", "id_"),
    [
        (0.7, "bands 16x4"),
        (0.79, "bands 16x4"),
        (0.8, "bands 8x4"),
        (0.89, "bands 8x4"),
        (0.9, "bands 6x6"),
        (0.99, "bands 6x6"),
        (1, "bands 1x16"),
    ],
)
def test_the_bands_for_a_similarity(similarity, id_) -> None:
    bands = bands_for(similarity)
    assert bands.id == id_
    assert bands.recall(similarity) >= 0.985


# Blocks

widths = st.lists(st.integers(1, 32), min_size=1, max_size=6).map(tuple)


def test_a_block_of_32_bits_is_stored_as_a_signed_integer() -> None:
    assert Blocks((32, 32)).keys(bare(0x80000000_FFFFFFFF)).tolist() == [-1, -(2**31)]
    probes = probes_of(Blocks((32, 32)), bare(0), 2)
    assert probes[0].dtype == np.int32
    assert -(2**31) in probes[0]


@st.composite
def errors(draw, bits: int, most: int) -> int:
    """A number with at most so many of the bits set."""
    return sum(1 << bit for bit in draw(st.sets(st.integers(0, bits - 1), max_size=most)))


@given(st.data(), widths, st.integers(0, 7), st.integers(0, 20))
def test_nothing_within_the_distance_is_missed(data, widths, distance, above) -> None:
    blocks = Blocks(widths)
    assume(blocks.lookups(distance) <= 5_000)
    bits = blocks.bits + above
    fingerprint = data.draw(st.integers(0, (1 << bits) - 1))
    near = fingerprint ^ data.draw(errors(bits, distance))
    assert meeting_slots(blocks, fingerprint, near, distance)


@given(st.data(), st.integers(1, 160), st.integers(0, 6), st.sampled_from([0, 10**4, 10**8]))
def test_nor_with_the_blocks_chosen_for_it(data, bits, distance, size) -> None:
    blocks = blocks_for(bits, distance, size)
    assume(blocks.lookups(distance) <= 5_000)
    fingerprint = data.draw(st.integers(0, (1 << bits) - 1))
    near = fingerprint ^ data.draw(errors(bits, distance))
    assert meeting_slots(blocks, fingerprint, near, distance)


def test_the_expected_candidates_are_those_of_random_fingerprints() -> None:
    blocks, size = Blocks((16, 16, 16, 16)), 400_000
    stored = np.random.default_rng(5).integers(0, 1 << 64, size, np.uint64)
    shared = 0
    for number, probes in enumerate(probes_of(blocks, bare(0x5EED_0123_4567_89AB), 8)):
        keys = (stored >> np.uint64(16 * number)).astype(np.uint16)
        shared += int(np.isin(keys, probes.astype(np.uint16)).sum())
    assert shared == pytest.approx(blocks.candidates(8, size), rel=0.1)


def test_the_blocks_chosen_are_no_wider_than_the_fingerprint() -> None:
    """A block of bits that are 0 in all of them would lead from each document to every other."""
    for bits in (1, 3, 31, 33, 64, 100):
        assert blocks_for(bits, 3).bits <= bits


# Ids


@pytest.mark.parametrize(
    "keys", [Bands(), Bands(6, 6), Bands(128, 1), Blocks(), Blocks((32,)), blocks_for(128, 8)]
)
def test_keys_are_made_again_from_their_id(keys) -> None:
    assert load_keys(keys.id) == keys
    assert keys.slots == len(probes_of(keys, Sketch(7, 1, np.array([7], np.uint64)), 1))


@pytest.mark.parametrize(
    "id_",
    [
        *("", "rows 8x4", "bands", "bands 8x", "bands 08x4", "bands 8x4 ", "bands ８x4"),
        *("bands 999x9", "blocks", "blocks 22+", "blocks 22+33", "blocks 0+4", "blocks 22 21"),
    ],
)
def test_other_ids_are_refused(id_) -> None:
    with pytest.raises(ValueError, match=r"bands 8x4|allowed are"):
        load_keys(id_)


# The plans of the literature


# A scheme of one's own, by its description of itself


class Own(Shingles):
    """What a user may write: the id begins with anything."""

    id = "mine/1 bits=128"


class WithoutShingles(Own):
    has_shingles = False


class WithDistance(Own):
    distance = 5


def test_a_scheme_of_ones_own_with_shingles_has_bands() -> None:
    assert choose_keys(Own(), 0.9, None).id == "bands 6x6"
    with Index("sqlite://", rule=Rule(scheme=Own())) as index:
        text = "so many words that there are more than eight pairs of them in this one text"
        assert index.claim(text, key="1").kind == "unique"
        assert index.claim(text, key="2").kind == "duplicate"


def test_a_scheme_without_shingles_needs_a_distance() -> None:
    scheme = WithoutShingles()
    with pytest.raises(ValueError, match="a distance is needed"):
        choose_keys(scheme, 0.9, None)
    assert choose_keys(scheme, 0.9, 3).id.startswith("blocks ")


def test_a_scheme_may_have_a_distance_of_its_own() -> None:
    assert distance_of(WithDistance(), None) == 5
    assert distance_of(WithDistance(), 2) == 2
    assert choose_keys(WithDistance(), 0.9, None).id.startswith("blocks ")


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"similarity": 0.5}, "0.7"),
        ({"distance": 65}, "0 to 64"),
        ({"distance": -1}, "0 to 64"),
        ({"scheme": SimpleNamespace(id="mine/1", bits=64)}, "a distance is needed"),
    ],
)
def test_an_argument_out_of_range_is_refused(rule: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Rule(**rule)
