"""Text to tokens: runs of letters and digits, or single characters of scripts without spaces.

There is no loop over tokens and no dictionary. A text becomes an array of folded characters, in
which 0 separates; tokens are found by comparing neighbours.
"""

from __future__ import annotations

import lzma
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import combining

import numpy as np

from scrapy_simhash import native

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from numpy.typing import NDArray

    T = TypeVar("T")

__all__ = [
    "cluster_tokens",
    "compiled",
    "fold",
    "fold_table",
    "named_tokens",
    "normal",
    "stream_safe",
    "token_starts",
    "tokens",
]

_LONGEST = 30
_JOINER = "\u034f"  # the combining grapheme joiner: nothing is sorted across it


def stream_safe(text: str) -> str:
    """Put a joiner after each 30 combining marks in a row; to be called before normalising.

    Returns:
        The text itself where it has no longer row, as all texts that somebody can read.
    """
    step = _LONGEST + 1
    # A longer row covers one of each 31 characters: to look at these is enough, and fast.
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
        if end - start > _LONGEST:
            parts.append(text[done:start])
            rows = (text[at : at + _LONGEST] for at in range(start, end, _LONGEST))
            parts.append(_JOINER.join(rows))
            done = end
        place = end + step
    return "".join([*parts, text[done:]]) if parts else text


# What the fold table makes of a character, other than a plain character.
_SEPARATOR = 0
_ALONE = 1 << 21  # flag of a character that is a token of its own; code points need 21 bits
_CLUSTER = 1 << 22  # flag of a letter that is one together with the marks that follow it
_MARK = _CLUSTER | _ALONE  # flags of such a mark
_SYMBOL = 1 << 29  # flag of an emoji or another picture: a token where a text has nothing else
_COMPOSES = 1 << 30  # flag of a character that may melt into the one before it, or fall apart
_INVISIBLE = 1 << 31  # not part of the text at all: soft hyphens, joiners, direction marks
_BEYOND = _INVISIBLE + 1  # the last code point of the table, for all that come after it

_IDEOGRAPHS = range(0x20000, 0x40000)  # the planes 2 and 3 hold nothing else
_SELECTORS = range(0xE0000, 0xE1000)  # tags and variation selectors


def tokens(text: str) -> list[str]:
    """The tokens of which `shingles` makes its pairs, folded, in the order of the text."""
    if text.isascii():
        return [token for token in _fold_ascii(text).decode().split("\0") if token]
    if (core := native.core) is not None:
        joined = compiled(lambda text, is_nfc: core.tokens(text, fold_table(), is_nfc), text)
        return joined.split(" ") if joined else []
    return named_tokens(fold(text))


def compiled(make: Callable[[str, bool], T | None], text: str) -> T:
    """What the core makes of a text: of one that NFC might change it makes nothing.

    Args:
        make: of a text, and whether it is in NFC.
        text: any text.
    """
    made = make(text, False)
    while made is None:
        normalised = normal(text)
        made = make(normalised, normalised == text)
        text = normalised
    return made


def fold(text: str) -> NDArray[Any]:
    """Folded characters, a separator first.

    Bytes where the text is ASCII, which spares most of the work; 32-bit otherwise. The values, and
    so all that is made of them, are the same in both.
    """
    if text.isascii():
        return np.frombuffer(_fold_ascii(f" {text}"), np.uint8)
    return _fold_unicode(text)


def normal(text: str) -> str:
    """NFC, which joins letters to their accents; a row of marks that nobody can read is cut."""
    return unicodedata.normalize("NFC", stream_safe(text))


def token_starts(folded: NDArray[Any]) -> NDArray[np.intp]:
    """Where tokens start, counted from the second element of `folded`."""
    word = folded != _SEPARATOR
    highest = folded.max() if folded.itemsize > 1 else 0
    joins = word & (folded < _ALONE) if highest >= _ALONE else word
    joined = joins[:-1] & joins[1:]
    if highest >= _CLUSTER:
        joined |= word[:-1] & (folded[1:] >= _MARK)
    return np.flatnonzero(word[1:] > joined)


def cluster_tokens(folded: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which of the tokens that start there are letters of a script without spaces, as numbers."""
    if folded.itemsize == 1 or folded.max() < _CLUSTER:
        return starts[:0]
    return np.flatnonzero(folded[1:][starts] >= _CLUSTER)


def named_tokens(folded: NDArray[Any]) -> list[str]:
    """The tokens of a folded text, in its order."""
    starts = token_starts(folded)
    characters = "".join(map(chr, (folded[1:] & np.uint32(_ALONE - 1)).tolist()))
    bounds = [*starts.tolist(), len(characters)]
    return [characters[start:end].rstrip("\0") for start, end in pairwise(bounds)]


def _fold_unicode(text: str) -> NDArray[np.uint32]:
    points = np.frombuffer(f" {text}".encode("utf-32-le", "surrogatepass"), "<u4")
    folded = fold_table().take(points, mode="clip")
    highest = folded.max()
    if highest < _SYMBOL:
        return folded
    if highest < _COMPOSES:
        return _without_symbols(folded)
    # The table sees one character at a time and cannot join a letter to its accent.
    normalised = normal(text)
    if normalised != text:
        return _fold_unicode(normalised)
    beyond = folded == _BEYOND
    high = points[beyond]
    ideograph = (high >= _IDEOGRAPHS.start) & (high < _IDEOGRAPHS.stop)
    selector = (high >= _SELECTORS.start) & (high < _SELECTORS.stop)
    other = np.where(selector, _INVISIBLE, _SEPARATOR)
    folded[beyond] = np.where(ideograph, high | _ALONE, other)
    visible: NDArray[np.uint32] = folded[folded != _INVISIBLE] & ~np.uint32(_COMPOSES)
    return visible if visible.max() < _SYMBOL else _without_symbols(visible)


def _without_symbols(folded: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Make separators of the symbols; or tokens, where a text has nothing but them.

    Copies lose their emoji, or have pictures in their place: between words they count nothing.
    """
    symbols = folded >= _SYMBOL
    rest = np.where(symbols, np.uint32(_SEPARATOR), folded)
    if rest.max():
        return rest
    return np.where(symbols, folded ^ np.uint32(_SYMBOL | _ALONE), folded)


@cache
def fold_table() -> NDArray[np.uint32]:
    """What each code point of the planes 0 and 1 becomes.

    NFKC where that is a single character, lower case; whatever is then neither alphanumeric nor a
    combining mark is a separator, or a symbol. The table is a file, frozen at Unicode 14, because
    Python's own tables change with its version and two crawlers that share an index may not run the
    same one. `tests/fold_table.py` defines and writes it.
    """
    packed = lzma.decompress(Path(__file__).with_name("fold.xz").read_bytes())
    return np.frombuffer(packed, "<u4").astype(np.uint32)


def _fold_ascii(text: str) -> bytes:
    return text.encode().translate(_ascii_table())


@cache
def _ascii_table() -> bytes:
    return fold_table()[:128].astype(np.uint8).tobytes() + bytes(128)
