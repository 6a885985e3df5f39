from __future__ import annotations

import numpy as np

from scrapy_simhash.features.mixing import mix64


def test_mix64_is_the_finaliser_of_splitmix64() -> None:
    """The first outputs of the published generator from seed 0: its state steps by the constant."""
    states = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(value) for value in mix64(states)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_mix64_leaves_its_argument_alone() -> None:
    values = np.array([1, 2], np.uint64)
    mix64(values)
    assert values.tolist() == [1, 2]
