"""A stranger who knows how texts are hashed, and makes pages that pass for those of a rival.

A page is a chain of invented words. The hash of each pair of neighbours is chosen among thousands:
it must fill a bin of the rival's sketch with the value that is there, and turns the fingerprint to
that of the rival. Of the rival's own words there are only the pairs that make one band.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.features.shingles import (
    BINS,
    _constants,
    minhash,
    mix64,
    shingle_names,
    shingles,
)
from scrapy_simhash.keys.bands import Bands, _bins
from scrapy_simhash.simhash.shingles import Shingles

_SYLLABLES = [a + b for a in "bdgklmnprstvz" for b in ("a", "e", "io", "u")]
_WORDS = ["".join(parts) for parts in product(_SYLLABLES, _SYLLABLES, "n")]
_VALUES = np.uint64(255)
# A bit that is so far on the right side needs no more help.
_SAFE = 6
# The share of the bins that may be left: the last ones take as many words as all others.
_LEFT = 0.04


class Forger:
    """Forges pages for an index whose secret it knows, or takes for this one.

    Args:
        secret: with which it hashes.
        seed: of the order in which its words are tried.
    """

    def __init__(self, secret: bytes, seed: int = 0) -> None:
        self._secret = secret
        self._base, self._pair = _constants(secret)
        self._random = np.random.default_rng(seed)
        self._words = list(self._random.permutation(_WORDS))
        self._hashes = np.array([self._token(word) for word in self._words], np.uint64)

    def near(self, text: str, bands: Bands) -> str:
        """A page of other words that has a band, the sketch and the fingerprint of a text."""
        return _Page(self, text, bands).forge()

    def with_hot_keys(self, text: str, bands: Bands, count: int) -> list[str]:
        """Pages with nothing in common but the words that all the bands of a text are made of."""
        least = _least(shingles(text, self._secret), bands)
        copied = self._named(text, least[least > 0])
        return [self._with_pairs(copied, least, bands) for _ in range(count)]

    def _with_pairs(
        self, copied: Sequence[tuple[str, str]], least: NDArray[np.uint64], bands: Bands
    ) -> str:
        """The pairs in any order, with words between them that lead to no lower hash."""
        chosen_words: list[str] = []
        last = self._hashes[self._random.integers(len(self._words))]
        for one, other in (copied[place] for place in self._random.permutation(len(copied))):
            for target in (None, None, one):
                some = self._random.integers(len(self._words), size=64)
                fine = ~_is_lower(self.pairs(last, self._hashes[some]), least, bands)
                if target is not None:
                    into = self.pairs(self._hashes[some], self._token(target))
                    fine &= ~_is_lower(into, least, bands)
                chosen = some[fine.argmax()]
                chosen_words.append(self._words[chosen])
                last = self._hashes[chosen]
            chosen_words += [one, other]
            last = self._token(other)
        return " ".join(chosen_words)

    def pairs(
        self, first: NDArray[np.uint64] | np.uint64, second: NDArray[np.uint64] | np.uint64
    ) -> NDArray[np.uint64]:
        """The hashes of pairs of words."""
        with np.errstate(over="ignore"):
            return mix64(first * self._pair + second)

    def _token(self, word: str) -> np.uint64:
        value = sum(ord(letter) * pow(self._base, i, 1 << 64) for i, letter in enumerate(word))
        return np.uint64(value % (1 << 64))

    def _named(self, text: str, hashes: NDArray[np.uint64]) -> list[tuple[str, str]]:
        """The pairs of words that have these hashes."""
        names = {hash_: name for name, hash_ in shingle_names(text, self._secret).items()}
        return [tuple(names[int(hash_)].split(" ")) for hash_ in hashes]


class _Page:
    """A page in the making."""

    def __init__(self, forger: Forger, text: str, bands: Bands) -> None:
        self._forger = forger
        self._bands = bands
        theirs = shingles(text, forger._secret)
        least = _least(theirs, bands).reshape(bands.rows, bands.bands)
        # The band with the fewest empty bins, which others stand in for.
        band = (least > 0).sum(axis=0).argmax()
        self._least = np.where(np.arange(bands.bands) == band, least, np.uint64(0)).ravel()
        self._copied = forger._named(text, self._least[self._least > 0])
        self._wanted = np.frombuffer(minhash(theirs), np.uint8)
        #: The least hash that this page has in each bin; none yet is the largest.
        self._held = np.full(BINS, ~np.uint64(0))
        fingerprint = Shingles().keyed(forger._secret).sketch(text).fingerprint
        assert fingerprint is not None
        self._target = _signs(
            np.array([[fingerprint & (1 << 64) - 1, fingerprint >> 64]], np.uint64)
        )[0]
        self._sums = np.zeros(128, np.int64)
        self._said = [forger._words[0]]
        self._last = forger._hashes[0]

    def forge(self) -> str:
        for one, other in self._copied:
            first, second = self._forger._token(one), self._forger._token(other)
            self._step(before=first)
            self._add(one, first)
            self._add(other, second)
        for _ in range(2 * BINS):
            if self._open(np.arange(BINS)).sum() <= _LEFT * (self._wanted > 0).sum():
                break
            self._step()
        return " ".join(self._said)

    def _open(self, bins: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether bins of the rival's are still to be filled."""
        return (self._wanted[bins] > 0) & (self._held[bins] == ~np.uint64(0))

    def _step(self, before: np.uint64 | None = None) -> None:
        """Say the best word, of those that may stand before another."""
        forger = self._forger
        hashes = forger.pairs(self._last, forger._hashes)
        chosen = np.flatnonzero(self._good(hashes))
        chosen = chosen[self._harm(hashes[chosen]) == 0]
        if before is not None or not chosen.size:
            harm = self._harm(hashes)
            if before is not None:
                harm += self._harm(forger.pairs(forger._hashes, before))
            chosen = np.flatnonzero(harm == harm.min())[:64]
        weak = self._target * self._sums < _SAFE
        best = chosen[(_bits(hashes[chosen]) @ (self._target * weak)).argmax()]
        self._add(forger._words[best], forger._hashes[best])

    def _add(self, word: str, token: np.uint64) -> None:
        hash_ = self._forger.pairs(self._last, np.array([token]))
        place = int(hash_[0] >> np.uint64(56))
        self._held[place] = min(self._held[place], hash_[0])
        self._sums += _bits(hash_)[0]
        self._said.append(word)
        self._last = token

    def _good(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether they fill an open bin with the right value."""
        bins = (hashes >> np.uint64(56)).astype(np.intp)
        return self._open(bins) & (_values(hashes) == self._wanted[bins])

    def _harm(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Whether they would give a bin of the sketch, or of the band, something else."""
        bins = (hashes >> np.uint64(56)).astype(np.intp)
        spoils = (hashes < self._held[bins]) & (_values(hashes) != self._wanted[bins])
        return spoils.astype(np.int64) + 2 * _is_lower(hashes, self._least, self._bands)


def _values(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (hashes >> np.uint64(16)) % _VALUES + np.uint64(1)


def _bits(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    return _signs(Shingles()._words(hashes))


def _signs(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The bits of 128-bit numbers, low word first, as 1 and -1: shape (numbers, 128)."""
    packed = words.astype("<u8").view(np.uint8).reshape(-1, 16)
    return 2 * np.unpackbits(packed, axis=1, bitorder="little").astype(np.int64) - 1


def _least(hashes: NDArray[np.uint64], bands: Bands) -> NDArray[np.uint64]:
    """The least hash of each bin of the bands; 0 where there is none."""
    starts = _bins(bands.bands * bands.rows)[0]
    first = hashes.searchsorted(starts)
    filled = first < np.append(first[1:], hashes.size)
    return np.where(filled, hashes[np.minimum(first, hashes.size - 1)], np.uint64(0))


def _is_lower(
    hashes: NDArray[np.uint64], least: NDArray[np.uint64], bands: Bands
) -> NDArray[np.bool_]:
    """Whether a hash would take the place of the least one of its bin."""
    starts = _bins(bands.bands * bands.rows)[0]
    return hashes < least[np.searchsorted(starts, hashes, side="right") - 1]
