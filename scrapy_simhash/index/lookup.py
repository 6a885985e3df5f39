"""Looks up the claims of a namespace: by the keys it was made with, and by identity."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import FingerprintMismatch, NamespaceGone
from scrapy_simhash.features.shingles import among
from scrapy_simhash.index import queries
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    document_row,
    key_rows,
    keys_of,
    known_row,
    near_in_batch,
    pack_keys,
    probes,
    slotted,
)
from scrapy_simhash.index.comparing import (
    BatchCandidates,
    Texts,
    hot_keys,
    joined,
    with_texts,
)
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.seen import NO_VISITS, Seen, Visits
from scrapy_simhash.index.verdict import ClaimRow, Document, Sighting
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.urls import site
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks, load_keys
from scrapy_simhash.simhash.measure import hamming
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
        self.width, self.bits = -(-scheme.bits // 8), scheme.bits
        # It knows claims by their numbers, which start again in each namespace.
        self.texts = Texts(scheme, database.liveness.note)
        name, keys = namespace.name, load_keys(namespace.plan)
        self.keys = keys
        if keys.needs_shingles != wanted.needs_shingles:
            raise _mismatch(name, keys, f"these settings need {wanted.id!r}")
        # Bands are looked up by the same keys that they are stored under.
        self._flips = [np.zeros(1, np.int32)] * keys.slots
        if isinstance(keys, Blocks):
            try:
                self._flips = keys.flips(rule.radius if keys.bits <= 64 else rule.limit)
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
        self._hits = queries.hits_of(database.dialect, keys.slots)

    def batch(
        self,
        documents: Sequence[Document],
        claimant: ClaimRow,
        known: Mapping[int, Sighting] = MappingProxyType({}),
    ) -> Batch:
        """Prepare documents: at most 64, as each is compared with each.

        All but those in `known`, see :class:`Batch`, have a fingerprint. `claimant` is a row with
        what all claims of the batch have in common.
        """
        # Not later: what is looked up for this batch must stay until it is compared.
        self.texts.trim()
        keys, width = self.keys, self.width
        stored, rows = list[list[KeyRow]](), list[ClaimRow]()
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
        packed = b"".join(row.fingerprint for row in rows)
        fingerprints = np.frombuffer(packed, np.uint8).reshape(-1, width)
        asked, asker = probes(stored, self._flips)
        in_batch = near_in_batch(fingerprints, rows, self.rule.limit, stored)
        return Batch(documents, fingerprints, stored, asked, asker, rows, known, in_batch)

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
        if visits.visit is None:
            return ()
        here = {**self.here(), "claim": claim, "visit": visits.visit}
        identities = dict.fromkeys(connection.scalars(queries.elsewhere, here))
        _, found = self.read_identities(connection, identities, visits)
        seen = Seen(visits, found)
        shown = (one for identity in identities for one in seen.was(identity))
        return [one for one in shown if one.claim == claim]

    def read(
        self,
        connection: Connection,
        batch: Batch,
        of_identities: Sequence[Sighting] = (),
        visits: Visits = NO_VISITS,
        *,
        limit: int | None = None,
    ) -> BatchCandidates:
        """Every claim that a key or an identity of a batch leads to.

        Those within a distance, by default that of the rule, are read to be compared; their texts
        only as far as :func:`with_texts` allows, those of the nearest claims first.
        """
        limit = self.rule.limit if limit is None else limit
        candidates = BatchCandidates(batch, limit, of_identities)
        if batch.asked.size and len(hits := self._look_up(connection, batch.asked)):
            self._add_pairs(connection, candidates, hits)
        self._read_rows(connection, candidates)
        compared = candidates.rows.keys() & {*chain.from_iterable(candidates.compared)}
        if compared and visits.visit is not None:
            here = self.here(ids=compared, others=visits.others) | {"visit": visits.visit}
            found = connection.execute(queries.meeting, here)
            candidates.meeting = list(map(Sighting._make, found))
        candidates.copies = _read_copies(self, connection, candidates, visits)
        return candidates

    def here(self, **lists: Iterable[int]) -> dict[str, Any]:
        """The parameters of a query in this namespace."""
        return {"namespace": self.namespace.id, **{name: list(lists[name]) for name in lists}}

    def _look_up(self, connection: Connection, asked: NDArray[np.int64]) -> NDArray[np.int64]:
        """Look up keys, in ascending order.

        Returns an array of shape (n, 2): keys as in `Batch.asked`, and claims.
        """
        if self.database.dialect == "sqlite":
            here = self.here(keys=asked.tolist())
        else:
            edges = np.searchsorted(asked, [slot << 32 for slot in range(self.keys.slots + 2)])
            keys = asked.astype(np.int32)
            of_slots = {
                f"keys{slot}": keys[start:stop].tolist()
                for slot, (start, stop) in enumerate(pairwise(edges))
            }
            here = self.here(**of_slots)
        rows = connection.execute(self._hits, here)
        slot, key, claim = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 3).T
        return np.stack([slotted(slot, key), claim], axis=1)

    def _add_pairs(
        self, connection: Connection, candidates: BatchCandidates, hits: NDArray[np.int64]
    ) -> None:
        """Add the pairs of documents and claims that hits lead to, with their distances.

        The hits have shape (n, 2): a key as in `Batch.asked`, and a claim.
        """
        batch, slots = candidates.batch, self.keys.slots
        asked, asker = batch.asked, batch.asker
        is_whole = hits[:, 0] >= slots << 32
        hits, whole_hits = self._valid(connection, candidates, hits[~is_whole]), hits[is_whole]
        if self.keys.needs_shingles:
            candidates.hot_keys = key_rows(hot_keys(hits))
            more = [
                (key, number)
                for number, row in enumerate(batch.rows)
                for key in candidates.family_keys(number, row, slots)
            ]
            if more:
                exact, of_family = np.array(more).T
                asked = np.concatenate([asked, slotted(slots, exact)])
                asker = np.concatenate([asker, of_family])
                order = np.argsort(asked, kind="stable")
                asked, asker = asked[order], asker[order]
                beyond = int(np.searchsorted(asked, slots << 32))
                whole_hits = self._look_up(connection, asked[beyond:])
        whole_hits = self._valid(connection, candidates, whole_hits)
        # Equal items on pages with other texts.
        hot = hot_keys(whole_hits)
        candidates.hot_keys |= key_rows(hot)
        whole_hits = whole_hits[~among(whole_hits[:, 0], hot)]
        pairs = joined(asked, asker, np.concatenate([hits, whole_hits]))
        packed = b"".join(candidates.rows[claim].fingerprint for claim in pairs[:, 1].tolist())
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self.width)
        distances = hamming(batch.fingerprints[pairs[:, 0]], claimed)
        candidates.pairs = np.column_stack([pairs, distances])

    def _valid(
        self, connection: Connection, candidates: BatchCandidates, hits: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The hits that lead to valid claims, whose rows are read."""
        missing = {*hits[:, 1].tolist()}.difference(candidates.rows)
        candidates.rows |= self._rows(connection, missing)
        return hits[among(hits[:, 1], list(candidates.rows))]

    def _rows(self, connection: Connection, claims: Iterable[int]) -> dict[int, ClaimRow]:
        """The rows of valid claims."""
        here = self.here(ids=sorted(claims))
        rows = connection.execute(queries.details, here).all() if here["ids"] else ()
        return {claim.id: claim for claim in map(ClaimRow._make, rows)}

    def _read_rows(self, connection: Connection, candidates: BatchCandidates) -> None:
        """Read the rows of what is compared, and texts: those of the nearest claims."""
        missing = {*chain.from_iterable(candidates.compared)}.difference(candidates.rows)
        candidates.rows |= self._rows(connection, missing)
        wanted = with_texts(candidates)
        wanted |= {one.content for one in candidates.of_identities if not one.of_claim}
        self.read_texts(connection, wanted)

    def read_texts(self, connection: Connection, contents: Iterable[int]) -> None:
        """Read texts, given by their numbers, unless they are at hand."""
        if unread := self.texts.missing(sorted(contents)):
            texts = connection.execute(queries.texts, self.here(ids=unread))
            self.texts.add(dict(texts.all()))


def _read_copies(
    lookup: Lookup, connection: Connection, candidates: BatchCandidates, visits: Visits
) -> Mapping[int, Sequence[ClaimRow]]:
    """Some copies of each claim of another site that a batch is compared with.

    Two different items are no copies of one. With "pass", those of this visit count.
    """
    rows, claims = candidates.batch.rows, candidates.rows
    sites = {site(row.url) for row in (*rows, *claims.values()) if row.url}
    if len(sites) < 2 or lookup.rule.facts != "auto":
        return {}
    unread = {
        claim
        for row, compared in zip(rows, candidates.compared, strict=True)
        for claim in compared
        if row.facts and claim in claims and not may_be_one_site(row.url, claims[claim].url)
    }
    copies = defaultdict[int, list[ClaimRow]](list)
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
