"""Finds the claims that a fact surely keeps apart from a document, for many claims at once.

With a text that hundreds of stored items have, a document is compared with all of these, and most
have a different title, price or code. The rule would find that one by one. They can't be what the
document is a copy or a version of, so they are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.verdict import ClaimRow
from scrapy_simhash.item.evidence import SURE
from scrapy_simhash.item.facts import RECORD_SIZE, Facts
from scrapy_simhash.item.urls import place, site

#: Fewer claims are compared one by one.
MANY = 8

#: Facts as `Facts.packed` writes them.
RECORD = np.dtype([("name", "<u4"), ("fact", "<u8")])
# The lowest bits of a fact tell its kind. Those behind them are `DAY_BITS`, if it is a date.
_KIND = np.uint64(0xFF)
_KIND_AND_DAY = np.uint64(10)


class Apart:
    """The facts of the documents of a batch, and of the claims that are near some of them.

    The documents are given by the rows that they would get.
    """

    def __init__(self, rows: Sequence[ClaimRow], candidates: BatchCandidates) -> None:
        self._rows = rows
        claims = [*rows, *candidates.rows.values()]
        self._ids = np.array([claim.id for claim in claims])
        self._sites = {claim.id: site(claim.url) for claim in claims}
        packed = [claim.facts or b"" for claim in claims]
        records = np.frombuffer(b"".join(packed), RECORD)
        by_name = np.argsort(records["name"], kind="stable")
        sizes = [len(facts) // RECORD_SIZE for facts in packed]
        self._names, self._facts = records["name"][by_name], records["fact"][by_name]
        self._owners = np.repeat(np.arange(len(claims)), sizes)[by_name]
        self._shown: defaultdict[int, set[int]] = defaultdict(set)
        for one in candidates.of_identities:
            self._shown[one.identity].add(one.claim)
        self._signs: defaultdict[Any, list[int]] = defaultdict(list)
        for number, claim in enumerate(claims):
            for sign in _signs(claim):
                self._signs[sign].append(number)

    def of(self, number: int, near: Sequence[ClaimRow]) -> dict[int, int]:
        """The claims that are apart from a document, with the number of facts in common.

        `near` are those it would be compared with. None are, if some of these are on other sites:
        then all count that show that the text is shared.
        """
        found = self._found(number, near)
        return {claim.id: found[claim.id] for claim in near if claim.id in found}

    def _found(self, number: int, near: Sequence[ClaimRow]) -> dict[int, int]:
        row = self._rows[number]
        if len(near) < MANY or len({self._sites[one.id] for one in (row, *near)}) > 1:
            return {}
        alike = {other for sign in _signs(row) for other in self._signs[sign]}
        if any(other < len(self._rows) for other in alike - {number}):
            return {}  # what such a document would change is not known yet
        apart, common = np.zeros(len(self._ids), bool), np.zeros(len(self._ids), int)
        records = Facts.unpack(row.facts or b"").records
        names = np.array([name for name, *_ in records], np.uint32)
        starts, stops = (np.searchsorted(self._names, names, side) for side in ("left", "right"))
        for start, stop, (_, kind, value) in zip(starts, stops, records, strict=True):
            facts, owners = self._facts[start:stop], self._owners[start:stop]
            common[owners[facts == np.uint64(kind | value << 8)]] += 1
            if kind in SURE:
                apart[owners[are_different(facts, kind, value)]] = True
        apart[[*alike]] = False
        found = dict(zip(self._ids[apart].tolist(), common[apart].tolist(), strict=True))
        for claim in self._shown[row.identity]:
            found.pop(claim, None)
        return found


def are_different(facts: NDArray[np.uint64], kind: int, value: int) -> NDArray[np.bool_]:
    """Whether facts are of the same kind as another fact, and of a different value."""
    bits = facts ^ np.uint64(kind | value << 8)
    found: NDArray[np.bool_] = (bits & _KIND == 0) & (bits >> _KIND_AND_DAY != 0)
    return found


def _signs(row: ClaimRow) -> list[Any]:
    """What two rows have in common if they may be of one item, or of two views of one page."""
    signs = [row.identity, row.digest, place(row.url)]
    return [sign for sign in signs if sign is not None]
