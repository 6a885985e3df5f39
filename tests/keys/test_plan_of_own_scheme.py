"""Keys for a scheme of one's own, by its description of itself."""

from __future__ import annotations

import pytest

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.keys.plan import choose_keys, choose_limits
from scrapy_simhash.simhash.shingles import Shingles


class Own(Shingles):
    """What a user may write: the id begins with anything."""

    id = "mine/1 bits=128"


class WithoutShingles(Own):
    has_shingles = False


class WithDistance(Own):
    distance = 5


def test_a_scheme_of_ones_own_with_shingles_has_bands() -> None:
    assert choose_keys(Own(), 0.9, None, "auto").id == "bands 6x6"
    with Index("sqlite://", rule=Rule(scheme=Own())) as index:
        text = "so many words that there are more than eight pairs of them in this one text"
        assert index.claim(text, key="1").kind == "unique"
        assert index.claim(text, key="2").kind == "duplicate"


def test_a_scheme_without_shingles_has_blocks() -> None:
    scheme = WithoutShingles()
    assert choose_keys(scheme, 0.9, None, "auto").id.startswith("blocks ")
    with pytest.raises(ValueError, match="need a scheme that has shingles"):
        choose_keys(scheme, 0.9, None, "bands")


def test_a_scheme_may_have_a_distance_of_its_own() -> None:
    assert choose_limits(WithDistance(), 0.9, None) == (5, 5)
    assert choose_limits(WithDistance(), 0.9, 2) == (2, 2)
    assert choose_keys(WithDistance(), 0.9, None, "auto").id.startswith("blocks ")
