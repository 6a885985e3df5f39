"""What the compiled core takes for normal, NFKC leaves as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.features.marks import stream_safe
from scrapy_simhash.item import numbers as numbering

COMPILED = pytest.importorskip("scrapy_simhash.native._core", reason="the core is not compiled")

KEPT = [chr(point) for point in range(0x110000) if COMPILED.is_normal(chr(point))]


def joins_another():
    """The characters that may melt into the one before them."""
    pairs = (unicodedata.decomposition(chr(point)).split() for point in range(0x110000))
    found = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and "<" not in pair[0]}
    # Of hangul syllables the tables do not say it.
    return found | {chr(point) for point in range(0x1161, 0x1200)}


def test_no_character_that_is_kept_changes_or_joins_another():
    assert len(KEPT) > 39_000
    assert [c for c in KEPT if unicodedata.normalize("NFKC", c) != c] == []
    assert [c for c in KEPT if unicodedata.combining(c)] == []
    assert joins_another().isdisjoint(KEPT)


def test_what_no_version_of_unicode_may_change_is_kept_alone():
    """A character that is not there yet may turn out to be anything."""
    assert [c for c in KEPT if unicodedata.category(c) == "Cn"] == []


@given(st.text(st.one_of(st.sampled_from(KEPT), st.characters()), max_size=40))
@example("e\u0301")
@example("\u1100\u1161")
@example("a" * 31 + "\u0301" * 31)
@example("7 \U0001d7d8")
def test_what_is_normal_is_left_as_it_is(text):
    if COMPILED.is_normal(text):
        assert unicodedata.normalize("NFKC", stream_safe(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "It’s “5°” – naïve, € 7",
        "Привет, שלום, سلام",
        "中文、《书》。ひらカナー 한국",
    ],
)
def test_most_texts_are_normal(text):
    assert COMPILED.is_normal(text)
    assert not COMPILED.is_normal(text + "\u00bd")
    assert not COMPILED.is_normal(text + "\ud800")


def test_the_punctuation_that_is_put_in_is_what_nfkc_makes_of_it():
    for sign, plain in numbering._PUNCTUATION.items():
        assert unicodedata.normalize("NFKC", sign) == plain
        assert not COMPILED.is_normal(sign)
