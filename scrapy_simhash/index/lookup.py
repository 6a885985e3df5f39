"""Looks up the claims of a namespace: by the keys it was made with, and by identity."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import FingerprintMismatch, NamespaceGone
from scrapy_simhash.index import queries
from scrapy_simhash.index.batch import (
    Batch,
    document_row,
    family_keys,
    keys_of,
    known_row,
    pack_keys,
    slotted,
)
from scrapy_simhash.index.comparing import BatchCandidates, Texts, with_texts
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.seen import Seen, Visits
from scrapy_simhash.index.verdict import ClaimRow, Document, Sighting
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.urls import site
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import HOT_KEY, Blocks, load_keys
from scrapy_simhash.simhash.scheme import Scheme

logger = logging.getLogger(__name__)

# Bands that find a smaller share of the documents asked for are worth a warning.
_LEAST_RECALL = 0.95
# No visit has a larger number.
_LAST_VISIT = (1 << 31) - 1


class Lookup:
    """Finds the claims near a document in a namespace, by the keys that it was made with.

    Args:
        database: that of the namespace.
        namespace: its row.
        wanted: the keys that a new namespace would get.
        scheme, rule: those of the index.
        counts: by the names of stats, what to add to; a repeated transaction counts again.

    Raises:
        FingerprintMismatch: its keys do not serve these settings.
    """

    def __init__(
        self,
        database: Database,
        namespace: sa.Row[Any],
        wanted: Bands | Blocks,
        *,
        scheme: Scheme,
        rule: Rule,
        counts: Counter[str],
    ) -> None:
        self.database, self.namespace, self.rule, self.counts = database, namespace, rule, counts
        self.width = -(-scheme.bits // 8)
        # It knows claims by their numbers, which start again in each namespace.
        self.texts = Texts(scheme, database.liveness.note)
        name, keys = namespace.name, load_keys(namespace.plan)
        self.keys = keys
        if keys.needs_shingles != wanted.needs_shingles:
            raise _mismatch(name, keys, f"these settings need {wanted.id!r}")
        # Bands are looked up by the same keys that they are stored under, like items as a whole.
        self._flips = [[0]] * (keys.slots + 1)
        if isinstance(keys, Blocks):
            try:
                flips = keys.flips(rule.limit)
                self._flips = [*(masks.view(np.uint32).tolist() for masks in flips), [0]]
            except ValueError as error:
                raise _mismatch(name, keys, str(error)) from error
        elif (recall := keys.recall(rule.threshold or 1)) < _LEAST_RECALL:
            logger.warning(
                "Namespace %r was made for a higher similarity: its keys (%s) find only %.0f %% of "
                "the documents of similarity %g. Reset the namespace, or use another one, to find "
                "all of them",
                name,
                keys.id,
                100 * recall,
                rule.threshold,
            )

    def batch(
        self,
        documents: Sequence[Document],
        claimant: ClaimRow,
        known: Mapping[int, Sighting],
    ) -> Batch:
        """Prepare documents: at most 64, as each is compared with each.

        All but those in `known`, see :class:`Batch`, have a fingerprint. `claimant` is a row with
        what all claims of the batch have in common.
        """
        # Not later: what is looked up for this batch must stay until it is compared.
        self.texts.trim()
        keys, width = self.keys, self.width
        stored, rows = list[list[int]](), list[ClaimRow]()
        for number, document in enumerate(documents):
            if before := known.get(number):
                its_keys, row = [], known_row(document, before, claimant, width)
            else:
                its_keys, row = keys_of(document, keys), document_row(document, claimant, width)
                if keys.needs_shingles and not document.exact:
                    # The keys of bands can't be computed from the fingerprint.
                    row = row._replace(packed_keys=pack_keys(its_keys[: keys.slots]))
            stored.append(its_keys)
            rows.append(row)
        asked = {key ^ flip for key in {*chain(*stored)} for flip in self._flips[key >> 32]}
        return Batch(documents, stored, [*asked], rows, known)

    def read_identities(
        self, connection: Connection, identities: Iterable[int], visits: Visits
    ) -> tuple[int, list[Sighting]]:
        """The counter of the namespace, and what identities were shown lately.

        Raises:
            NamespaceGone: the namespace was reset.
        """
        until = _LAST_VISIT if visits.visit is None else visits.visit
        here = self.here(identities={*identities}) | {"visit": until}
        rows = connection.execute(queries.of_identities, here).all()
        if not rows:
            raise NamespaceGone(f"namespace {self.namespace.id} was reset by another process")
        return rows[0][0], [Sighting._make(row[1:]) for row in rows if row[1] is not None]

    def read_elsewhere(
        self, connection: Connection, claim: int, visits: Visits
    ) -> Sequence[Sighting]:
        """Where a claim was last met, see :meth:`Seen.elsewhere`."""
        here = {**self.here(), "claim": claim, "visit": visits.visit}
        identities = connection.scalars(queries.elsewhere, here).all()
        shown = self.read_shown_last(connection, identities, visits)
        found = [one for one in shown if one.claim == claim]
        self.read_texts(connection, {one.content for one in found if not one.of_claim})
        return found

    def read_shown_last(
        self, connection: Connection, identities: Collection[int], visits: Visits
    ) -> list[Sighting]:
        """What identities were shown last, see :meth:`Seen.was`."""
        _, found = self.read_identities(connection, identities, visits)
        seen = Seen(visits)
        seen.add_shown(found)
        return [one for identity in dict.fromkeys(identities) for one in seen.was(identity)]

    def read(self, connection: Connection, batch: Batch, seen: Seen, first: int) -> BatchCandidates:
        """Every claim that a key or an identity of a batch leads to.

        Those within the distance of the rule are read to be compared; their texts only as far as
        :func:`with_texts` allows, those of the nearest claims first. The claims that the documents
        would get are numbered from `first` on. The sightings by which the claims are met now are
        added to `seen`.
        """
        visits = seen.visits
        documents = [
            row._replace(id=number, origin=number) for number, row in enumerate(batch.rows, first)
        ]
        candidates = BatchCandidates(batch, documents, [*batch.keys])
        if batch.asked:
            self._find(connection, candidates)
        self.counts["index/candidates"] += len(candidates.rows)
        candidates.choose(seen, self.rule.limit)
        compared = {*chain.from_iterable(candidates.compared.values())}
        candidates.rows |= self._rows(connection, compared.difference(candidates.rows))
        self.read_texts(connection, seen.own_texts() | with_texts(candidates))
        if (met := compared & candidates.rows.keys()) and visits.visit is not None:
            now = self.here(ids=met, others=visits.others) | {"visit": visits.visit}
            found = connection.execute(queries.meeting, now)
            seen.add_meeting(map(Sighting._make, found))
        candidates.copies = _read_copies(self, connection, candidates, visits)
        return candidates

    def here(self, **lists: Iterable[int]) -> dict[str, Any]:
        """The parameters of a query in this namespace."""
        return {"namespace": self.namespace.id, **{name: list(lists[name]) for name in lists}}

    def _find(self, connection: Connection, candidates: BatchCandidates) -> None:
        """Read the claims that the keys of a batch lead to, and see which keys are hot."""
        slots, keys = self.keys.slots, candidates.keys
        hits = self._look_up(connection, candidates, candidates.batch.asked)
        if not hits:
            return
        candidates.hot_keys = self._hot_keys(hits)
        family: set[int] = set()
        for number, own in enumerate(keys if candidates.hot_keys else ()):
            bands = [key for key in own if key >> 32 < slots]
            if not candidates.hot_keys.isdisjoint(bands):
                row = candidates.documents[number]
                more = family_keys(row, is_full=candidates.hot_keys.issuperset(bands))
                keys[number] = [*own, *(slotted(slots, key) for key in more)]
                packed = (row.packed_keys or b"") + pack_keys(keys[number][len(own) :])
                candidates.documents[number] = row._replace(packed_keys=packed)
                family.update(keys[number][len(own) :])
        if family:
            hits |= self._look_up(connection, candidates, family)
            candidates.hot_keys = self._hot_keys(hits)
        if self.keys.needs_shingles:
            askers: defaultdict[int, list[int]] = defaultdict(list)
            for row, own in zip(candidates.documents, keys, strict=True):
                for key in own:
                    askers[key].append(row.id)
            for key, claim in hits:
                # A value that many items share leads to none of them.
                is_common = key >> 32 == slots and key in candidates.hot_keys
                candidates.askers[claim].update(() if is_common else askers[key])

    def _hot_keys(self, hits: Iterable[tuple[int, int]]) -> frozenset[int]:
        """The keys that led to too many claims; blocks are stored however many share them."""
        first = 0 if self.keys.needs_shingles else self.keys.slots
        counted = Counter(key for key, _ in hits if key >> 32 >= first)
        return frozenset(key for key, count in counted.items() if count >= HOT_KEY)

    def _look_up(
        self, connection: Connection, candidates: BatchCandidates, asked: Iterable[int]
    ) -> set[tuple[int, int]]:
        """Look up keys; returns key and claim of those that lead to valid claims.

        The rows of these claims are read.
        """
        found = connection.execute(queries.hits, self.here(keys=asked))
        hits = {(key, claim) for key, claim in found}
        unread = {claim for _, claim in hits}.difference(candidates.rows)
        candidates.rows |= self._rows(connection, unread)
        return {hit for hit in hits if hit[-1] in candidates.rows}

    def _rows(self, connection: Connection, claims: Iterable[int]) -> dict[int, ClaimRow]:
        """The rows of valid claims."""
        here = self.here(ids=sorted(claims))
        rows = connection.execute(queries.details, here).all() if here["ids"] else ()
        return {claim.id: claim for claim in map(ClaimRow._make, rows)}

    def read_texts(self, connection: Connection, contents: Iterable[int]) -> None:
        """Read texts, given by their numbers, unless they are at hand."""
        if unread := self.texts.missing(sorted(contents)):
            texts = connection.execute(queries.texts, self.here(ids=unread))
            self.texts.add(dict(texts.all()))


def _read_copies(
    lookup: Lookup, connection: Connection, candidates: BatchCandidates, visits: Visits
) -> dict[int, list[ClaimRow]]:
    """Some copies of each claim of another site that a batch is compared with.

    Two different items are no copies of one. With "pass", those of this visit count.
    """
    rows, claims = candidates.documents, candidates.rows
    sites = {site(row.url) for row in (*rows, *claims.values()) if row.url}
    if len(sites) < 2 or lookup.rule.facts != "auto":
        return {}
    unread = {
        claim
        for row in rows
        for claim in candidates.compared[row.id]
        if row.facts and claim in claims and not may_be_one_site(row.url, claims[claim].url)
    }
    copies: defaultdict[int, list[ClaimRow]] = defaultdict(list)
    since = visits.visit or 0 if lookup.rule.known == "pass" else 0
    while unread:
        here = lookup.here(ids=sorted(unread)) | {"since": since}
        read = connection.execute(queries.copies, here).all()
        for claim, identity, url, listing, facts in read:
            shown = claims[claim].facts if facts is None else facts
            one = ClaimRow(identity=identity, url=url, listing=listing, facts=shown)
            copies[claim].append(one)
        # One with more copies than an answer has must not hide those of the others.
        is_cut = len(read) == queries.COPIES
        unread = unread.difference(row[0] for row in read) if is_cut else set()
    return copies


def _mismatch(name: str, keys: Bands | Blocks, why: str) -> FingerprintMismatch:
    return FingerprintMismatch(
        f"namespace {name!r} was made with the keys {keys.id!r}: {why}. The keys of a "
        "namespace can't be changed. Use another namespace, the old settings, or start over: "
        f"scrapy simhash reset --namespace {name}"
    )
