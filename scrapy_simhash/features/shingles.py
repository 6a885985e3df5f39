"""Shingles: the distinct pairs of neighbouring tokens of a text, as 64-bit hashes. Sketches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_simhash import native
from scrapy_simhash.features.tokens import (
    cluster_tokens,
    fold,
    fold_table,
    named_tokens,
    normal,
    token_starts,
)

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def mix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter 64-bit values over all 64 bits, one to one; 0 stays 0.

    The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
    Generators", OOPSLA 2014; constants: Stafford's mix 13).
    """
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _MIX_1
    mixed ^= mixed >> np.uint64(27)
    mixed *= _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return mixed


_Number = TypeVar("_Number", bound="np.number[Any]")


def distinct(ordered: NDArray[_Number]) -> NDArray[_Number]:
    """The distinct numbers of a sorted array, as `np.unique`, which imports `numpy.ma`: 50 ms."""
    first = np.empty(ordered.size, np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def among(numbers: NDArray[Any], others: ArrayLike) -> NDArray[np.bool_]:
    """Whether each number is among others, as `np.isin`, which imports `numpy.ma` too."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, numbers, side) for side in ("left", "right"))
    return left < right


class _Constants(NamedTuple):
    """Odd numbers: the base of the polynomial of a token, the factor of a pair's first token."""

    base: int
    pair: np.uint64


# Arbitrary numbers that must not change: the hashes without a secret.
_PUBLIC = _Constants(0x9E6C63D0876A9A47, np.uint64(0xD1342543DE82EF95))

# Secrets whose tables, of 512 KiB each, are cached: a process has one database, or a few.
_SECRETS = 8

# Letters of a shingle in Thai and other scripts without spaces. These have few letters: different
# texts on one subject share a fifth to two fifths of their pairs, but no more rows of four than
# English or Japanese texts share pairs.
_LETTERS = 4

# What tells tokens at different places apart.
_PLACE = np.uint64(0x9E3779B97F4A7C15)

# Characters hashed at once, to bound the memory; a token counts up to as many.
_WINDOW = 1 << 15


def shingles(text: str | bytes, secret: bytes = b"") -> NDArray[np.uint64]:
    """Hash the distinct pairs of neighbouring tokens of a text.

    A token is a run of letters and digits, or one ideograph, kana or hangul syllable. In Thai, Lao,
    Khmer, Burmese and the like it is one letter with its marks, and rows of four are hashed instead
    of pairs. Case, width and punctuation do not matter. Emoji and other pictures are tokens in a
    text that has nothing else. A text of fewer than two tokens has no pair.

    Args:
        text: the text, or its UTF-8; it takes up to 50 bytes of memory a character.
        secret: up to 64 bytes that key the hashes, so that nobody else can choose words by their
            hashes. Without a secret, hashes are the same everywhere.

    Returns:
        The hashes, sorted, evenly spread over all 64 bits.

    >>> shingles("Goats at sea").size
    2
    >>> bool((shingles("Goats at sea") == shingles("GOATS: at sea!")).all())
    True
    """
    return shingle_sets([text], secret)[0]


def shingle_sets(texts: Sequence[str | bytes], secret: bytes = b"") -> list[NDArray[np.uint64]]:
    """The shingles of each of some texts, as `shingles` returns them, faster than one by one."""
    if native.core is not None:
        made = compiled_sketches(native.core, texts, secret)
        return [np.frombuffer(sketch, np.uint64)[3:] for sketch in made]
    return [shingles_and_digest(_decoded(text), secret)[0] for text in texts]


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")


def shingles_and_digest(text: str, secret: bytes = b"") -> tuple[NDArray[np.uint64], int]:
    """The shingles of a text, and 64 bits that tell its tokens and their order; without the core.

    Texts have equal digests if their tokens are equal, and others, but for one in 2**64, have not.
    """
    pairs, digest = _pair_hashes(fold(text), secret)
    return distinct(np.sort(pairs)), digest


def compiled_sketches(
    core: native.Core, texts: Sequence[str | bytes], secret: bytes, second: int = 0
) -> list[bytes]:
    """What `Core.sketches` makes of texts, which it need not normalise."""
    base, pair = _constants(secret)

    def sketches(texts: Iterable[str | bytes], *, is_nfc: bool) -> list[bytes | None]:
        utf8 = [t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in texts]
        return core.sketches(tuple(utf8), fold_table(), is_nfc, (base, int(pair), _WINDOW), second)

    made = sketches(texts, is_nfc=False)
    if left := [number for number, sketch in enumerate(made) if sketch is None]:
        normalised = sketches((normal(_decoded(texts[number])) for number in left), is_nfc=True)
        for number, sketch in zip(left, normalised, strict=True):
            made[number] = sketch
    return cast("list[bytes]", made)


def shingle_names(text: str, secret: bytes = b"") -> dict[str, int]:
    """The pairs that `shingles` hashes, as words joined by a space, with their hashes."""
    folded = fold(text)
    words = named_tokens(folded)
    letters = set(cluster_tokens(folded, token_starts(folded)).tolist())
    names = [
        " ".join(words[place : place + (_LETTERS if place in letters else 2)])
        for place in range(len(words) - 1)
    ]
    return dict(zip(names, _pair_hashes(folded, secret)[0].tolist(), strict=True))


def _pair_hashes(folded: NDArray[Any], secret: bytes) -> tuple[NDArray[np.uint64], int]:
    """The hash of each pair of neighbouring tokens, in order; and the digest of all tokens."""
    base, pair = _constants(secret)
    starts = token_starts(folded)
    hashes = _token_hashes(folded, starts, base)
    digest = _digest(hashes, folded, starts, base)
    pairs = hashes[:-1] * pair + hashes[1:]
    letters = cluster_tokens(folded, starts[:-1])
    if letters.size:
        longer = pairs[letters]
        # Zeros stand behind the last token.
        hashes = np.append(hashes, np.zeros(_LETTERS - 2, np.uint64))
        for further in range(2, _LETTERS):
            longer = longer * pair + hashes[letters + further]
        pairs[letters] = longer
    return mix64(pairs), digest


def _digest(
    hashes: NDArray[np.uint64], folded: NDArray[Any], starts: NDArray[np.intp], base: int
) -> int:
    # What is beyond the window counts here only.
    beyond, bounds = np.zeros(hashes.size, np.uint64), np.append(starts, folded.size - 1)
    for token in np.flatnonzero(np.diff(bounds) > _WINDOW):
        characters = folded[1 + bounds[token] + _WINDOW : 1 + bounds[token + 1]]
        powers = np.full(characters.size, base, np.uint64)
        powers[0] = pow(base, _WINDOW, 1 << 64)
        beyond[token] = (characters * np.multiply.accumulate(powers)).sum()
    places = np.arange(1, hashes.size + 1, dtype=np.uint64) * _PLACE
    return int(mix64(hashes + places + mix64(beyond)).sum().view(np.int64))


def _token_hashes(folded: NDArray[Any], starts: NDArray[np.intp], base: int) -> NDArray[np.uint64]:
    """The polynomial hash of each token, in order."""
    characters = folded[1:]
    bounds = np.append(starts, characters.size)
    hashes = np.empty(starts.size, np.uint64)
    done = 0
    while done < starts.size:
        origin = starts[done]
        end = origin + _WINDOW
        # As many whole tokens as fit, or the beginning of a single token.
        upto = max(done + 1, int(np.searchsorted(bounds, end, side="right")) - 1)
        window = characters[origin : min(end, bounds[upto])]
        hashes[done:upto] = _window_hashes(window, starts[done:upto] - origin, base)
        done = upto
    return hashes


def _window_hashes(
    characters: NDArray[Any], starts: NDArray[np.intp], base: int
) -> NDArray[np.uint64]:
    powers, inverses = _powers(base)
    terms = characters * powers[: characters.size]
    # Separators are 0 and add nothing, so each sum may run up to the next token. The inverse moves
    # a token back to the origin, so that its hash does not depend on its position.
    return np.add.reduceat(terms, starts) * inverses[starts]


@lru_cache(_SECRETS)
def _constants(secret: bytes) -> _Constants:
    if not secret:
        return _PUBLIC
    digest = blake2b(key=secret, digest_size=16, person=b"shingles").digest()
    base, pair = (int.from_bytes(half, "little") | 1 for half in (digest[:8], digest[8:]))
    return _Constants(base, np.uint64(pair))


@lru_cache(_SECRETS)
def _powers(base: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The powers of the base and of its inverse, modulo 2**64."""

    def powers(of: int) -> NDArray[np.uint64]:
        factors = np.full(_WINDOW, of, np.uint64)
        factors[0] = 1
        return np.multiply.accumulate(factors)

    return powers(base), powers(pow(base, -1, 1 << 64))


BINS = 256
_STARTS = np.arange(BINS, dtype=np.uint64) << np.uint64(56)
# The number of values of a bin; 0 stands for an empty bin.
_VALUES = 255


def minhash(shingles: NDArray[np.uint64]) -> bytes:
    """Sketch a set of shingles: sorted distinct 64-bit hashes, evenly spread.

    One-permutation hashing: the range of the hashes is cut into 256 bins, and eight bits of the
    least hash in each bin are kept (Li, Owen and Zhang, "One Permutation Hashing", NIPS 2012; Li
    and König, "b-Bit Minwise Hashing", WWW 2010).
    """
    if native.core is not None:
        return native.core.minhash(np.ascontiguousarray(shingles, np.uint64))
    first = shingles.searchsorted(_STARTS)
    filled = first < np.append(first[1:], shingles.size)
    sketch = np.zeros(BINS, np.uint8)
    # The highest bits are the number of the bin; any other bits will do.
    least = shingles[first[filled]]
    sketch[filled] = (least >> np.uint64(16)) % np.uint64(_VALUES) + np.uint64(1)
    return sketch.tobytes()


def similarity_of(a: bytes, b: bytes) -> float:
    """Estimate the Jaccard similarity of two sets from their sketches; 0 if both are empty.

    The standard error is about .019 at .9 and .025 at .8, more for sets of fewer shingles than
    there are bins.
    """
    return similarities_of(a, [b])[0]


def similarities_of(sketch: bytes, others: Sequence[bytes]) -> list[float]:
    """Estimate the Jaccard similarity of one set and each of the others."""
    one = np.frombuffer(sketch, np.uint8)
    bins = np.frombuffer(b"".join(others), np.uint8).reshape(-1, BINS)
    filled = np.count_nonzero(bins | one, axis=1)
    equal = np.count_nonzero((bins == one) & (one > 0), axis=1)
    # Some bins are equal by chance.
    estimates = (equal / np.maximum(filled, 1) * _VALUES - 1) / (_VALUES - 1)
    found: list[float] = np.maximum(0.0, estimates).tolist()
    return found
