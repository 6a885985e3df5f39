"""Looks up the claims of a namespace: by the keys it was made with, and by identity."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from scrapy_simhash.exceptions import FingerprintMismatch, NamespaceGone
from scrapy_simhash.features.shingles import among
from scrapy_simhash.index import queries
from scrapy_simhash.index.batch import (
    Batch,
    KeyRow,
    fingerprint_key,
    identity_hash,
    key_row,
    make_batch,
    slotted,
)
from scrapy_simhash.index.candidates import (
    PAIR,
    BatchCandidates,
    joined,
    key_hits,
    shared,
    with_texts,
    without_keys,
)
from scrapy_simhash.index.queries import HitSource
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.similarity_cache import SimilarityCache
from scrapy_simhash.index.verdict import ClaimRow, Document, LastDuplicate
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.urls import site
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import HOT_KEY, Blocks, load_keys
from scrapy_simhash.simhash.measure import hamming
from scrapy_simhash.simhash.scheme import Scheme

logger = logging.getLogger(__name__)

# Bands that find a smaller share of the documents asked for are worth a warning.
_LEAST_RECALL = 0.95

# Claims whose copies are remembered until these are recorded.
_REMEMBERED_CLAIMS = 1024


class Outdated(NamedTuple):
    """A claim that is deleted when the run that replaced it has ended."""

    #: The crawl epoch that it belonged to; it stays if another has met it since.
    epoch: int
    #: Whether its text is kept, as it tells what changed.
    keeps_text: bool
    #: The claim that replaced it; 0 if the item has become a copy.
    by: int


class Copies:
    """What was dropped as copies of claims of other sites, from the table and from this process.

    Two different items are no copies of one. `here` returns the parameters of a query for lists of
    numbers.
    """

    def __init__(self, here: Callable[..., dict[str, Any]], *, is_needed: bool) -> None:
        self._here, self._is_needed = here, is_needed
        self._noted: dict[int, deque[ClaimRow]] = {}

    def note(self, copies: Iterable[tuple[ClaimRow, ClaimRow]]) -> None:
        """Note documents that were dropped, each behind its claim: they are recorded later."""
        for claim, row in copies:
            if row.facts and not may_be_one_site(row.url, claim.url):
                self._noted.setdefault(claim.id, deque(maxlen=queries.COPIES)).append(row)
        while len(self._noted) > _REMEMBERED_CLAIMS:
            del self._noted[next(iter(self._noted))]

    def read(
        self, connection: Connection, candidates: BatchCandidates
    ) -> Mapping[int, Sequence[ClaimRow]]:
        """Some copies of each claim of another site that a batch is compared with."""
        rows, claims = candidates.batch.rows, candidates.rows
        sites = {site(row.url) for row in (*rows, *claims.values()) if row.url}
        if len(sites) < 2 or not self._is_needed:
            return {}
        wanted = {
            claim
            for number, claim in candidates.compared
            if rows[number].facts
            and claim in claims
            and not may_be_one_site(rows[number].url, claims[claim].url)
        }
        if not wanted:
            return {}
        copies = {claim: list(self._noted.get(claim, ())) for claim in wanted}
        unread = {*wanted}
        while unread:
            here = self._here(ids=sorted(unread))
            read = connection.execute(queries.copies, here).all()
            for claim, identity, url, facts, last_run in read:
                copies[claim].append(
                    ClaimRow(identity=identity, url=url, facts=facts, last_run=last_run)
                )
            # One with more copies than an answer has must not hide those of the others.
            is_cut = len(read) == queries.COPIES
            unread = unread.difference(row[0] for row in read) if is_cut else set()
        return copies


class Lookup:
    """Finds the claims near a document in a namespace, by the keys that it was made with.

    Args:
        name: the name of the namespace.
        namespace: its row.
        wanted: the keys that a new namespace would get.
        scheme, rule, dialect: those of the index and its database.
        counts: by the names of stats, what to add to; a repeated transaction counts again.
        note_work: called between two comparisons of texts, which may take long.

    Raises:
        FingerprintMismatch: its keys do not serve these settings.
    """

    def __init__(
        self,
        name: str,
        namespace: sa.Row[Any],
        wanted: Bands | Blocks,
        *,
        scheme: Scheme,
        rule: Rule,
        dialect: str,
        counts: Counter[str],
        note_work: Callable[[], None],
    ) -> None:
        self.namespace, self.rule, self.counts = namespace, rule, counts
        self.width, self.bits = -(-scheme.bits // 8), scheme.bits
        # It knows claims by their numbers, which start again in each namespace.
        self.similarities = SimilarityCache(scheme, note_work)
        #: The claims that this run has replaced.
        self.outdated: dict[int, Outdated] = {}
        self._replaced: defaultdict[int, set[int]] = defaultdict(set)
        self.copies = Copies(self.here, is_needed=rule.facts == "auto")
        self.keys = keys = load_keys(namespace.plan)
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
        self._dialect = dialect
        self._hits = queries.hits_of(dialect, keys.slots)

    def batch(self, documents: Sequence[Document], claimant: ClaimRow) -> Batch:
        """Prepare documents that have a fingerprint; see :func:`make_batch`."""
        # Not later: what is looked up for this batch must stay until it is compared.
        self.similarities.trim()
        return make_batch(
            documents,
            claimant,
            self.keys,
            flips=self._flips,
            width=self.width,
            limit=self.rule.limit,
        )

    def replace(self, outdated: Mapping[int, Outdated]) -> None:
        """Note the claims that this run has replaced."""
        for number, claim in outdated.items():
            self.outdated[number] = claim
            self._replaced[claim.by].add(number)

    def replaced_by(self, claims: Iterable[int]) -> set[int]:
        """The claims that these have replaced in this run."""
        return {
            number
            for claim in claims
            for number in self._replaced.get(claim, ())
            if number in self.outdated and self.outdated[number].by == claim
        }

    def read(
        self, connection: Connection, batch: Batch, limit: int | None = None
    ) -> BatchCandidates:
        """Every claim that a key or an identity of a batch leads to.

        Those within a distance, by default that of the rule, are read to be compared; their texts
        only as far as :func:`with_texts` allows, those of the nearest claims first.

        Raises:
            NamespaceGone: the namespace was reset.
        """
        aliases = (document.alias for document in batch.documents)
        identities = {row.identity for row in batch.rows}
        identities |= {identity_hash(alias) for alias in aliases if alias is not None}
        answer = self._look_up(connection, batch.asked, identities)
        slot, key, number = answer.T
        counter = number[slot == HitSource.COUNTER].tolist()
        if not counter:
            raise NamespaceGone(f"namespace {self.namespace.id} was reset by another process")
        by_identity = slot == HitSource.CLAIM_BY_IDENTITY
        newest = dict(zip(key[by_identity].tolist(), number[by_identity].tolist(), strict=True))
        candidates = BatchCandidates(
            batch.with_aliases(newest),
            self.rule.limit if limit is None else limit,
            counter[0],
            newest,
        )
        if (slot >= 0).any():
            self._add_pairs(connection, candidates, key_hits(answer))
        of_identity = slot == HitSource.DUPLICATE_BY_IDENTITY
        duplicates = zip(key[of_identity].tolist(), number[of_identity].tolist(), strict=True)
        candidates.last_duplicates = self._last_duplicates(
            connection, {number for identity, number in duplicates if identity not in newest}
        )
        self._read_rows(connection, candidates)
        candidates.copies = self.copies.read(connection, candidates)
        return candidates

    def here(self, **lists: Iterable[int]) -> dict[str, Any]:
        """The parameters of a query in this namespace."""
        return {"namespace": self.namespace.id, **{name: list(lists[name]) for name in lists}}

    def _look_up(
        self, connection: Connection, asked: NDArray[np.int64], identities: Iterable[int] = ()
    ) -> NDArray[np.int64]:
        """Look up keys, in ascending order, and identities.

        Returns an array of shape (n, 3): the slot, or a `HitSource`; the key or identity; and the
        claim, duplicate or counter.
        """
        if self._dialect == "sqlite":
            here = self.here(identities=identities, keys=asked.tolist())
        else:
            edges = np.searchsorted(asked, [slot << 32 for slot in range(self.keys.slots + 2)])
            keys = asked.astype(np.int32)
            of_slots = {
                f"keys{slot}": keys[start:stop].tolist()
                for slot, (start, stop) in enumerate(pairwise(edges))
            }
            here = self.here(identities=identities, **of_slots)
        rows = connection.execute(self._hits, here)
        return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 3)

    def _add_pairs(
        self, connection: Connection, candidates: BatchCandidates, hits: NDArray[np.int64]
    ) -> None:
        """Add the pairs of documents and claims that hits lead to, with their distances.

        The hits have shape (n, 2): a key as in `Batch.asked`, and a claim.
        """
        batch, slots = candidates.batch, self.keys.slots
        asked, asker = batch.asked, batch.asker
        is_whole = hits[:, 0] >= slots << 32
        hits, whole_hits = hits[~is_whole], hits[is_whole]
        if self.keys.needs_shingles and len(hits) >= HOT_KEY:
            candidates.hot_keys = self._hot_keys(connection, hits)
            alone = [
                number
                for number, keys in enumerate(batch.keys)
                if keys and keys[0].slot == 0 and candidates.hot_keys.issuperset(keys[:slots])
            ]
            if alone:
                # Documents with hot bands only may be stored under their fingerprint.
                exact = [fingerprint_key(batch.rows[number].fingerprint) for number in alone]
                asked = np.concatenate([asked, slotted(slots, np.array(exact))])
                asker = np.concatenate([asker, np.array(alone)])
                order = np.argsort(asked, kind="stable")
                asked, asker = asked[order], asker[order]
                beyond = int(np.searchsorted(asked, slots << 32))
                whole_hits = key_hits(self._look_up(connection, asked[beyond:]))
        if len(whole_hits) >= HOT_KEY:
            # Equal items on pages with other texts.
            hot_keys = self._hot_keys(connection, whole_hits)
            candidates.hot_keys |= hot_keys
            whole_hits = without_keys(whole_hits, hot_keys)
        pairs = joined(asked, asker, np.concatenate([hits, whole_hits]))
        equal = set(map(tuple, joined(asked, asker, whole_hits).tolist()))
        wanted = {*pairs[:, 1].tolist()}
        if self.keys.needs_shingles and len(wanted) <= HOT_KEY:
            # Most claims that share a band are near enough to be compared.
            candidates.rows = self._rows(connection, {*wanted, *candidates.newest.values()})
            stored = {number: row.fingerprint for number, row in candidates.rows.items()}
        else:
            stored = self._fingerprints(connection, wanted)
        # Invalidated claims were not read.
        pairs = pairs[among(pairs[:, 1], list(stored))]
        packed = b"".join(map(stored.__getitem__, pairs[:, 1].tolist()))
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self.width)
        candidates.pairs = np.empty(len(pairs), PAIR)
        candidates.pairs["document"], candidates.pairs["claim"] = pairs.T
        candidates.pairs["distance"] = hamming(batch.fingerprints[pairs[:, 0]], claimed)
        candidates.pairs["may_be_equal"] = [pair in equal for pair in map(tuple, pairs.tolist())]

    def _fingerprints(self, connection: Connection, claims: Iterable[int]) -> dict[int, bytes]:
        """The fingerprints of valid claims."""
        here = self.here(ids=sorted(claims))
        return dict(connection.execute(queries.fingerprints, here).all()) if here["ids"] else {}

    def _rows(self, connection: Connection, claims: Iterable[int]) -> dict[int, ClaimRow]:
        """The rows of valid claims."""
        here = self.here(ids=sorted(claims))
        rows = connection.execute(queries.details, here).all() if here["ids"] else ()
        return {claim.id: claim for claim in map(ClaimRow._make, rows)}

    def _hot_keys(self, connection: Connection, hits: NDArray[np.int64]) -> frozenset[KeyRow]:
        """The hot keys among those that were found."""
        keys = shared(hits)
        if keys.size:
            # Invalidated claims do not count.
            left = self._fingerprints(connection, {*hits[among(hits[:, 0], keys), 1].tolist()})
            keys = shared(hits[among(hits[:, 1], list(left))])
        return frozenset(map(key_row, keys.tolist()))

    def _last_duplicates(
        self, connection: Connection, numbers: Iterable[int]
    ) -> Mapping[int, LastDuplicate]:
        """The last one of each identity among duplicates."""
        here = self.here(ids=numbers)
        if self.rule.known is None or not here["ids"]:
            return {}
        # The last one of an identity counts: that of the last run, which may have moved an old row.
        rows = map(LastDuplicate._make, connection.execute(queries.last_duplicates, here))
        return {row.identity: row for row in rows}

    def _read_rows(self, connection: Connection, candidates: BatchCandidates) -> None:
        """Read the rows of what is compared, and texts: those of the nearest claims."""
        pairs = candidates.compared
        missing = {claim for _, claim in pairs}.difference(candidates.rows)
        candidates.rows |= self._rows(connection, missing)
        wanted = with_texts(pairs, candidates.rows, candidates.batch.rows)
        if unread := self.similarities.missing(sorted(wanted)):
            texts = connection.execute(queries.texts, self.here(ids=unread))
            self.similarities.add(dict(texts.all()))


def _mismatch(name: str, keys: Bands | Blocks, why: str) -> FingerprintMismatch:
    return FingerprintMismatch(
        f"namespace {name!r} was made with the keys {keys.id!r}: {why}. The keys of a "
        "namespace can't be changed. Use another namespace, the old settings, or start over: "
        f"scrapy simhash reset --namespace {name}"
    )
