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

# The code points of their letters and marks, from one to the other.
SPACED = {
    "Latin": (0x61, 0x7A),
    "Greek": (0x3B1, 0x3C9),
    "Cyrillic": (0x430, 0x44F),
    "Armenian": (0x561, 0x586),
    "Hebrew": (0x5D0, 0x5EA),
    "Arabic": (0x620, 0x64A),
    "Devanagari": (0x905, 0x94D),
    "Bengali": (0x985, 0x9CD),
    "Tamil": (0xB85, 0xBCD),
    "Telugu": (0xC05, 0xC4D),
    "Malayalam": (0xD05, 0xD4D),
    "Sinhala": (0xD85, 0xDDF),
    "Georgian": (0x10D0, 0x10F0),
    "Amharic": (0x1200, 0x1357),
    "Cherokee": (0x13A0, 0x13F4),
    "Mongolian": (0x1820, 0x1842),
    "Deseret": (0x10428, 0x1044F),
}
UNSPACED = {
    "Chinese": (0x4E00, 0x5FFF),
    "Hangul": (0xAC00, 0xD7A3),
    "Yi": (0xA000, 0xA48C),
    "Tangut": (0x17000, 0x187F7),
    "Thai": (0x0E01, 0x0E4E),
    "Lao": (0x0E81, 0x0ECD),
    "Burmese": (0x1000, 0x103F),
    "Khmer": (0x1780, 0x17D3),
    "Tai Le": (0x1950, 0x1974),
    "Tai Tham": (0x1A20, 0x1A72),
    "Balinese": (0x1B05, 0x1B44),
    "Javanese": (0xA984, 0xA9C0),
    "Tai Viet": (0xAA80, 0xAAC2),
    "Ahom": (0x11700, 0x1172B),
}
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
