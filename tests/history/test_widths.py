"""How wide the fingerprints of a namespace are, which only its scheme knows."""

from __future__ import annotations

import pytest

from scrapy_simhash.history.documents import read_stored
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.scheme import Sketch


class Lengths:
    """A scheme of one's own, whose id does not say how wide its fingerprints are."""

    id = "lengths/1"
    bits = 32
    distance = 3

    def sketch(self, text: str) -> Sketch:
        return Sketch(len(text), 10, None)


@pytest.fixture
def index():
    with Index("sqlite://", rule=Rule(scheme=Lengths())) as index:
        yield index


def test_a_scheme_that_does_not_say_its_width_has_that_of_what_is_stored(index) -> None:
    index.claim("a text", key="1")
    found = choose_namespace(index.database, None)
    assert found.bits == 32


def test_an_empty_namespace_of_an_unknown_width_can_be_looked_at(index) -> None:
    found = choose_namespace(index.database, None)
    assert len(read_stored(found)) == 0
