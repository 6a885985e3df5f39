"""What it takes to forget a claim: its keys, made of what is left of its row."""

from __future__ import annotations

from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.db.schema import EXACT
from scrapy_simhash.index.batch import KeyRow, exact_key
from scrapy_simhash.keys.plan import load_keys
from scrapy_simhash.simhash.scheme import Sketch

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Row

__all__ = [
    "DELETION_COLUMNS",
    "OTHER_SLOTS",
    "DeletionRow",
    "deletion_row",
    "other_slot",
    "stored_keys",
]

#: The columns of a claim that it takes to forget it, and its keys.
DELETION_COLUMNS = ("id", "packed_keys", "fingerprint", "basis", "digest")
DeletionRow = tuple[int, bytes | None, bytes, int, bytes | None]

#: While keys are made anew, the old and the new ones are as many slots apart.
OTHER_SLOTS = 256


def other_slot(first: int) -> int:
    """The first slot of the keys that are made anew."""
    return OTHER_SLOTS - first


def deletion_row(row: Row) -> DeletionRow:
    """What it takes to forget a claim, of its row."""
    return row.id, row.packed_keys, row.fingerprint, row.basis, row.digest


def stored_keys(plan: str, claim: DeletionRow) -> list[KeyRow]:
    """The keys of a claim, from what is left of its row."""
    _, packed, fingerprint, basis, digest = claim
    slots = _load_keys(plan).slots
    if basis == EXACT:
        return [KeyRow(slots, exact_key(fingerprint))]
    if packed is not None:
        numbers = np.frombuffer(packed, "<i4").tolist()
    else:
        sketch = Sketch(int.from_bytes(fingerprint, "big"), 0, None)
        numbers = _load_keys(plan).keys(sketch).tolist()
    keys = list(starmap(KeyRow, enumerate(numbers)))
    return keys if digest is None else [*keys, KeyRow(slots, exact_key(digest))]


_load_keys = cache(load_keys)
