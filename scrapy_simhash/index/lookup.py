"""Looks up the claims of a namespace: by the keys it was made with, and by identity."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from scrapy_simhash.db.statements import Answer
from scrapy_simhash.exceptions import SchemeMismatch
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
from scrapy_simhash.index.queries import BY_IDENTITY, NOTHING_FOUND, Found, Hits, joined, shared
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.similarity_cache import SimilarityCache
from scrapy_simhash.index.verdict import Claimant, Document, Row
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import HOT_KEY, Blocks, load_keys
from scrapy_simhash.simhash.measure import hamming
from scrapy_simhash.simhash.scheme import Scheme

logger = logging.getLogger(__name__)

# Bands that find a smaller share of the documents asked for are worth a warning.
_LEAST_RECALL = 0.95

_NO_PAIRS = np.empty((0, 2), np.int64)


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

    Attributes:
        outdated: the claims that this run has replaced.
        is_contended: whether other writers were waited for.

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
    ) -> None:
        self.namespace, self.rule, self.counts = namespace, rule, counts
        self.width, self.bits = -(-scheme.bits // 8), scheme.bits
        # It knows claims by their numbers, which start again in each namespace.
        self.similarities = SimilarityCache(scheme)
        self.outdated: dict[int, Outdated] = {}
        self.is_contended = False
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
            claimant._replace(namespace=self.namespace.id),
            self.keys,
            flips=self._flips,
            width=self.width,
            limit=self.rule.limit,
            keep_texts=keep_texts,
        )

    def replaced_by(self, claims: Iterable[int]) -> list[int]:
        """The claims that these have replaced."""
        wanted = set(claims)
        return [old for old, one in self.outdated.items() if one.by in wanted] if wanted else []

    def ask(self, connection: Connection, batch: Batch) -> Answer:
        """Ask for everything about a batch that does not depend on an answer, for `hits`."""
        identities = {row.identity for row in batch.rows}
        aliases = {identity_hash(one.alias) for one in batch.documents if one.alias is not None}
        return self._ask(connection, identities | aliases, batch.asked)

    def _ask(
        self, connection: Connection, identities: Iterable[int], asked: NDArray[np.int64]
    ) -> Answer:
        """Ask for the newest claims of identities, and for the key rows of keys in order."""
        if self._dialect == "sqlite":
            here = self.here(identities=identities, keys=asked.tolist())
            return self._hits.ask(connection, here)
        edges = np.searchsorted(asked, [slot << 32 for slot in range(self.keys.slots + 2)])
        keys = asked.astype(np.int32)
        of_slots = {
            f"keys{slot}": keys[start:stop].tolist()
            for slot, (start, stop) in enumerate(pairwise(edges))
        }
        return self._hits.ask(connection, self.here(identities=identities, **of_slots))

    def hits(self, answer: Answer) -> Hits:
        """The answer to `ask`."""
        newest: dict[int, int] = {}
        places = defaultdict[int, list[int]](list)
        found = []
        for slot, key, number in answer.rows:
            if slot >= 0:
                found.append((slot, key, number))
            elif slot == BY_IDENTITY:
                newest[key] = number
            else:
                places[key].append(number)
        if not found:
            return Hits(newest, _NO_PAIRS, _NO_PAIRS, places)
        slot, key, claim = np.array(found, np.int64).reshape(-1, 3).T
        pairs = np.stack([slotted(slot, key), claim], axis=1)
        is_whole = slot == self.keys.slots
        return Hits(newest, pairs[~is_whole], pairs[is_whole], places)

    def candidates(
        self, connection: Connection, batch: Batch, first: Hits, ahead: Ahead | None = None
    ) -> Found:
        """Every claim that a key of the batch leads to, with its distance; each pair once."""
        asked, asker = batch.asked, batch.asker
        hits, exactly = first.keys, first.exactly
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
                exactly = self.hits(self._ask(connection, (), asked[beyond:])).exactly
        if len(exactly) >= HOT_KEY:
            # Equal items on pages with other texts.
            hot_keys |= (many := self._hot_keys(connection, exactly))
            known = np.array([slotted(row.slot, np.array([row.key]))[0] for row in many])
            exactly = exactly[~among(exactly[:, 0], known)] if many else exactly
        if not (len(hits) or len(exactly)):
            return NOTHING_FOUND._replace(hot_keys=hot_keys)
        pairs = joined(asked, asker, np.concatenate([hits, exactly]))
        equal = set(map(tuple, joined(asked, asker, exactly).tolist()))
        rows: Mapping[int, Row] = {}
        stored: Mapping[int, bytes] = {}
        wanted = set(pairs[:, 1].tolist())
        if self.keys.needs_shingles and len(wanted) <= HOT_KEY:
            # Most claims that share a band are near enough to be compared: read all at once.
            rows = read_rows(connection, self, wanted, ahead)
            stored = {number: row.fingerprint for number, row in rows.items()}
        elif wanted:
            stored = dict(queries.fingerprints.ask(connection, self.here(ids=wanted)).rows)
        # Invalidated claims were not read.
        pairs = pairs[among(pairs[:, 1], list(stored))]
        packed = b"".join(map(stored.__getitem__, pairs[:, 1].tolist()))
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self.width)
        distances = hamming(batch.fingerprints[pairs[:, 0]], claimed).astype(np.int64)
        exact_pairs = np.array([pair in equal for pair in map(tuple, pairs.tolist())], np.bool_)
        return Found(pairs[:, 0], pairs[:, 1], distances, exact_pairs, hot_keys, rows)

    def _hot_keys(self, connection: Connection, hits: NDArray[np.int64]) -> frozenset[KeyRow]:
        """The hot keys among those that were found."""
        keys = shared(hits)
        if keys.size:
            # Invalidated claims do not count.
            ids = set(hits[among(hits[:, 0], keys), 1].tolist())
            left = dict(queries.fingerprints.ask(connection, self.here(ids=ids)).rows)
            keys = shared(hits[among(hits[:, 1], list(left))])
        return frozenset(map(key_row, keys.tolist()))

    def made_before(self, connection: Connection, batch: Batch, now: float) -> dict[int, Row]:
        """The claims of this batch that an attempt whose answer was lost has committed."""
        identities = {row.identity for row in batch.rows}
        rows = map(Row._make, queries.own.ask(connection, self.here(identities=identities)).rows)
        mine = {row.token: row for row in rows if row.created == now}
        tokens = [row.token for row in batch.rows]
        return {number: mine[token] for number, token in enumerate(tokens) if token in mine}

    def here(self, **lists: Iterable[int]) -> dict[str, Any]:
        """The parameters of a query in this namespace."""
        return {"namespace": self.namespace.id, **{name: list(lists[name]) for name in lists}}


class Ahead(NamedTuple):
    """The claims that a batch led to before the lock was taken, and their rows, asked under it."""

    ids: Collection[int]
    rows: Answer | None = None


def prefetch(connection: Connection, lookup: Lookup, batch: Batch | None) -> Collection[int]:
    """Look a batch up before the lock is taken, so that under it only what is newer is read.

    It costs more than it saves if no other writer waits. Returns the claims that it leads to, whose
    texts, which never change, are now cached.
    """
    if batch is None or not lookup.is_contended:
        return ()
    hits = lookup.hits(lookup.ask(connection, batch))
    ids = {*hits.newest.values(), *hits.keys[:, 1].tolist(), *hits.exactly[:, 1].tolist()}
    if len(ids) > HOT_KEY:
        return ()
    if texts := ask_texts(connection, lookup, ids):
        lookup.similarities.add(dict(texts.rows))
    return ids


def ask_rows(connection: Connection, lookup: Lookup, claims: Iterable[int]) -> Answer | None:
    """Ask for the rows of valid claims."""
    ids = sorted(claims)
    return queries.details.ask(connection, lookup.here(ids=ids)) if ids else None


def ask_texts(connection: Connection, lookup: Lookup, claims: Iterable[int]) -> Answer | None:
    """Ask for the texts of claims that are not cached."""
    ids = lookup.similarities.missing(sorted(claims))
    return queries.texts.ask(connection, lookup.here(ids=ids)) if ids else None


def read_rows(
    connection: Connection, lookup: Lookup, claims: Iterable[int], ahead: Ahead | None = None
) -> dict[int, Row]:
    """The rows of valid claims, and maybe of others; their texts are cached."""
    newer = set(claims).difference(ahead.ids if ahead else ())
    answers = [ask_rows(connection, lookup, newer), ahead and ahead.rows]
    if texts := ask_texts(connection, lookup, newer):
        lookup.similarities.add(dict(texts.rows))
    return {row[1]: Row._make(row) for answer in answers if answer for row in answer.rows}


def _mismatch(name: str, keys: Bands | Blocks, why: str) -> SchemeMismatch:
    return SchemeMismatch(
        f"namespace {name!r} was made with the keys {keys.id!r}: {why}. The keys of a "
        "namespace can't be changed. Use another namespace, the old settings, or start over: "
        f"scrapy simhash reset --namespace {name}"
    )
