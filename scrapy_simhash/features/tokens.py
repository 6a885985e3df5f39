"""The tokens of a text: runs of letters and digits, or characters of scripts without spaces.

A text becomes an array of folded characters, with 0 for separators, in which tokens are found by
comparing neighbours: there is no loop over tokens and no dictionary.
"""

from __future__ import annotations

import lzma
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from unicodedata import combining

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native

# Combining marks in a row that are normalised together.
_LONGEST_ROW = 30
_JOINER = "\u034f"  # the combining grapheme joiner, across which marks are not sorted
# Characters of a text that are normalised. Some take half a microsecond and become 18, each is
# normalised several times, and a page may have a million of them.
_MOST_NORMALISED = 1 << 16
# Marks that count as letters until they are normalised; the last two are single in NFC.
_HIDDEN_MARKS = {
    mark: unicodedata.normalize("NFD", mark) for mark in ("\u0344", "\u0f73", "\u0f75", "\u0f81")
}
_HALFWIDTH_MARKS = {"\uff9e": "\u3099", "\uff9f": "\u309a"}


def listed(words: str) -> set[str]:
    """The words of a text, as a set."""
    return set(words.split())


def normal(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Normalise a text in linear time, whatever it contains.

    Long rows of combining marks are divided. Characters behind the first 65,536 stay as they are.
    """
    if text.isascii():
        return text
    start, rest = text[:_MOST_NORMALISED], text[_MOST_NORMALISED:]
    for mark, plain in (_HIDDEN_MARKS | (_HALFWIDTH_MARKS if form == "NFKC" else {})).items():
        start = start.replace(mark, plain)
    return unicodedata.normalize(form, stream_safe(start)) + rest


def stream_safe(text: str) -> str:
    """Divide rows of more than 30 combining marks by joiners, before a text is normalised.

    No readable text has longer rows. See "Stream-Safe Text Format" in Unicode Standard Annex 15.
    """
    step = _LONGEST_ROW + 1
    # A longer row has one of every 31 characters, so only these are checked.
    if not any(map(combining, text[::step])):
        return text
    parts: list[str] = []
    done = place = 0
    while place < len(text):
        start = end = place
        while end < len(text) and combining(text[end]):
            end += 1
        while place < end and start > done and combining(text[start - 1]):
            start -= 1
        if end - start > _LONGEST_ROW:
            parts.append(text[done:start])
            rows = (text[at : at + _LONGEST_ROW] for at in range(start, end, _LONGEST_ROW))
            parts.append(_JOINER.join(rows))
            done = end
        place = end + step
    return "".join([*parts, text[done:]]) if parts else text


# Values of the fold table that are not plain characters.
_SEPARATOR = 0
_ALONE = 1 << 21  # flag of a character that is a token of its own; code points need 21 bits
_CLUSTER = 1 << 22  # flag of a letter that is a token together with the marks behind it
_MARK = _CLUSTER | _ALONE  # flags of such a mark
_SYMBOL = 1 << 29  # flag of an emoji or other picture: a token in texts without words
_COMPOSES = 1 << 30  # flag of a character that NFC may compose or decompose
_INVISIBLE = 1 << 31  # left out: soft hyphens, joiners, direction marks
_BEYOND = _INVISIBLE + 1  # the last entry of the table, for all other code points

_IDEOGRAPHS = range(0x20000, 0x40000)  # planes 2 and 3 have nothing else
_SELECTORS = range(0xE0000, 0xE1000)  # tags and variation selectors


def tokens(text: str) -> list[str]:
    """The folded tokens of a text, in order; `shingles` hashes their pairs.

    >>> tokens("GOATS: at sea 海上!")
    ['goats', 'at', 'sea', '海', '上']
    """
    if text.isascii():
        return _fold_ascii(text).replace(b"\0", b" ").decode().split()
    if (core := native.core) is not None:
        joined = core.tokens(text, fold_table(), False)
        if joined is None:
            joined = core.tokens(normal(text), fold_table(), True)
        return joined.split(" ") if joined else []
    return named_tokens(fold(text))


def fold(text: str) -> NDArray[Any]:
    """The folded characters behind a separator: bytes for ASCII, which is faster, else 32 bits."""
    if text.isascii():
        return np.frombuffer(_fold_ascii(f" {text}"), np.uint8)
    return _fold_unicode(text)


def token_starts(folded: NDArray[Any]) -> NDArray[np.intp]:
    """The indexes of the starts of tokens, counted from the second element of `folded`."""
    word = folded != _SEPARATOR
    highest = folded.max() if folded.itemsize > 1 else 0
    joins = word & (folded < _ALONE) if highest >= _ALONE else word
    joined = joins[:-1] & joins[1:]
    if highest >= _CLUSTER:
        joined |= word[:-1] & (folded[1:] >= _MARK)
    return np.flatnonzero(word[1:] > joined)


def cluster_tokens(folded: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The indexes of the tokens that are letters of a script without spaces."""
    if folded.itemsize == 1 or folded.max() < _CLUSTER:
        return starts[:0]
    return np.flatnonzero(folded[1:][starts] >= _CLUSTER)


def named_tokens(folded: NDArray[Any]) -> list[str]:
    """The tokens of a folded text, in order."""
    starts = token_starts(folded)
    characters = "".join(map(chr, (folded[1:] & np.uint32(_ALONE - 1)).tolist()))
    bounds = [*starts.tolist(), len(characters)]
    return [characters[start:end].rstrip("\0") for start, end in pairwise(bounds)]


def _fold_unicode(text: str, *, is_nfc: bool = False) -> NDArray[np.uint32]:
    points = np.frombuffer(f" {text}".encode("utf-32-le", "surrogatepass"), "<u4")
    folded = fold_table().take(points, mode="clip")
    highest = folded.max()
    if highest < _SYMBOL:
        return folded
    if highest < _COMPOSES:
        return _without_symbols(folded)
    # The table folds single characters; composing letters with accents is left to NFC.
    if not is_nfc:
        return _fold_unicode(normal(text), is_nfc=True)
    beyond = folded == _BEYOND
    high = points[beyond]
    ideograph = (high >= _IDEOGRAPHS.start) & (high < _IDEOGRAPHS.stop)
    selector = (high >= _SELECTORS.start) & (high < _SELECTORS.stop)
    other = np.where(selector, _INVISIBLE, _SEPARATOR)
    folded[beyond] = np.where(ideograph, high | _ALONE, other)
    visible: NDArray[np.uint32] = folded[folded != _INVISIBLE] & ~np.uint32(_COMPOSES)
    return visible if visible.max() < _SYMBOL else _without_symbols(visible)


def _without_symbols(folded: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Turn symbols into separators, or into tokens in a text without words.

    Copies often lose their emoji or have pictures instead, so beside words they do not count.
    """
    symbols = folded >= _SYMBOL
    words = np.where(symbols, np.uint32(_SEPARATOR), folded)
    if words.max():
        return words
    return np.where(symbols, folded ^ np.uint32(_SYMBOL | _ALONE), folded)


@cache
def fold_table() -> NDArray[np.uint32]:
    """The folded value of each code point of planes 0 and 1.

    It is the character in NFKC and lower case, if that is a single one; or a separator or symbol,
    unless it is alphanumeric or a combining mark. The table is a file, frozen at Unicode 14: the
    tables of Python change between versions, and crawlers that share an index may run different
    versions. `tests/fold_table.py` defines and writes the file.
    """
    packed = lzma.decompress(Path(__file__).with_name("fold.xz").read_bytes())
    return np.frombuffer(packed, "<u4").astype(np.uint32)


def _fold_ascii(text: str) -> bytes:
    return text.encode().translate(_ascii_table())


@cache
def _ascii_table() -> bytes:
    return fold_table()[:128].astype(np.uint8).tobytes() + bytes(128)
