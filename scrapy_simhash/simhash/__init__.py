"""Features to fingerprints, and what the distance of two fingerprints means."""

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
    """Hand out what belongs to the classic pipeline, which nothing here needs."""
    if name not in {"fingerprint_features", "within"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("scrapy_simhash.classic.features"), name)
