"""What is read of a namespace: the claims that keys lead to, and those of an owner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Integer, bindparam, func, literal_column, select, tuple_, union_all

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in, list_parameter
from scrapy_simhash.features.hashes import among, distinct
from scrapy_simhash.index.batch import KeyRow, crowd_key, key_row, slotted
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.simhash.measure import hamming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Select

    from scrapy_simhash.db.pipeline import Answer
    from scrapy_simhash.index.batch import Batch
    from scrapy_simhash.index.budgets import PushedOut
    from scrapy_simhash.index.similarity_cache import SimilarityCache

__all__ = ["CROWD", "Details", "Found", "Hits", "LookupCounts", "Reader"]

#: A band that as many claims share says little: no more are stored under it, or a template that is
#: in every page of a site would make every claim read all of them.
CROWD = 100

#: Of the number of a claim; above them there is room for that of a document in its batch.
_CLAIM_BITS = 56

# What stands for a slot where a row is of an owner.
_OWNER = -1

_NO_PAIRS = np.empty((0, 2), np.int64)


@dataclass(slots=True)
class LookupCounts:
    """What an index has met since it was opened; a transaction that is repeated counts again.

    Attributes:
        claims: documents that were looked up.
        candidates: claims that they were compared with.
        crowded: documents some of whose bands were crowded and did not get them. They are found by
            the others, a little less surely.
        exact_only: documents all of whose bands were crowded: nothing but a document with the very
            same fingerprint is found to be a duplicate of theirs.
        items, orphans, texts: what was pushed out of the budgets; see :class:`PushedOut`.
    """

    claims: int = 0
    candidates: int = 0
    crowded: int = 0
    exact_only: int = 0
    items: int = 0
    orphans: int = 0
    texts: int = 0

    def note(self, pushed_out: PushedOut) -> None:
        """Count what had to make room in a transaction that was committed."""
        self.items += pushed_out.items
        self.orphans += pushed_out.orphans
        self.texts += pushed_out.texts


class Found(NamedTuple):
    """The claims that the keys of a batch led to: pair i is of document i and claim i.

    Attributes:
        documents: numbers in the batch.
        claims: numbers of claims.
        distances: of their fingerprints.
        exactly: whether they met as whole items.
        crowded: the keys of the batch that are shared by too many.
        details: of the claims, where these were read already.
    """

    documents: NDArray[np.intp]
    claims: NDArray[np.int64]
    distances: NDArray[np.int64]
    exactly: NDArray[np.bool_]
    crowded: frozenset[KeyRow] = frozenset()
    details: Details | None = None


class Details(NamedTuple):
    """All that is stored of claims, by their numbers.

    Attributes:
        rows: of the table.
        texts: that are kept, compressed; of those that the judge does not know.
    """

    rows: Mapping[int, Row]
    texts: Mapping[int, bytes]


class Hits(NamedTuple):
    """What the keys and the owners of a batch lead to.

    Attributes:
        newest: the last claim of each owner.
        keys: that are there, of texts: pairs of what was asked and a claim.
        exactly: likewise, of whole items.
    """

    newest: Mapping[int, int]
    keys: NDArray[np.int64]
    exactly: NDArray[np.int64]


class Reader:
    """Reads one namespace by the keys in force.

    Args:
        dialect: of the database.
        namespace: its number.
        slots: how many keys a document has.
        first_slot: where those in force begin.
        width: of a fingerprint, in bytes.
        can_crowd: whether a key may be shared by too many: so for bands.
    """

    def __init__(
        self,
        dialect: str,
        namespace: int,
        *,
        slots: int,
        first_slot: int,
        width: int,
        can_crowd: bool,
    ) -> None:
        self._dialect = dialect
        self._namespace = namespace
        self._slots = slots
        self._first_slot = first_slot
        self._width = width
        self._can_crowd = can_crowd
        self._sql = _statements(dialect, slots, first_slot)

    def ask(self, connection: Connection, batch: Batch) -> Answer:
        """Ask for all of a batch that hangs on no answer, for :meth:`hits`."""
        return self._ask(connection, {row.owner for row in batch.rows}, batch.asked)

    def _ask(
        self, connection: Connection, owners: Iterable[int], asked: NDArray[np.int64]
    ) -> Answer:
        """Ask for the newest claims of owners, and for the key rows that are there.

        Args:
            connection: in a transaction.
            owners: of the claims.
            asked: in ascending order.
        """
        if self._dialect == "sqlite":
            every = (asked + (self._first_slot << 32)).tolist()
            return self._sql.hits.ask(connection, self._here(owners=owners, keys=every))
        edges = np.searchsorted(asked, [slot << 32 for slot in range(self._slots + 2)])
        keys = asked.astype(np.int32)
        of_slots = {
            f"keys{slot}": keys[start:stop].tolist()
            for slot, (start, stop) in enumerate(pairwise(edges))
        }
        return self._sql.hits.ask(connection, self._here(owners=owners, **of_slots))

    def hits(self, answer: Answer) -> Hits:
        """What :meth:`ask` was told."""
        rows = answer.rows
        if not rows:
            return Hits({}, _NO_PAIRS, _NO_PAIRS)
        newest = {owner: claim for slot, owner, claim in rows if slot == _OWNER}
        found = [tuple(row) for row in rows if row[0] != _OWNER]
        slot, key, claim = np.array(found, np.int64).reshape(-1, 3).T
        slot -= self._first_slot
        pairs = np.stack([slotted(slot, key), claim], axis=1)
        is_whole = slot == self._slots
        return Hits(newest, pairs[~is_whole], pairs[is_whole])

    def candidates(
        self, connection: Connection, batch: Batch, first: Hits, similarities: SimilarityCache
    ) -> Found:
        """Every claim that a key of the batch leads to, with its distance; a pair once.

        Args:
            connection: in a transaction.
            batch: whose keys they are.
            first: what they lead to.
            similarities: of texts.
        """
        asked, asker = batch.asked, batch.asker
        _, hits, exactly = first
        crowded = frozenset[KeyRow]()
        if self._can_crowd and len(hits) >= CROWD:
            crowded = self._crowded(connection, hits)
            alone = [
                number
                for number, keys in enumerate(batch.keys)
                if keys[0].slot == 0 and crowded.issuperset(keys[: self._slots])
            ]
            if alone:
                # These may stand under their fingerprint.
                exact = np.array([crowd_key(batch.rows[number].fingerprint) for number in alone])
                asked = np.concatenate([asked, slotted(self._slots, exact)])
                asker = np.concatenate([asker, np.array(alone)])
                order = np.argsort(asked, kind="stable")
                asked, asker = asked[order], asker[order]
                beyond = int(np.searchsorted(asked, self._slots << 32))
                exactly = self.hits(self._ask(connection, (), asked[beyond:])).exactly
        if len(exactly) >= CROWD:
            # Equal items that stand on pages with other texts.
            crowded |= (many := self._crowded(connection, exactly))
            known = np.array([slotted(row.slot, np.array([row.key]))[0] for row in many])
            exactly = exactly[~among(exactly[:, 0], known)] if many else exactly
        if not (len(hits) or len(exactly)):
            return _nothing(crowded)
        pairs = _joined(asked, asker, np.concatenate([hits, exactly]))
        equal = set(map(tuple, _joined(asked, asker, exactly).tolist()))
        found = self._measured(connection, batch, pairs, equal, similarities)
        return found._replace(crowded=crowded)

    def _crowded(self, connection: Connection, hits: NDArray[np.int64]) -> frozenset[KeyRow]:
        """The keys that too many claims share."""
        keys = _shared(hits)
        if keys.size:
            # Those that count no more take no room.
            ids = set(hits[among(hits[:, 0], keys), 1].tolist())
            left = self._sql.standing.rows(connection, self._here(ids=ids))
            keys = _shared(hits[among(hits[:, 1], [number for (number,) in left])])
        return frozenset(map(key_row, keys.tolist()))

    def _measured(
        self,
        connection: Connection,
        batch: Batch,
        pairs: NDArray[np.int64],
        equal: set[tuple[int, ...]],
        similarities: SimilarityCache,
    ) -> Found:
        """Pairs of a document and a claim that counts, with their distances."""
        stored: dict[int, bytes] = {}
        details: Details | None = None
        if len(pairs):
            wanted = set(pairs[:, 1].tolist())
            if self._can_crowd and len(wanted) <= CROWD:
                # Most of what shares a band is near enough to be looked at: all of it at once.
                details = self.details(connection, wanted, similarities)
                stored = {number: row.fingerprint for number, row in details.rows.items()}
            else:
                here = self._here(ids=wanted)
                stored = dict(self._sql.fingerprints.rows(connection, here))
            pairs = pairs[among(pairs[:, 1], list(stored))]
        if not stored:
            return _nothing()
        packed = b"".join(map(stored.__getitem__, pairs[:, 1].tolist()))
        claimed = np.frombuffer(packed, np.uint8).reshape(-1, self._width)
        distances = hamming(batch.fingerprints[pairs[:, 0]], claimed).astype(np.int64)
        exactly = np.array([pair in equal for pair in map(tuple, pairs.tolist())], np.bool_)
        return Found(pairs[:, 0], pairs[:, 1], distances, exactly, details=details)

    def details(
        self, connection: Connection, claims: Iterable[int], similarities: SimilarityCache
    ) -> Details:
        """All that is stored of claims that count, but for the texts that the judge knows."""
        ids = sorted(claims)
        rows = self._sql.details.ask(connection, self._here(ids=ids))
        unknown = similarities.unknown(ids)
        texts = self._sql.texts.rows(connection, self._here(ids=unknown)) if unknown else ()
        return Details({row.id: row for row in map(Row._make, rows.rows)}, dict(texts))

    def made_before(self, connection: Connection, batch: Batch, now: float) -> dict[int, Row]:
        """The claims of this very batch that an attempt whose answer was lost did commit."""
        owners = {row.owner for row in batch.rows}
        rows = map(Row._make, self._sql.own.rows(connection, self._here(owners=owners)))
        mine = {row.token: row for row in rows if row.created == now}
        tokens = [row.token for row in batch.rows]
        return {number: mine[token] for number, token in enumerate(tokens) if token in mine}

    def _here(self, **lists: Iterable[int]) -> dict[str, Any]:
        parameters: dict[str, Any] = {"namespace": self._namespace}
        parameters |= {name: list_parameter(self._dialect, lists[name]) for name in lists}
        return parameters


def _nothing(crowded: frozenset[KeyRow] = frozenset()) -> Found:
    empty = np.empty(0, np.int64)
    return Found(empty, empty, empty, np.empty(0, np.bool_), crowded)


def _shared(hits: NDArray[np.int64]) -> NDArray[np.int64]:
    """What was asked for and led to too many claims."""
    asked = distinct(np.sort(hits[:, 0]))
    count = np.bincount(np.searchsorted(asked, hits[:, 0]))
    return asked[count >= CROWD]


def _joined(
    asked: NDArray[np.int64], asker: NDArray[np.intp], hits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The equi-join of what was asked and what was found, as distinct pairs (document, claim).

    With keys 5, 5, 8 asked by the documents 0, 1, 1 and the hits (5, claim 70) and (8, claim 71)
    the pairs are (0, 70), (1, 70), (1, 71).

    Args:
        asked: shape (n,), in ascending order.
        asker: shape (n,): the document that asks.
        hits: shape (m, 2): what was asked, and a claim.
    """
    left = np.searchsorted(asked, hits[:, 0], "left")
    count = np.searchsorted(asked, hits[:, 0], "right") - left
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    documents = asker[np.repeat(left, count) + within]
    # As one number each: rows take long to sort. A batch has 64 documents at most.
    pairs = distinct(np.sort(np.repeat(hits[:, 1], count) | documents << _CLAIM_BITS))
    return np.stack([pairs >> _CLAIM_BITS, pairs & (1 << _CLAIM_BITS) - 1], axis=1)


class _Statements:
    """What is executed, for a dialect, a number of slots and the first of them."""

    def __init__(self, dialect: str, slots: int, first_slot: int) -> None:
        claims = schema.claims.c
        here = claims.namespace == bindparam("namespace")
        ids = is_in(dialect, claims.id, "ids")
        owners = is_in(dialect, claims.owner, "owners")
        newest = (
            select(_number(_OWNER).label("slot"), claims.owner, func.max(claims.id).label("id"))
            .where(here, owners, is_valid())
            .group_by(claims.owner)
        )
        self.hits = CompiledStatement(union_all(newest, *_key_rows(dialect, slots, first_slot)))
        self.fingerprints = CompiledStatement(
            select(claims.id, claims.fingerprint).where(here, ids, is_valid())
        )
        self.standing = CompiledStatement(select(claims.id).where(here, ids, is_valid()))
        row = [
            claims[name] if name != "url" else schema.url_of(schema.claims) for name in Row._fields
        ]
        self.details = CompiledStatement(select(*row).where(here, ids, is_valid()))
        self.own = CompiledStatement(select(*row).where(here, owners))
        texts = schema.texts.c
        self.texts = CompiledStatement(
            select(texts.claim, texts.text).where(
                texts.namespace == bindparam("namespace"),
                is_in(dialect, texts.claim, "ids"),
                texts.duplicate == 0,
            )
        )


def _key_rows(dialect: str, slots: int, first_slot: int) -> list[Select[Any]]:
    """What finds the key rows that are there.

    SQLite looks each up from one list, see :func:`slotted`, several times as fast as from a list
    for each slot. Others can't be relied upon to see that a pair is a beginning of the table's key.
    """
    keys = schema.keys.c
    here = keys.namespace == bindparam("namespace")
    if dialect == "sqlite":
        every, half = func.json_each(bindparam("keys")).table_valued("value").c.value, _number(32)
        # To shift to the right keeps the sign.
        pairs = select(every.op(">>")(half), every.op("<<")(half).op(">>")(half))
        found = tuple_(keys.slot, keys.key).in_(pairs)
        return [select(keys.slot, keys.key, keys.claim).where(here, found)]
    return [
        select(number.label("slot"), keys.key, keys.claim).where(
            here, keys.slot == number, is_in(dialect, keys.key, f"keys{slot}")
        )
        for slot in range(slots + 1)
        for number in [_number(first_slot + slot)]
    ]


def _number(number: int) -> ColumnElement[int]:
    return literal_column(str(number), Integer)


_statements = cache(_Statements)
