"""Defines the fold table of the shingles scheme: `python tests/fold_table.py` writes it anew.

A table that differs makes another scheme: give the scheme a new number in its id then.
"""

from __future__ import annotations

import lzma
import unicodedata
from pathlib import Path

import numpy as np

from scrapy_simhash.features import tokens

SEPARATOR = 0
ALONE = 1 << 21
COMPOSES = 1 << 30
INVISIBLE = 1 << 31
BEYOND = INVISIBLE + 1

# Ideographs, kana and hangul syllables.
ALONE_BLOCKS = [
    range(0x3005, 0x3008),  # iteration mark, closing mark, zero
    range(0x3041, 0x3100),  # hiragana, katakana
    range(0x31F0, 0x3200),  # small katakana
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xAC00, 0xD7A4),  # hangul syllables
    range(0xF900, 0xFB00),
    range(0x1AFF0, 0x1B170),  # kana beyond the basic plane
    range(0x20000, 0x40000),
]
JAMO = range(0x1160, 0x1200)  # vowels and final consonants
VARIATION_SELECTORS = [range(0x180B, 0x1810), range(0xFE00, 0xFE10)]
ZERO_WIDTH_SPACE = 0x200B  # a format character that does separate words


def fold(point: int) -> int:
    """What the table says of one code point."""
    character = chr(point)
    if unicodedata.category(character) == "Cf" and point != ZERO_WIDTH_SPACE:
        return INVISIBLE
    if any(point in block for block in VARIATION_SELECTORS):
        return INVISIBLE
    compatible = unicodedata.normalize("NFKC", character)
    folded = (compatible if len(compatible) == 1 else character).lower()[0]
    mark = unicodedata.category(folded).startswith("M")
    code = ord(folded) if folded.isalnum() or mark else SEPARATOR
    if any(code in block for block in ALONE_BLOCKS):
        code |= ALONE
    if mark or point in JAMO or unicodedata.normalize("NFC", character) != character:
        code |= COMPOSES
    return code


def build() -> np.ndarray:
    """The whole table, for the planes 0 and 1, from this Python's Unicode tables."""
    table = np.array([fold(point) for point in range(0x20000)], np.uint32)
    table[-1] = BEYOND
    return table


if __name__ == "__main__":
    path = Path(tokens.__file__).with_name("fold.xz")
    # Neighbours mostly differ by one: the filter stores differences, and xz says so in its header.
    filters = [{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_LZMA2, "preset": 9}]
    path.write_bytes(lzma.compress(build().astype("<u4").tobytes(), filters=filters))
