"""Two documents, judged as a crawl would that met one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.batch import make_batch
from scrapy_simhash.index.decide import Met, decide
from scrapy_simhash.index.verdict import Claimant
from scrapy_simhash.keys.blocks import Blocks
from scrapy_simhash.simhash.measure import jaccard, similarity_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.index.decide import Decision, Rule
    from scrapy_simhash.index.verdict import Document, Row
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["Pair"]

# Nothing is looked up: any keys will do.
_KEYS = Blocks((1,))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two documents that have a fingerprint.

    Attributes:
        documents: in the order in which they are met.
        rows: what would be stored of them.
        distance: of their fingerprints, in bits.
        similarity: the Jaccard similarity of their shingles; None where the scheme has none.
        estimate: the similarity that the distance means.
    """

    documents: tuple[Document, Document]
    rows: tuple[Row, Row]
    distance: int
    similarity: float | None
    estimate: float

    @classmethod
    def of(cls, scheme: Scheme, first: Document, second: Document) -> Pair:
        """Measure two documents."""
        batch = make_batch(
            [first, second],
            namespace=0,
            claimant=Claimant(0, 0),
            now=0.0,
            keys=_KEYS,
            flips=[np.zeros(1, np.int32)],
            width=-(-scheme.bits // 8),
            limit=scheme.bits,
            keep_texts=False,
        )
        ((apart, _),) = batch.twins[1]
        a, b = first.sketch.shingles, second.sketch.shingles
        one, other = batch.rows
        return cls(
            (first, second),
            (one._replace(id=1), other._replace(id=2)),
            apart,
            None if a is None or b is None else jaccard(a, b),
            similarity_at(apart, scheme.bits),
        )

    def decide(self, rule: Rule) -> Decision:
        """What the second one is where the first one is claimed."""

        def twins(number: int, standing: Mapping[int, Row]) -> list[Met]:
            return [Met(self.distance, self.similarity, False, standing[0])] if number else []

        facts = [document.facts for document in self.documents]
        return decide(self.rows, facts, [(), ()], twins, rule=rule, newest={}, made={})[1]
