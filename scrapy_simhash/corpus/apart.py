"""Find the documents that a fact surely keeps apart from one of the same site, many at once.

Hundreds of kept documents may have one text, such as the variants in a shop, and most have a
different title, price or code. The rule would find that one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.corpus.sketches import Sketches
from scrapy_simhash.index.apart import RECORD, are_different
from scrapy_simhash.index.verdict import ClaimRow
from scrapy_simhash.item.evidence import SURE
from scrapy_simhash.item.facts import RECORD_SIZE, Facts
from scrapy_simhash.simhash.measure import FEW_FEATURES, hamming

#: A document, and the similarity of its text if that is known.
Similar = tuple[int, float | None]


def not_apart(
    similar: list[Similar],
    sketches: Sketches,
    numbers: NDArray[np.uint32],
    apart: NDArray[np.bool_],
    limit: int,
) -> list[Similar]:
    """The documents that are not apart from one, and the nearest of the others.

    Args:
        similar: documents with a similar text.
        sketches: of all documents.
        numbers: of the document and of the similar ones.
        apart: which of the similar ones are apart, unless they are versions of the document.
        limit: the largest distance of two similar texts.
    """
    of = sketches.rows[numbers]
    apart &= of["identity"][1:] != of["identity"][0]
    distances = hamming(*sketches.fingerprints(numbers[:1], numbers[1:]))
    few = np.minimum(of["size"][0], of["size"][1:]) < FEW_FEATURES
    near = np.flatnonzero(apart & (distances <= np.where(few, 0, limit)))
    # As `index.visits.preference` orders them.
    nearest = min(
        zip((-(similar[one][1] or 0.0) for one in near), distances[near], near, strict=True),
        default=(),
    )
    apart[[*nearest[2:]]] = False
    return [similar[one] for one in np.flatnonzero(~apart).tolist()]


def are_apart(row: ClaimRow, others: Sequence[ClaimRow]) -> NDArray[np.bool_]:
    """Whether a document differs from each of others in a fact that both have, and that counts.

    Two pages of one site with such a difference are two, unless they are views of one page.
    """
    packed = [one.facts or b"" for one in others]
    records = np.frombuffer(b"".join(packed), RECORD)
    owners = np.repeat(np.arange(len(others)), [len(one) // RECORD_SIZE for one in packed])
    apart = np.zeros(len(others), np.bool_)
    for name, kind, value in Facts.unpack(row.facts or b"").records:
        if kind in SURE:
            differs = are_different(records["fact"], kind, value)
            apart[owners[differs & (records["name"] == name)]] = True
    return apart
