"""How the documents of a corpus are compared: the scheme, the rule and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import FactsMode
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks, choose_keys
from scrapy_simhash.simhash.scheme import Scheme, keyed


@dataclass(frozen=True, slots=True)
class Plan:
    """How documents are compared, as in an index with the same options.

    Attributes:
        scheme: of the fingerprints, with the secret in it.
        secret: 16 bytes that all hashes depend on.
        rule: which documents are near-duplicates.
        keys: documents that share one are compared.
        flips: for each slot the values to XOR a key with, to get the keys to look up.
    """

    scheme: Scheme
    secret: bytes
    rule: Rule
    keys: Bands | Blocks
    flips: Sequence[NDArray[np.int32]]

    @classmethod
    def make(
        cls,
        scheme: Scheme,
        secret: bytes,
        *,
        similarity: float = 0.9,
        distance: int | None = None,
        candidates: str = "auto",
        facts: FactsMode = "auto",
        expected_size: int = 1_000_000,
    ) -> Plan:
        """Make a plan; the arguments are those of an index.

        Raises:
            ValueError: as :class:`~scrapy_simhash.Index` does.
        """
        rule = Rule.of(scheme, similarity, distance, facts=facts)
        keys = choose_keys(scheme, similarity, distance, candidates, expected_size=expected_size)
        flips: Sequence[NDArray[np.int32]] = [np.zeros(1, np.int32)] * keys.slots
        if isinstance(keys, Blocks):
            flips = keys.flips(rule.radius)
        return cls(keyed(scheme, secret), secret, rule, keys, flips)

    @property
    def width(self) -> int:
        """The width of a fingerprint, in bytes."""
        return -(-self.scheme.bits // 8)
