"""No script collapses: what reads differently gives other shingles, and an edit changes a few."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest

from scrapy_simhash.features import tokens as features
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.simhash.measure import candidate_limit, distance, jaccard
from scrapy_simhash.simhash.shingles import fingerprint


def _ranges(table: str) -> dict[str, tuple[int, int]]:
    """The code points of the letters and marks of scripts, from one to the other."""
    rows = (row.rsplit(" ", 2) for row in table.split(", "))
    return {name: (int(first, 16), int(last, 16)) for name, first, last in rows}


SPACED = _ranges(
    "Latin 61 7A, Greek 3B1 3C9, Cyrillic 430 44F, Armenian 561 586, Hebrew 5D0 5EA, Arabic 620 "
    "64A, Devanagari 905 94D, Bengali 985 9CD, Tamil B85 BCD, Telugu C05 C4D, Malayalam D05 D4D, "
    "Sinhala D85 DDF, Georgian 10D0 10F0, Amharic 1200 1357, Cherokee 13A0 13F4, Mongolian 1820 "
    "1842, Deseret 10428 1044F"
)
UNSPACED = _ranges(
    "Chinese 4E00 5FFF, Hangul AC00 D7A3, Yi A000 A48C, Tangut 17000 187F7, Thai E01 E4E, Lao E81 "
    "ECD, Burmese 1000 103F, Khmer 1780 17D3, Tai Le 1950 1974, Tai Tham 1A20 1A72, Balinese 1B05 "
    "1B44, Javanese A984 A9C0, Tai Viet AA80 AAC2, Ahom 11700 1172B"
)
SCRIPTS = SPACED | UNSPACED
CLUSTERED = ["Thai", "Lao", "Burmese", "Khmer", "Tai Tham", "Balinese", "Javanese", "Ahom"]


def of_category(script: str, categories: str) -> list[str]:
    first, last = SCRIPTS[script]
    characters = map(chr, range(first, last + 1))
    return [one for one in characters if unicodedata.category(one)[0] in categories]


def words(script: str, count: int, seed: int) -> list[str]:
    """So many words, of which the frequent ones come again: nobody writes at random."""
    generator = random.Random(f"{script} {seed}")
    letters = of_category(script, "LM")
    made = ["".join(generator.choices(letters, k=generator.randint(3, 6))) for _ in range(count)]
    return [made[int(count * generator.random() ** 2)] for _ in range(count)]


def text(script: str, of: list[str]) -> str:
    return (" " if script in SPACED else "").join(of)


@pytest.mark.parametrize("script", SCRIPTS)
def test_texts_that_share_no_word_are_far_from_each_other(script: str) -> None:
    one, other = (text(script, words(script, 300, seed)) for seed in (1, 2))
    assert jaccard(shingles(one), shingles(other)) < 0.05
    assert distance(fingerprint(one), fingerprint(other)) > 40


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_copy_with_a_sentence_changed_stays_near_in_every_script(script: str) -> None:
    original = words(script, 400, 1)
    copy = [*original[:200], *words(script, 16, 2), *original[216:]]
    one, other = text(script, original), text(script, copy)
    assert 0.87 < jaccard(shingles(one), shingles(other)) < 0.96
    assert distance(fingerprint(one), fingerprint(other)) <= candidate_limit(0.8)


@pytest.mark.parametrize("script", UNSPACED)
def test_spaces_do_not_matter_where_words_have_none(script: str) -> None:
    # A mark may not be cut from its letter.
    letters = [letter for letter in of_category(script, "L") if letter not in "\u0e33\u0eb3"][:99]
    assert shingles(" ".join(letters)).tolist() == shingles("".join(letters)).tolist()
    assert shingles("\u200b".join(letters)).tolist() == shingles("".join(letters)).tolist()


@pytest.mark.parametrize(
    "script", ["Devanagari", "Bengali", "Tamil", "Malayalam", "Sinhala", *CLUSTERED]
)
def test_another_mark_makes_another_token_and_none_of_its_own(script: str) -> None:
    letter = of_category(script, "L")[0]
    marks = of_category(script, "M")
    seen = [tokens(letter + mark) for mark in marks]
    assert [len(one) for one in seen] == [1] * len(marks)
    assert len({one[0] for one in seen} | {letter}) == len(marks) + 1


def test_every_letter_digit_and_mark_is_part_of_a_token() -> None:
    """Those that Unicode 3.2 had, which any Python knows."""
    plain = features.fold_table() & ~np.uint32(features._COMPOSES)
    without = (plain == features._SEPARATOR) | (plain & ~np.uint32(1 << 28) >= features._SYMBOL)
    without &= plain != features._INVISIBLE
    lost = [
        chr(point)
        for point in np.flatnonzero(without).tolist()
        if unicodedata.ucd_3_2_0.category(chr(point))[0] in "LMN"
        and unicodedata.category(chr(point))[0] in "LMN"
    ]
    assert lost == []
