"""How the claims of a namespace are looked up: the keys in force, and what they cost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.exceptions import SchemeMismatch
from scrapy_simhash.index.batch import make_batch
from scrapy_simhash.index.decide import Rule
from scrapy_simhash.index.reader import LookupCounts, Reader
from scrapy_simhash.index.similarity_cache import SimilarityCache
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.blocks import Blocks, blocks_for
from scrapy_simhash.keys.plan import choose_limits, load_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.batch import Batch
    from scrapy_simhash.index.namespace import OpenNamespace
    from scrapy_simhash.index.verdict import Claimant, Document, FactsMode, SameUrl
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["Lookup"]

logger = logging.getLogger(__name__)

# A plan is called unfit after so many claims that met so many times as many candidates as planned.
_ENOUGH_CLAIMS, _TOO_MANY = 1000, 3.0

# Fewer candidates than that cost next to nothing.
_FEW_CANDIDATES = 100.0

# Bands that find a smaller share of what is asked for are worth a warning.
_LEAST_RECALL = 0.95


class Lookup:
    """The keys of a namespace, and what is near under them.

    Args:
        dialect: of the database.
        scheme: of the fingerprints.
        similarity: that is asked for.
        distance: that is asked for instead.
        expected_size: how many documents there will be.
        same_url: see :class:`Rule`.
        facts: likewise.

    Attributes:
        bits: the width of a fingerprint; `width` is that in bytes.
        rule: what makes documents near-duplicates.
        judge: what compares their texts.
        counts: what was met so far.
        keys: those in force.
        in_force: their id, and the slot of the first of them.
        reader: of the namespace by these keys.
    """

    similarities: SimilarityCache
    keys: Bands | Blocks
    reader: Reader

    def __init__(
        self,
        dialect: str,
        scheme: Scheme,
        *,
        similarity: float,
        distance: int | None,
        expected_size: int,
        same_url: SameUrl,
        facts: FactsMode,
    ) -> None:
        self._limit_of_64 = choose_limits(scheme, similarity, distance)[0]
        self.rule = Rule.of(scheme, similarity, distance, facts=facts, same_url=same_url)
        self._scheme = scheme
        self.counts = LookupCounts()
        self.width = -(-scheme.bits // 8)
        self.bits = scheme.bits
        self._dialect = dialect
        self._similarity = similarity
        self._expected_size = expected_size
        self._planned = np.inf

    def open(self, name: str, opened: OpenNamespace, asked: Bands | Blocks) -> None:
        """Work with the keys that a namespace was made with, where that is possible.

        Args:
            name: the namespace's.
            opened: its row.
            asked: the keys that a new one would have got.

        Raises:
            SchemeMismatch: they are of another kind.
            ValueError: they take too many lookups for the distance asked for.
        """
        keys = load_keys(opened.plan)
        if keys.needs_shingles != asked.needs_shingles:
            raise SchemeMismatch(
                f"namespace {name!r} is indexed by {keys.id!r}, this one by {asked.id!r}. Use "
                "another namespace, the old setting, or begin anew: scrapy simhash reset "
                f"--namespace {name}"
            )
        if isinstance(keys, Bands) and (recall := keys.recall(self._similarity)) < _LEAST_RECALL:
            logger.warning(
                "Namespace %r was made for pages that are more alike: with its %s no more than "
                "%.0f %% of those of similarity %g are found. Reset the namespace, or use another, "
                "to find them all",
                name,
                keys.id,
                100 * recall,
                self._similarity,
            )
        self._name, self._namespace = name, opened.id
        # It knows claims by their numbers, which begin anew with each namespace.
        self.similarities = SimilarityCache(self._scheme)
        self.use(opened.plan, opened.first_slot)

    def use(self, plan: str, first_slot: int) -> None:
        """Look up and store by these keys.

        Raises:
            ValueError: they take too many lookups for the distance asked for.
        """
        keys = load_keys(plan)
        self._planned = np.inf
        # With bands a document is looked up by the very keys that it is stored under.
        self._flips = [np.zeros(1, np.int32)] * keys.slots
        if isinstance(keys, Blocks):
            radius = self.radius(keys)
            self._flips = keys.flips(radius)
            self._planned = max(_FEW_CANDIDATES, keys.candidates(radius, self._expected_size))
        self.keys = keys
        self.in_force = plan, first_slot
        self.reader = Reader(
            self._dialect,
            self._namespace,
            slots=keys.slots,
            first_slot=first_slot,
            width=self.width,
            can_crowd=keys.needs_shingles,
        )

    def radius(self, blocks: Blocks) -> int:
        """The distance on the bits of these blocks within which they have to miss nothing."""
        return self._limit_of_64 if blocks.bits <= 64 else self.rule.limit

    def best_blocks(self, size: int) -> Blocks:
        """The blocks that would cost least for so many claims.

        Raises:
            ValueError: every plan takes too many lookups.
        """
        bits = 64 if self.rule.similarity is not None else self.bits
        return blocks_for(bits, self._limit_of_64, max(1, size), self._dialect)

    def batch(
        self, documents: Sequence[Document], claimant: Claimant, *, now: float, keep_texts: bool
    ) -> Batch:
        """Prepare documents that have a fingerprint; see :func:`make_batch`."""
        return make_batch(
            documents,
            namespace=self._namespace,
            claimant=claimant,
            now=now,
            keys=self.keys,
            flips=self._flips,
            width=self.width,
            limit=self.rule.limit,
            keep_texts=keep_texts,
        )

    def note(self, claims: int) -> None:
        """Count documents that were looked up, and warn where that takes more than was planned."""
        counts = self.counts
        counts.claims += claims
        if counts.claims < _ENOUGH_CLAIMS:
            return
        mean = counts.candidates / counts.claims
        if mean > _TOO_MANY * self._planned:
            logger.warning(
                "Namespace %r: a claim is compared with %.0f candidates where %.0f were planned. "
                "There are more documents than expected, or they are much alike: the keys can be "
                "made anew for more of them (scrapy simhash rebuild)",
                self._name,
                mean,
                self._planned,
            )
            self._planned = np.inf
