"""Text to features: the distinct pairs of neighbouring words, as 64-bit hashes.

There is no loop over tokens and no dictionary. A text becomes an array of folded characters, in
which 0 separates; tokens are found by comparing neighbours, each hashed as a sum over its part.
"""

from __future__ import annotations

import lzma
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.classic.hashes import mix64

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["shingle_names", "shingles", "tokens"]

# What the fold table makes of a character, other than a plain character.
_SEPARATOR = 0
_ALONE = 1 << 21  # flag of a character that is a token of its own; code points need 21 bits
_COMPOSES = 1 << 30  # flag of a character that may melt into the one before it, or fall apart
_INVISIBLE = 1 << 31  # not part of the text at all: soft hyphens, joiners, direction marks
_BEYOND = _INVISIBLE + 1  # the last code point of the table, for all that come after it

_IDEOGRAPHS = range(0x20000, 0x40000)  # the planes 2 and 3 hold nothing else
_SELECTORS = range(0xE0000, 0xE1000)  # tags and variation selectors

# Odd numbers, otherwise arbitrary, and frozen.
_BASE = 0x9E6C63D0876A9A47
_PAIR = np.uint64(0xD1342543DE82EF95)

# Characters hashed at once. Bounds the memory; what a token has beyond it does not count.
_WINDOW = 1 << 15


@cache
def _fold_table() -> NDArray[np.uint32]:
    """What each code point of the planes 0 and 1 becomes.

    NFKC where that is a single character, lower case; whatever is then neither alphanumeric nor a
    combining mark is a separator. The table is a file, frozen at Unicode 14, because Python's own
    tables change with its version and two crawlers that share an index may not run the same one.
    `tests/fold_table.py` defines and writes it.
    """
    packed = lzma.decompress(Path(__file__).with_name("fold.xz").read_bytes())
    return np.frombuffer(packed, "<u4").astype(np.uint32)


@cache
def _ascii_table() -> bytes:
    return _fold_table()[:128].astype(np.uint8).tobytes() + bytes(128)


@cache
def _powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The powers of the base and of its inverse, modulo 2**64."""

    def powers(base: int) -> NDArray[np.uint64]:
        factors = np.full(_WINDOW, base, np.uint64)
        factors[0] = 1
        return np.multiply.accumulate(factors)

    return powers(_BASE), powers(pow(_BASE, -1, 1 << 64))


def _fold(text: str) -> NDArray[Any]:
    """Folded characters, a separator first.

    Bytes where the text is ASCII, which spares most of the work; 32-bit otherwise. The values, and
    so all that is made of them, are the same in both.
    """
    if text.isascii():
        return np.frombuffer(f" {text}".encode().translate(_ascii_table()), np.uint8)
    return _fold_unicode(text)


def _fold_unicode(text: str) -> NDArray[np.uint32]:
    points = np.frombuffer(f" {text}".encode("utf-32-le", "surrogatepass"), "<u4")
    folded = _fold_table().take(points, mode="clip")
    if folded.max() < _COMPOSES:
        return folded
    # The table sees one character at a time and cannot join a letter to its accent.
    if not unicodedata.is_normalized("NFC", text):
        return _fold_unicode(unicodedata.normalize("NFC", text))
    beyond = folded == _BEYOND
    high = points[beyond]
    ideograph = (high >= _IDEOGRAPHS.start) & (high < _IDEOGRAPHS.stop)
    selector = (high >= _SELECTORS.start) & (high < _SELECTORS.stop)
    other = np.where(selector, _INVISIBLE, _SEPARATOR)
    folded[beyond] = np.where(ideograph, high | _ALONE, other)
    visible: NDArray[np.uint32] = folded[folded != _INVISIBLE] & ~np.uint32(_COMPOSES)
    return visible


def _token_starts(folded: NDArray[Any]) -> NDArray[np.intp]:
    """Where tokens start, counted from the second element of `folded`."""
    word = folded != _SEPARATOR
    joins = word
    if folded.itemsize > 1 and folded.max() >= _ALONE:
        joins = word & (folded < _ALONE)
    return np.flatnonzero(word[1:] > (joins[:-1] & joins[1:]))


def _token_hashes(folded: NDArray[Any]) -> NDArray[np.uint64]:
    """One polynomial hash per token, in the order of the text."""
    starts = _token_starts(folded)
    characters = folded[1:]
    if characters.size <= _WINDOW:
        return _window_hashes(characters, starts)
    bounds = np.append(starts, characters.size)
    hashes = np.empty(starts.size, np.uint64)
    done = 0
    while done < starts.size:
        origin = starts[done]
        end = origin + _WINDOW
        # As many whole tokens as fit, or the beginning of a single one.
        upto = max(done + 1, int(np.searchsorted(bounds, end, side="right")) - 1)
        window = characters[origin : min(end, bounds[upto])]
        hashes[done:upto] = _window_hashes(window, starts[done:upto] - origin)
        done = upto
    return hashes


def _window_hashes(characters: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[np.uint64]:
    if not starts.size:
        return np.empty(0, np.uint64)
    powers, inverses = _powers()
    terms = characters * powers[: characters.size]
    # Separators are 0 and add nothing: up to the next token is up to the end of this one. The
    # inverse moves a token back to the origin, so that it is the same wherever it stands.
    return np.add.reduceat(terms, starts) * inverses[starts]


def _pair_hashes(folded: NDArray[Any]) -> NDArray[np.uint64]:
    """One hash per pair of neighbouring tokens, in the order of the text."""
    hashes = _token_hashes(folded)
    return mix64(hashes[:-1] * _PAIR + hashes[1:])


def shingles(text: str) -> NDArray[np.uint64]:
    """Hash the distinct pairs of neighbouring tokens of a text.

    A token is a run of letters and digits, or one ideograph, kana or hangul syllable. Case, width
    and punctuation do not matter. A text of fewer than two tokens has no pair.

    Args:
        text: Any text. Time and memory grow with its length: about 50 bytes a character at most.

    Returns:
        Sorted distinct 64-bit hashes, evenly spread over the whole range; empty where the text has
        fewer than two tokens.
    """
    hashes = _pair_hashes(_fold(text))
    hashes.sort()
    distinct = np.empty(hashes.size, np.bool_)
    distinct[:1] = True
    np.not_equal(hashes[1:], hashes[:-1], out=distinct[1:])
    return hashes[distinct]


def tokens(text: str) -> list[str]:
    """The tokens of which `shingles` makes its pairs, folded, in the order of the text."""
    return _named_tokens(_fold(text))


def shingle_names(text: str) -> dict[str, int]:
    """The pairs that `shingles` hashes, as words with a space between them, and their hashes."""
    folded = _fold(text)
    names = map(" ".join, pairwise(_named_tokens(folded)))
    return dict(zip(names, _pair_hashes(folded).tolist(), strict=True))


def _named_tokens(folded: NDArray[Any]) -> list[str]:
    starts = _token_starts(folded)
    points = folded[1:] if folded.itemsize == 1 else folded[1:] & ~np.uint32(_ALONE)
    characters = "".join(map(chr, points.tolist()))
    bounds = [*starts.tolist(), len(characters)]
    return [characters[start:end].rstrip("\0") for start, end in pairwise(bounds)]
