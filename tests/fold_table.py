"""Defines the fold table of the shingles scheme: `python tests/fold_table.py` writes it.

If the table changes, fingerprints do: give the scheme a new number in its id.
"""

from __future__ import annotations

import lzma
import unicodedata
from pathlib import Path

import numpy as np

from scrapy_simhash.features import tokens

SEPARATOR = 0
ALONE = 1 << 21
CLUSTER = 1 << 22
MARK = CLUSTER | ALONE
SYMBOL = 1 << 29
COMPOSES = 1 << 30
INVISIBLE = 1 << 31
BEYOND = INVISIBLE + 1

# Ideographs, kana, and the syllables of hangul and Yi.
ALONE_BLOCKS = [
    range(0x3005, 0x3008),  # iteration mark, closing mark, zero
    range(0x3041, 0x3100),  # hiragana, katakana
    range(0x31F0, 0x3200),  # small katakana
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA48D),  # with Yi
    range(0xAC00, 0xD7A4),  # hangul syllables
    range(0xF900, 0xFB00),
    range(0x17000, 0x18D09),  # Tangut, Khitan
    range(0x1AFF0, 0x1B300),  # kana beyond the basic plane, Nushu
    range(0x20000, 0x40000),
]
# Scripts without spaces between words: those of Unicode's line breaking class SA ("complex
# context": only a dictionary knows the words), and Javanese and Balinese.
CLUSTER_BLOCKS = [
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x19E0),  # Tai Le, New Tai Lue
    range(0x1A20, 0x1AB0),  # Tai Tham
    range(0x1B00, 0x1B80),  # Balinese
    range(0xA980, 0xAA00),  # Javanese, more of Myanmar
    range(0xAA60, 0xAAE0),  # more of Myanmar, Tai Viet
    range(0x11700, 0x11750),  # Ahom
]
AM = [0x0E33, 0x0EB3]  # letters by category, but vowel signs that stand behind theirs
SKIN_TONES = range(0x1F3FB, 0x1F400)
JAMO = range(0x1160, 0x1200)  # vowels and final consonants
VARIATION_SELECTORS = [range(0x180B, 0x1810), range(0xFE00, 0xFE10)]
ZERO_WIDTH_SPACE = 0x200B  # a format character that does separate words


def fold(point: int) -> int:
    """The entry of a code point."""
    character = chr(point)
    if unicodedata.category(character) == "Cf" and point != ZERO_WIDTH_SPACE:
        return INVISIBLE
    if any(point in block for block in VARIATION_SELECTORS):
        return INVISIBLE
    compatible = unicodedata.normalize("NFKC", character)
    folded = (compatible if len(compatible) == 1 else character).lower()[0].replace("ς", "σ")
    mark = unicodedata.category(folded).startswith("M")
    code = ord(folded) if folded.isalnum() or mark else SEPARATOR
    if any(code in block for block in ALONE_BLOCKS):
        code |= ALONE
    elif any(code in block for block in CLUSTER_BLOCKS) and not folded.isnumeric():
        code |= MARK if mark or code in AM else CLUSTER
    elif not code and (unicodedata.category(folded) == "So" or point in SKIN_TONES):
        code = ord(folded) | SYMBOL
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
