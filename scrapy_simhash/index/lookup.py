"""Looks up the claims of a namespace: by the keys it was made with, and by identity."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from scrapy_simhash.exceptions import NamespaceGone, SchemeMismatch
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
    NO_HITS,
    NO_PAIRS,
    Candidates,
    Hits,
    joined,
    shared,
    with_texts,
)
from scrapy_simhash.index.copies import Copies
from scrapy_simhash.index.queries import BY_IDENTITY, COUNTER
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.similarity_cache import SimilarityCache
from scrapy_simhash.index.verdict import Claimant, Document, Place, Row
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import HOT_KEY, Blocks, load_keys
from scrapy_simhash.simhash.measure import hamming
from scrapy_simhash.simhash.scheme import Scheme

logger = logging.getLogger(__name__)

# Bands that find a smaller share of the documents asked for are worth a warning.
_LEAST_RECALL = 0.95


@dataclass(slots=True)
class LookupCounts:
    """Counts since an index was opened; a repeated transaction counts again."""

    #: Documents that were looked up, and claims that they were compared with.
    claims: int = 0
    candidates: int = 0
    #: Documents with hot bands, under which they were not stored; those of them that have no other
    #: bands, so that only equal fingerprints are found.
    hot_keys: int = 0
    exact_only: int = 0
    #: Removed to stay within the budgets; `orphans` are among the items.
    items: int = 0
    orphans: int = 0
    texts: int = 0


class Outdated(NamedTuple):
    """A claim that is deleted when the run that replaced it has ended."""

    #: The crawl epoch that it belonged to; it stays if another has met it since.
    epoch: int
    #: Whether its text is kept, as it tells what changed.
    keeps_text: bool
    #: The claim that replaced it; 0 if the item has become a copy.
    by: int


class Lookup:
    """Finds the claims near a document in a namespace, by the keys that it was made with.

    Args:
        name: the name of the namespace.
        namespace: its row.
        wanted: the keys that a new namespace would get.
        scheme, rule, dialect: those of the index and its database.
        counts: what to add to.
        note_work: called between two comparisons of texts, which may take long.

    Raises:
        SchemeMismatch: its keys do not serve these settings.
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
        counts: LookupCounts,
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
        elif (recall := keys.recall(rule.similarity or 1)) < _LEAST_RECALL:
            logger.warning(
                "Namespace %r was made for a higher similarity: its keys (%s) find only %.0f %% of "
                "the documents of similarity %g. Reset the namespace, or use another one, to find "
                "all of them",
                name,
                keys.id,
                100 * recall,
                rule.similarity,
            )
        self._dialect = dialect
        self._hits = queries.hits_of(dialect, keys.slots)

    def batch(
        self, documents: Sequence[Document], claimant: Claimant, *, keep_texts: bool = False
    ) -> Batch:
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
            keep_texts=keep_texts,
        )

    def replace(self, outdated: Mapping[int, Outdated]) -> None:
        """Note the claims that this run has replaced."""
        for number, one in outdated.items():
            self.outdated[number] = one
            self._replaced[one.by].add(number)

    def replaced_by(self, claims: Iterable[int]) -> set[int]:
        """The claims that these have replaced in this run."""
        return {
            number
            for claim in claims
            for number in self._replaced.get(claim, ())
            if number in self.outdated and self.outdated[number].by == claim
        }

    def read(self, connection: Connection, batch: Batch, limit: int | None = None) -> Candidates:
        """Every claim that a key or an identity of a batch leads to.

        Those within a distance, by default that of the rule, are read to be compared; their texts
        only as far as :func:`with_texts` allows, those of the nearest claims first.

        Raises:
            NamespaceGone: the namespace was reset.
        """
        identities = {row.identity for row in batch.rows}
        identities |= {identity_hash(one.alias) for one in batch.documents if one.alias is not None}
        hits = self._look_up(connection, batch.asked, identities)
        if hits.counter is None:
            raise NamespaceGone(f"namespace {self.namespace.id} was reset by another process")
        found = self._near(connection, batch.with_aliases(hits.newest), hits)
        if limit is not None:
            found.limit = limit
        found.places = self._places(connection, hits)
        self._read_rows(connection, found)
        found.copies = self.copies.read(connection, found)
        return found

    def made_before(self, connection: Connection, batch: Batch, counter: int) -> dict[int, Row]:
        """The claims of a batch that were committed, without an answer, since this counter."""
        identities = [row.identity for row in batch.rows]
        rows = map(Row._make, connection.execute(queries.own, self.here(identities=identities)))
        mine = {row.token: row for row in rows if row.id > counter}
        tokens = [row.token for row in batch.rows]
        return {number: mine[token] for number, token in enumerate(tokens) if token in mine}

    def here(self, **lists: Iterable[int]) -> dict[str, Any]:
        """The parameters of a query in this namespace."""
        return {"namespace": self.namespace.id, **{name: list(lists[name]) for name in lists}}

    def _look_up(
        self, connection: Connection, asked: NDArray[np.int64], identities: Iterable[int] = ()
    ) -> Hits:
        """Look up keys, in ascending order, and identities."""
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
        counter: int | None = None
        newest, places, found = dict[int, int](), defaultdict[int, list[int]](list), []
        for slot, key, number in connection.execute(self._hits, here):
            if slot >= 0:
                found.append((slot, key, number))
            elif slot == BY_IDENTITY:
                newest[key] = number
            elif slot == COUNTER:
                counter = number
            else:
                places[key].append(number)
        if not found:
            return Hits(counter, newest, NO_HITS, NO_HITS, places)
        slot, key, claim = np.array(found, np.int64).reshape(-1, 3).T
        pairs = np.stack([slotted(slot, key), claim], axis=1)
        is_whole = slot == self.keys.slots
        return Hits(counter, newest, pairs[~is_whole], pairs[is_whole], places)

    def _near(self, connection: Connection, batch: Batch, first: Hits) -> Candidates:
        """The claims that the hits lead to, without their rows and places."""
        hits, exactly = first.keys, first.exactly
        counter, limit = first.counter or 0, self.rule.limit
        if not (len(hits) or len(exactly)):
            return Candidates(batch, limit, counter, first.newest, *NO_PAIRS)
        asked, asker = batch.asked, batch.asker
        slots = self.keys.slots
        hot_keys = frozenset[KeyRow]()
        if self.keys.needs_shingles and len(hits) >= HOT_KEY:
            hot_keys = self._hot_keys(connection, hits)
            alone = [
                number
                for number, keys in enumerate(batch.keys)
                if keys and keys[0].slot == 0 and hot_keys.issuperset(keys[:slots])
            ]
            if alone:
                # Documents with hot bands only may be stored under their fingerprint.
                exact = np.array(
                    [fingerprint_key(batch.rows[number].fingerprint) for number in alone]
                )
                asked = np.concatenate([asked, slotted(slots, exact)])
                asker = np.concatenate([asker, np.array(alone)])
                order = np.argsort(asked, kind="stable")
                asked, asker = asked[order], asker[order]
                beyond = int(np.searchsorted(asked, slots << 32))
                exactly = self._look_up(connection, asked[beyond:]).exactly
        if len(exactly) >= HOT_KEY:
            # Equal items on pages with other texts.
            hot_keys |= (many := self._hot_keys(connection, exactly))
            known = np.array([slotted(row.slot, np.array([row.key]))[0] for row in many])
            exactly = exactly[~among(exactly[:, 0], known)] if many else exactly
        pairs = joined(asked, asker, np.concatenate([hits, exactly]))
        equal = set(map(tuple, joined(asked, asker, exactly).tolist()))
        wanted = {*pairs[:, 1].tolist()}
        rows: dict[int, Row] = {}
        if self.keys.needs_shingles and len(wanted) <= HOT_KEY:
            # Most claims that share a band are near enough to be compared.
            rows = self._rows(connection, {*wanted, *first.newest.values()})
            stored = {number: row.fingerprint for number, row in rows.items()}
        else:
            stored = self._fingerprints(connection, wanted)
        # Invalidated claims were not read.
        pairs = pairs[among(pairs[:, 1], list(stored))]
        packed = b"".join(map(stored.__getitem__, pairs[:, 1].tolist()))
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self.width)
        distances = hamming(batch.fingerprints[pairs[:, 0]], claimed).astype(np.int64)
        exact_pairs = np.array([pair in equal for pair in map(tuple, pairs.tolist())], np.bool_)
        found = (*pairs.T, distances, exact_pairs, hot_keys, {}, rows)
        return Candidates(batch, limit, counter, first.newest, *found)

    def _fingerprints(self, connection: Connection, claims: Iterable[int]) -> dict[int, bytes]:
        """The fingerprints of valid claims."""
        here = self.here(ids=sorted(claims))
        return dict(connection.execute(queries.fingerprints, here).all()) if here["ids"] else {}

    def _rows(self, connection: Connection, claims: Iterable[int]) -> dict[int, Row]:
        """The rows of valid claims."""
        here = self.here(ids=sorted(claims))
        found = connection.execute(queries.details, here) if here["ids"] else ()
        return {row[1]: Row._make(row) for row in found}

    def _hot_keys(self, connection: Connection, hits: NDArray[np.int64]) -> frozenset[KeyRow]:
        """The hot keys among those that were found."""
        keys = shared(hits)
        if keys.size:
            # Invalidated claims do not count.
            left = self._fingerprints(connection, {*hits[among(hits[:, 0], keys), 1].tolist()})
            keys = shared(hits[among(hits[:, 1], list(left))])
        return frozenset(map(key_row, keys.tolist()))

    def _places(self, connection: Connection, hits: Hits) -> Mapping[int, Place]:
        """What is known of the identities that were duplicates when they were last met."""
        ids = {
            number
            for identity, numbers in hits.places.items()
            if identity not in hits.newest
            for number in numbers
        }
        if not ids or self.rule.known is None:
            return {}
        # The last one of an identity counts: that of the last run, which may have moved an old row.
        found = map(Place._make, connection.execute(queries.places, self.here(ids=ids)))
        return {place.identity: place for place in found}

    def _read_rows(self, connection: Connection, found: Candidates) -> None:
        """Read the rows of what is compared, and texts: those of the nearest claims."""
        pairs = found.compared()
        missing = {claim for _, claim in pairs}.difference(found.rows)
        found.rows = {**found.rows, **self._rows(connection, missing)}
        wanted = with_texts(pairs, found.rows, found.batch.rows)
        if unread := self.similarities.missing(sorted(wanted)):
            texts = connection.execute(queries.texts, self.here(ids=unread))
            self.similarities.add(dict(texts.all()))


def _mismatch(name: str, keys: Bands | Blocks, why: str) -> SchemeMismatch:
    return SchemeMismatch(
        f"namespace {name!r} was made with the keys {keys.id!r}: {why}. The keys of a "
        "namespace can't be changed. Use another namespace, the old settings, or start over: "
        f"scrapy simhash reset --namespace {name}"
    )
