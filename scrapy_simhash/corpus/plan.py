"""How the documents of a corpus are compared: the scheme, the rule and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.index.rule import Rule
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
        rule: Rule,
        secret: bytes,
        *,
        candidates: str = "auto",
        expected_size: int = 1_000_000,
    ) -> Plan:
        """Make a plan; the arguments are those of an index.

        A corpus has no visits: each document is compared with all others.

        Raises:
            ValueError: as :class:`~scrapy_simhash.Index` does.
        """
        rule = replace(rule, known=None)
        keys = choose_keys(
            rule.scheme, rule.similarity, rule.distance, candidates, expected_size=expected_size
        )
        flips: Sequence[NDArray[np.int32]] = [np.zeros(1, np.int32)] * keys.slots
        if isinstance(keys, Blocks):
            flips = keys.flips(rule.radius)
        return cls(keyed(rule.scheme, secret), secret, rule, keys, flips)

    @property
    def width(self) -> int:
        """The width of a fingerprint, in bytes."""
        return -(-self.scheme.bits // 8)
