"""The compiled core and the pure path agree on any text, tree or array."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from fuzz.grammar import bodies, trees
from fuzz.target import target
from hypothesis import strategies as st
from lxml import etree

from scrapy_simhash import native
from scrapy_simhash.text.density import body, read
from scrapy_simhash.text.html import parse_html
from scrapy_simhash.text.page_facts import page_facts

COMPILED = pytest.importorskip("scrapy_simhash.native._core", reason="the core is not compiled")


def assert_same(make: Callable[[], Any]) -> Any:
    """The result of both paths, as lists and numbers."""
    made = []
    for core in (None, COMPILED):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native, "core", core)
            made.append(make())
    assert made[0] == made[1]
    return made[0]


hashes = st.lists(
    st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 99), st.integers(2**64 - 99, 2**64 - 1)),
    min_size=1,
    max_size=300,
    unique=True,
).map(lambda chosen: np.array(sorted(chosen), np.uint64))


buffers = st.one_of(
    st.binary(max_size=300), hashes, st.text(max_size=9), st.none(), st.integers(), st.floats()
)
numbers = st.one_of(st.integers(0, 9), st.integers(), st.booleans(), st.none(), buffers)


@target(
    st.sampled_from(
        [
            *("sketches", "minhash", "bands", "common", "compare", "changes"),
            *("tokens", "page", "elements", "leaves"),
        ]
    ),
    st.lists(
        st.one_of(
            *(buffers, numbers, st.tuples(numbers, numbers, numbers), st.lists(buffers)),
            st.lists(st.binary(max_size=99)).map(tuple),
        ),
        max_size=6,
    ),
    examples=100,
)
def test_arguments_of_the_core(name: str, given: list[Any]) -> None:
    """Arguments that the package never passes are refused, or give a result."""
    try:
        getattr(COMPILED, name)(*given)
    except (TypeError, ValueError, OverflowError):
        return


@target(trees() | bodies, st.integers(0, 99), examples=120)
def test_trees_of_the_core(given: Any, place: int) -> None:
    root = parse_html(given) if isinstance(given, bytes) else given
    if root is None or not isinstance(root.tag, str):
        return
    elements = [root, *root.iter(etree.Element)]
    one = elements[place % len(elements)]
    for make in (read, body, page_facts):
        assert_same(partial(make, one))
