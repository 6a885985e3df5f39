"""The tokens of a text: runs of letters and digits, or characters of scripts without spaces.

There is no loop over tokens and no dictionary: a text becomes an array of folded characters, with 0
for separators, and tokens are found by comparing neighbours.
"""

from __future__ import annotations

import lzma
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import combining

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native

if TYPE_CHECKING:
    T = TypeVar("T")


_LONGEST = 30
_JOINER = "\u034f"  # the combining grapheme joiner, across which marks are not sorted


def stream_safe(text: str) -> str:
    """Put a joiner after each 30 combining marks in a row; to be called before normalising.

    Returns:
        The text itself where it has no longer row, as all texts that somebody can read.
    """
    step = _LONGEST + 1
    # A longer row covers one of every 31 characters, so only those are checked.
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


# Values of the fold table that are not plain characters.
_SEPARATOR = 0
_ALONE = 1 << 21  # flag of a character that is a token of its own; code points need 21 bits
_CLUSTER = 1 << 22  # flag of a letter that is a token together with the marks behind it
_MARK = _CLUSTER | _ALONE  # flags of such a mark
_SYMBOL = 1 << 29  # flag of an emoji or another picture: a token in texts without words
_COMPOSES = 1 << 30  # flag of a character that NFC may compose or decompose
_INVISIBLE = 1 << 31  # left out: soft hyphens, joiners, direction marks
_BEYOND = _INVISIBLE + 1  # the last entry of the table, for all code points behind it

_IDEOGRAPHS = range(0x20000, 0x40000)  # planes 2 and 3 have nothing else
_SELECTORS = range(0xE0000, 0xE1000)  # tags and variation selectors


def tokens(text: str) -> list[str]:
    """The folded tokens of a text, in order; `shingles` hashes their pairs."""
    if text.isascii():
        return [token for token in _fold_ascii(text).decode().split("\0") if token]
    if (core := native.core) is not None:
        joined = compiled(lambda text, is_nfc: core.tokens(text, fold_table(), is_nfc), text)
        return joined.split(" ") if joined else []
    return named_tokens(fold(text))


def compiled(make: Callable[[str, bool], T | None], text: str) -> T:
    """Call the core with a text and whether it is in NFC, normalising it if the core asks."""
    made = make(text, False)
    while made is None:
        normalised = normal(text)
        made = make(normalised, normalised == text)
        text = normalised
    return made


def fold(text: str) -> NDArray[Any]:
    """Folded characters, a separator first: bytes for ASCII, which is faster, else 32 bits each."""
    if text.isascii():
        return np.frombuffer(_fold_ascii(f" {text}"), np.uint8)
    return _fold_unicode(text)


def normal(text: str) -> str:
    """NFC, with long rows of combining marks divided."""
    return unicodedata.normalize("NFC", stream_safe(text))


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
    """The numbers of the tokens that are letters of a script without spaces."""
    if folded.itemsize == 1 or folded.max() < _CLUSTER:
        return starts[:0]
    return np.flatnonzero(folded[1:][starts] >= _CLUSTER)


def named_tokens(folded: NDArray[Any]) -> list[str]:
    """The tokens of a folded text, in order."""
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
    # The table folds single characters; composing letters with accents is left to NFC.
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
    """Turn symbols into separators, or into tokens in a text without words.

    Copies often lose their emoji or have pictures instead, so beside words they do not count.
    """
    symbols = folded >= _SYMBOL
    rest = np.where(symbols, np.uint32(_SEPARATOR), folded)
    if rest.max():
        return rest
    return np.where(symbols, folded ^ np.uint32(_SYMBOL | _ALONE), folded)


@cache
def fold_table() -> NDArray[np.uint32]:
    """The folded value of each code point of planes 0 and 1.

    NFKC if that is a single character, in lower case; separators or symbols unless alphanumeric or
    combining marks. The table is a file, frozen at Unicode 14: Python's own tables change between
    versions, and crawlers that share an index may run different ones. `tests/fold_table.py` defines
    and writes it.
    """
    packed = lzma.decompress(Path(__file__).with_name("fold.xz").read_bytes())
    return np.frombuffer(packed, "<u4").astype(np.uint32)


def _fold_ascii(text: str) -> bytes:
    return text.encode().translate(_ascii_table())


@cache
def _ascii_table() -> bytes:
    return fold_table()[:128].astype(np.uint8).tobytes() + bytes(128)
