"""Fingerprints, their distances and similarities."""

from importlib import import_module
from typing import Any

from scrapy_simhash.simhash.majority import bit_sums
from scrapy_simhash.simhash.measure import distance, similarity
from scrapy_simhash.simhash.scheme import Scheme, Sketch, load_scheme
from scrapy_simhash.simhash.shingles import fingerprint

__all__ = [
    "Scheme",
    "Sketch",
    "bit_sums",
    "distance",
    "fingerprint",
    "fingerprint_features",
    "load_scheme",
    "similarity",
    "within",
]


def __getattr__(name: str) -> Any:
    """Import functions of the classic pipeline on first use."""
    if name not in {"fingerprint_features", "within"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("scrapy_simhash.classic.scheme"), name)
