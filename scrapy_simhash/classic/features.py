"""SimHash of weighted features and its comparison, as the literature describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy_simhash.classic.hashes import HASHES, FeatureHash, load_hash
from scrapy_simhash.simhash.majority import bit_sums, check_tie, check_weights, signs
from scrapy_simhash.simhash.measure import distance


def fingerprint_features(
    features: Mapping[Any, float],
    *,
    hash: str | Mapping[Any, int] | FeatureHash = "fnv1a",  # noqa: A002
    bits: int = 64,
    tie: str = ">",
) -> int | None:
    """The fingerprint of weighted features: SimHash as the literature describes it.

    Every feature is hashed; its weight is added for each bit of the hash that is 1 and subtracted
    for each that is 0; the signs of the sums are the fingerprint: the side of `bits` random
    hyperplanes on which the vector of the features lies.

    Args:
        features: A real weight for each feature: a word, or an argument of the mapping or function
            given as `hash`.
        hash: See `scrapy_simhash.classic.hashes.load_hash`.
        bits: The width of the fingerprint, 1 to 160.
        tie: The rule for a sum of 0: ">" makes it a 0, ">=" a 1.

    Returns:
        An unsigned integer, or None if no feature counts.
    """
    _, function = load_hash(hash, bits)
    check_tie(tie)
    check_weights(features)
    if isinstance(hash, str) and hash in HASHES:
        for feature in features:
            if not isinstance(feature, str):
                raise TypeError(
                    f"features: {feature!r} is no string, which the hash {hash!r} takes"
                )
    hashed = [(function(feature), weight) for feature, weight in features.items()]
    counting = [(value, weight) for value, weight in hashed if value is not None and weight]
    if not counting:
        return None
    values, weights = zip(*counting, strict=True)
    return signs(bit_sums(values, weights, bits), tie)


def within(a: int, b: int, n: int = 3) -> bool:
    """Whether two fingerprints differ in at most `n` bits, as `isEqual` of the literature tells."""
    return distance(a, b) <= n
