"""The limits and the keys for a scheme, a similarity and a distance."""

from __future__ import annotations

import re

from scrapy_simhash.keys.bands import Bands, bands_for
from scrapy_simhash.keys.blocks import Blocks, blocks_for
from scrapy_simhash.simhash.measure import limits
from scrapy_simhash.simhash.scheme import Scheme, has_shingles, own_distance

#: A band shared by this many claims is hot: no more are stored under it. Otherwise a template that
#: is on every page of a site would make each claim read all of them.
HOT_KEY = 100


def load_keys(id: str) -> Bands | Blocks:  # noqa: A002
    """Make keys from an id such as "bands 8x4" or "blocks 22+21+21"; ValueError for others."""
    if match := re.fullmatch(r"bands ([1-9]\d{0,2})x([1-9]\d{0,2})", id, re.ASCII):
        return Bands(int(match[1]), int(match[2]))
    if re.fullmatch(r"blocks [1-9]\d?(\+[1-9]\d?)*", id, re.ASCII):
        return Blocks(tuple(map(int, id.removeprefix("blocks ").split("+"))))
    raise ValueError(f"{id!r} is not an id of keys, such as 'bands 8x4' or 'blocks 22+21+21'")


def choose_limits(scheme: Scheme, similarity: float, distance: int | None) -> tuple[int, int]:
    """The distances within which blocks are searched, and up to which documents are duplicates.

    Raises:
        ValueError: the distance is out of range, or is missing for a scheme without similarities.
    """
    distance = own_distance(scheme) if distance is None else distance
    if distance is None:
        if scheme.bits != 128:
            raise ValueError(
                f"a similarity needs fingerprints of 128 bits, {scheme.id!r} has "
                f"{scheme.bits}: a distance is needed"
            )
        return limits(similarity)
    if not 0 <= distance <= scheme.bits // 2:
        raise ValueError(
            f"distance {distance}: allowed is 0 to {scheme.bits // 2}, half the bits of "
            f"{scheme.id!r}"
        )
    return distance, distance


def choose_keys(
    scheme: Scheme,
    similarity: float,
    distance: int | None,
    candidates: str,
    *,
    expected_size: int = 1_000_000,
    engine: str = "sqlite",
) -> Bands | Blocks:
    """The keys for a scheme and a similarity or distance.

    Raises:
        ValueError: `candidates` is not "auto", "bands" or "blocks", or is "bands" without shingles
            or without a similarity.
    """
    if candidates not in {"auto", "bands", "blocks"}:
        raise ValueError(f"candidates {candidates!r}: allowed are 'auto', 'bands', 'blocks'")
    distance = own_distance(scheme) if distance is None else distance
    can_have_bands = has_shingles(scheme) and distance is None
    if candidates == "bands" and not can_have_bands:
        raise ValueError(
            "bands find texts by the similarity of their shingles: they need a scheme that has "
            "shingles, such as 'shingles', and a similarity, not a distance"
        )
    if candidates != "blocks" and can_have_bands:
        return bands_for(similarity)
    # Candidates for a similarity are found by a distance on the low 64 bits.
    bits = 64 if distance is None else scheme.bits
    return blocks_for(bits, choose_limits(scheme, similarity, distance)[0], expected_size, engine)
