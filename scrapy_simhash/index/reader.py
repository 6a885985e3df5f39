"""What is read of a namespace: the claims that keys lead to, and those of an owner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Integer, bindparam, func, literal_column, select, union_all

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in, list_parameter
from scrapy_simhash.features.distinct import among, distinct
from scrapy_simhash.index.batch import KeyRow, Row, crowd_key, key_row, slotted
from scrapy_simhash.index.void import counts
from scrapy_simhash.simhash.measure import hamming

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Select

    from scrapy_simhash.db.pipeline import Answer
    from scrapy_simhash.index.batch import Batch
    from scrapy_simhash.index.budgets import PushedOut
    from scrapy_simhash.index.judging import Judge

__all__ = ["CROWD", "Asked", "Details", "Found", "LookupCounts", "Reader"]

#: A band that as many claims share says little: no more are stored under it, or a template that is
#: in every page of a site would make every claim read all of them.
CROWD = 100

#: Of the number of a claim; above them there is room for that of a document in its batch.
_CLAIM_BITS = 56


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


class Asked(NamedTuple):
    """What was asked for of a batch before any answer was there.

    Attributes:
        newest: claim of each owner.
        keys: that are there, of texts.
        exactly: likewise, of whole items.
    """

    newest: Answer
    keys: Answer | None
    exactly: Answer | None


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

    def ask(self, connection: Connection, batch: Batch) -> Asked:
        """Ask for all of a batch that hangs on no answer."""
        owners = self._here(owners={row.owner for row in batch.rows})
        beyond = int(np.searchsorted(batch.asked, self._slots << 32))
        return Asked(
            self._sql.newest.ask(connection, owners),
            self._ask_hits(connection, self._sql.keys, batch.asked[:beyond], range(self._slots)),
            self._ask_exactly(connection, batch.asked[beyond:]),
        )

    def candidates(self, connection: Connection, batch: Batch, first: Asked, judge: Judge) -> Found:
        """Every claim that a key of the batch leads to, with its distance; a pair once.

        Args:
            connection: in a transaction.
            batch: whose keys they are.
            first: what was asked for of it.
            judge: compares the texts.
        """
        asked, asker = batch.asked, batch.asker
        hits, exactly = self._hits(first.keys), self._hits(first.exactly)
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
                exactly = self._hits(self._ask_exactly(connection, asked[beyond:]))
        if len(exactly) >= CROWD:
            # Equal items that stand on pages with other texts.
            crowded |= (many := self._crowded(connection, exactly))
            known = np.array([slotted(row.slot, np.array([row.key]))[0] for row in many])
            exactly = exactly[~among(exactly[:, 0], known)] if many else exactly
        if not (len(hits) or len(exactly)):
            return _nothing(crowded)
        pairs = _joined(asked, asker, np.concatenate([hits, exactly]))
        equal = set(map(tuple, _joined(asked, asker, exactly).tolist()))
        found = self._measured(connection, batch, pairs, equal, judge)
        return found._replace(crowded=crowded)

    def _ask_exactly(self, connection: Connection, asked: NDArray[np.int64]) -> Answer | None:
        only = range(self._slots, self._slots + 1)
        return self._ask_hits(connection, self._sql.exact, asked, only)

    def _ask_hits(
        self,
        connection: Connection,
        statement: CompiledStatement,
        asked: NDArray[np.int64],
        slots: range,
    ) -> Answer | None:
        """Ask for the key rows that are there.

        Args:
            connection: in a transaction.
            statement: finds them.
            asked: in ascending order.
            slots: of these keys.
        """
        if not asked.size:
            return None
        once = distinct(asked)
        edges = np.searchsorted(once, [slot << 32 for slot in (*slots, slots.stop)])
        parameters: dict[str, Any] = {"namespace": self._namespace}
        keys = once.astype(np.int32)
        for slot, (start, stop) in zip(slots, pairwise(edges), strict=True):
            parameters[f"keys{slot}"] = list_parameter(self._dialect, keys[start:stop].tolist())
        return statement.ask(connection, parameters)

    def _hits(self, answer: Answer | None) -> NDArray[np.int64]:
        """The key rows that are there, as pairs of what was asked and a claim."""
        rows = answer.rows if answer is not None else ()
        if not rows:
            return np.empty((0, 2), np.int64)
        hits = np.array(list(map(tuple, rows)), dtype=np.int64)
        return np.stack([slotted(hits[:, 0] - self._first_slot, hits[:, 1]), hits[:, 2]], axis=1)

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
        judge: Judge,
    ) -> Found:
        """Pairs of a document and a claim that counts, with their distances."""
        stored: dict[int, bytes] = {}
        details: Details | None = None
        if len(pairs):
            wanted = set(pairs[:, 1].tolist())
            if self._can_crowd and len(wanted) <= CROWD:
                # Most of what shares a band is near enough to be looked at: all of it at once.
                details = self.details(connection, wanted, judge)
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

    def details(self, connection: Connection, claims: Iterable[int], judge: Judge) -> Details:
        """All that is stored of claims that count, but for the texts that the judge knows."""
        ids = sorted(claims)
        rows = self._sql.details.ask(connection, self._here(ids=ids))
        unknown = judge.unknown(ids)
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
        arms = [_keys_of_slot(dialect, slot, first_slot) for slot in range(slots + 1)]
        self.keys = CompiledStatement(union_all(*arms[:slots]))
        self.exact = CompiledStatement(arms[slots])
        self.fingerprints = CompiledStatement(
            select(claims.id, claims.fingerprint).where(here, ids, counts())
        )
        self.standing = CompiledStatement(select(claims.id).where(here, ids, counts()))
        row = [
            claims[name] if name != "url" else schema.url_of(schema.claims) for name in Row._fields
        ]
        self.details = CompiledStatement(select(*row).where(here, ids, counts()))
        self.newest = CompiledStatement(
            select(claims.owner, func.max(claims.id).label("id"))
            .where(here, owners, counts())
            .group_by(claims.owner)
        )
        self.own = CompiledStatement(select(*row).where(here, owners))
        texts = schema.texts.c
        self.texts = CompiledStatement(
            select(texts.claim, texts.text).where(
                texts.namespace == bindparam("namespace"),
                is_in(dialect, texts.claim, "ids"),
                texts.duplicate == 0,
            )
        )


def _keys_of_slot(dialect: str, slot: int, first_slot: int) -> Select[Any]:
    keys = schema.keys.c
    number: ColumnElement[int] = literal_column(str(first_slot + slot), Integer)
    return select(number.label("slot"), keys.key, keys.claim).where(
        keys.namespace == bindparam("namespace"),
        keys.slot == number,
        is_in(dialect, keys.key, f"keys{slot}"),
    )


_statements = cache(_Statements)
