"""Distances of many fingerprints, and the similarity of sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.simhash.measure import distance, hamming, jaccard


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
