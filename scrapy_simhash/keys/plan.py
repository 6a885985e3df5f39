"""Which limits and which keys serve what is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simhash.keys.bands import Bands, bands_for
from scrapy_simhash.keys.blocks import Blocks, blocks_for
from scrapy_simhash.simhash.measure import limits
from scrapy_simhash.simhash.scheme import has_shingles, own_distance

if TYPE_CHECKING:
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["choose_keys", "choose_limits", "load_keys"]


def load_keys(id: str) -> Bands | Blocks:  # noqa: A002
    """Make keys from their id.

    Args:
        id: "bands 8x4" or "blocks 22+21+21", with any numbers that are allowed.

    Raises:
        ValueError: If it is none.
    """
    if match := re.fullmatch(r"bands ([1-9]\d{0,2})x([1-9]\d{0,2})", id, re.ASCII):
        return Bands(int(match[1]), int(match[2]))
    if re.fullmatch(r"blocks [1-9]\d?(\+[1-9]\d?)*", id, re.ASCII):
        return Blocks(tuple(map(int, id.removeprefix("blocks ").split("+"))))
    raise ValueError(f"{id!r} is no id of keys; one reads 'bands 8x4' or 'blocks 22+21+21'")


def choose_limits(scheme: Scheme, similarity: float, distance: int | None) -> tuple[int, int]:
    """The distances within which blocks are searched, and up to which documents are duplicates.

    Raises:
        ValueError: the distance is out of range, or a similarity is asked of a scheme that has
            another measure.
    """
    distance = own_distance(scheme) if distance is None else distance
    if distance is None:
        if scheme.bits != 128:
            raise ValueError(
                f"a similarity is defined for fingerprints of 128 bits, {scheme.id!r} has "
                f"{scheme.bits}: a distance is wanted"
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
    """The keys for what is asked for, of so many documents in a database of that dialect.

    Raises:
        ValueError: bands are asked for where there are no shingles or no similarity, or
            `candidates` is none of "auto", "bands" and "blocks".
    """
    if candidates not in {"auto", "bands", "blocks"}:
        raise ValueError(f"candidates {candidates!r}: allowed are 'auto', 'bands', 'blocks'")
    distance = own_distance(scheme) if distance is None else distance
    can_have_bands = has_shingles(scheme) and distance is None
    if candidates == "bands" and not can_have_bands:
        raise ValueError(
            "bands find texts by the similarity of their shingles: they need a scheme that has "
            "them, such as 'shingles', and a similarity, not a distance"
        )
    if candidates != "blocks" and can_have_bands:
        return bands_for(similarity)
    # A similarity is a distance on the low 64 bits, as far as candidates are concerned.
    bits = 64 if distance is None else scheme.bits
    return blocks_for(bits, choose_limits(scheme, similarity, distance)[0], expected_size, engine)
