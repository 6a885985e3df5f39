"""Short texts: how surely two that are just similar enough meet, and how far estimates are off."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scrapy_simhash.features.shingles import minhash, similarity_of
from scrapy_simhash.keys.bands import bands_for
from scrapy_simhash.simhash.measure import candidate_limit, distance, similarity
from scrapy_simhash.simhash.scheme import load_scheme

__all__ = ["CLASSES", "Figures", "measure_class"]

#: From how many shingles on; the last class ends where texts are long.
CLASSES = tuple(pairwise((8, 16, 32, 64, 128, 512, 2048)))
ASKED = 0.9
PAIRS = 4000


class Figures(NamedTuple):
    """What was measured of the pairs of a class.

    Attributes:
        found: the share that shares a key.
        near: the share whose distance makes a candidate.
        error: the standard error of a similarity that is estimated from sketches.
        distance_error: that of one estimated from the distance of the fingerprints.
    """

    found: float
    near: float
    error: float
    distance_error: float


def measure_class(least: int, end: int, seed: int, pairs: int = PAIRS) -> Figures:
    """Measure pairs of from `least` to `end` - 1 shingles that are just as similar as asked for.

    Where no two sets of a size have that similarity, which is so below ten shingles, they are of
    the next one above it: equal.
    """
    scheme, bands, limit = load_scheme(), bands_for(ASKED), candidate_limit(ASKED)
    found, near, errors, distance_errors = 0, 0, [], []
    for texts in _pairs(np.random.default_rng([seed, least]), least, end, pairs):
        one, other = map(scheme.sketch, texts)
        true = other.size / one.size
        found += bool((bands.keys(one) == bands.keys(other)).any())
        near += distance(one.fingerprint, other.fingerprint) <= limit
        sketched = similarity_of(minhash(one.shingles), minhash(other.shingles))
        errors.append(sketched - true)
        distance_errors.append(similarity(one.fingerprint, other.fingerprint) - true)
    return Figures(
        found / pairs,
        near / pairs,
        float(np.sqrt(np.mean(np.square(errors)))),
        float(np.sqrt(np.mean(np.square(distance_errors)))),
    )


def _pairs(rng: np.random.Generator, least: int, end: int, pairs: int) -> Iterator[tuple[str, str]]:
    """Texts of random words, and the same without as many at the end as may be missing."""
    for size in rng.integers(least, end, pairs).tolist():
        words = [str(word) for word in rng.integers(0, 1 << 48, size + 1)]
        missing = int((1 - ASKED) * size + 1e-9)
        yield " ".join(words), " ".join(words[: len(words) - missing])
