"""The default scheme: the set of a text's pairs of neighbouring tokens, on 128 bits."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash import native
from scrapy_simhash.features.hashes import mix64
from scrapy_simhash.features.shingles import core_constants, shingle_names, shingles
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.simhash.majority import bit_sums, majority
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part

#: What is added to the low 64 bits of a feature, which make the high ones when mixed.
SECOND = 0x9E3779B97F4A7C15


class Shingles:
    """The default scheme: the set of a text's pairs of neighbouring tokens, on 128 bits.

    The low 64 bits are what `shingles` hashes each pair to, the high ones a second mix of it. In
    scripts without spaces it is four letters in a row.
    """

    # The number changes whenever fingerprints change; the rest is information.
    id: str = "shingles/2 tokens=2,4 hash=poly+splitmix64 bits=128 tie=bit fold=unicode14"
    bits: ClassVar[int] = 128
    has_shingles: ClassVar[bool] = True

    _secret = b""

    def keyed(self, secret: bytes) -> Self:
        """The scheme keyed with the secret of a database."""
        made = copy(self)
        made._secret = secret
        made.id = f"{type(self).id} {key_part(secret)}"
        return made

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint and its shingles."""
        low = shingles(text, self._secret)
        if not low.size:
            return Sketch(None, 0, low)
        if native.core is None:
            return Sketch(majority(self._words(low)), low.size, low)
        words = native.core.majority(low, SECOND)
        return Sketch(words[1] << 64 | words[0], low.size, low)

    def core_constants(self) -> tuple[int, int, int]:
        """How the core hashes tokens and their pairs."""
        return core_constants(self._secret)

    def explain(self, text: str) -> Explanation:
        """The steps from a text to its fingerprint."""
        names = shingle_names(text, self._secret)
        words = self._words(np.array(list(names.values()), np.uint64))
        hashes = [int(high) << 64 | int(low) for low, high in words]
        features = [Feature(name, 1, hash_) for name, hash_ in zip(names, hashes, strict=True)]
        sums = bit_sums(hashes, [1] * len(hashes), self.bits)
        made = self.sketch(text).fingerprint
        return Explanation(
            self.id, self.bits, tokens(text), [], features, sums[::-1].tolist(), made
        )

    def _words(self, low: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return np.stack([low, mix64(low + np.uint64(SECOND))], axis=1)


def fingerprint(text: str) -> int | None:
    """The fingerprint of a text by the default scheme, without a secret: the same everywhere.

    Those in a database are made with its own secret, and other numbers: `Index.scheme` makes them.

    Returns:
        An unsigned integer of 128 bits, or None for a text of fewer than two tokens.
    """
    return _DEFAULT.sketch(text).fingerprint


_DEFAULT = Shingles()
