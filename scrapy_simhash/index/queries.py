"""The queries that look up claims by keys and by identity, and their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.pipeline import Answer
from scrapy_simhash.db.statements import CompiledStatement, is_in, numbers_parameter
from scrapy_simhash.features.hashes import distinct
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import Place, Row
from scrapy_simhash.keys.plan import HOT_KEY

if TYPE_CHECKING:
    from scrapy_simhash.index.batch import KeyRow

#: The slot numbers of claims and of duplicates found by identity.
BY_IDENTITY, BY_PLACE = -1, -2

# Bits of a claim number; the bits above hold a document's number in its batch.
_CLAIM_BITS = 56


class Hits(NamedTuple):
    """The claims that the identities and the keys of a batch lead to."""

    #: The newest claim of each identity.
    newest: Mapping[int, int]
    #: Shape (n, 2), a key as in `Batch.asked` and a claim: for keys of texts, and of whole items.
    keys: NDArray[np.int64]
    exactly: NDArray[np.int64]
    #: The duplicates of each identity.
    places: Mapping[int, Sequence[int]] = MappingProxyType({})


class Details(NamedTuple):
    """The rows of claims by their numbers, and the compressed texts that are not cached."""

    rows: Mapping[int, Row]
    texts: Mapping[int, bytes]


class Prefetched(NamedTuple):
    """The claims that a batch led to before the lock was taken, with what was asked about them."""

    ids: Collection[int] = ()
    #: Those that are not cached; a text of a claim never changes.
    texts: Answer | None = None
    #: Asked for under the lock.
    rows: Answer | None = None

    def details(self) -> Details:
        """What the answers say."""
        rows, texts = (answer.rows if answer else () for answer in (self.rows, self.texts))
        return Details({row.id: row for row in map(Row._make, rows)}, dict(texts))


NOT_PREFETCHED = Prefetched()


class Found(NamedTuple):
    """The claims that the keys of a batch led to; entry i of each array belongs to pair i."""

    documents: NDArray[np.intp]
    claims: NDArray[np.int64]
    #: Of the fingerprints; -1 if not known yet.
    distances: NDArray[np.int64]
    #: Whether they are equal as whole items.
    exactly: NDArray[np.bool_]
    hot_keys: frozenset[KeyRow] = frozenset()
    #: Of the claims, if they were read already.
    details: Details = Details({}, {})


def nothing_found(hot_keys: frozenset[KeyRow] = frozenset()) -> Found:
    """No pair."""
    empty = np.empty(0, np.int64)
    return Found(empty, empty, empty, np.empty(0, np.bool_), hot_keys)


def shared(hits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys that led to too many claims."""
    asked = distinct(np.sort(hits[:, 0]))
    count = np.bincount(np.searchsorted(asked, hits[:, 0]))
    return asked[count >= HOT_KEY]


def joined(
    asked: NDArray[np.int64], asker: NDArray[np.intp], hits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The equi-join of the keys that were asked for and the hits, as distinct pairs.

    With keys 5, 5, 8 asked by the documents 0, 1, 1 and the hits (5, claim 70) and (8, claim 71)
    the pairs are (0, 70), (1, 70), (1, 71).

    `asked` is in ascending order.
    """
    left = np.searchsorted(asked, hits[:, 0], "left")
    count = np.searchsorted(asked, hits[:, 0], "right") - left
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    documents = asker[np.repeat(left, count) + within]
    # Each pair as one number, which sorts faster than rows. A batch has 64 documents at most.
    pairs = distinct(np.sort(np.repeat(hits[:, 1], count) | documents << _CLAIM_BITS))
    return np.stack([pairs >> _CLAIM_BITS, pairs & (1 << _CLAIM_BITS) - 1], axis=1)


_claims, _texts, _places = schema.claims.c, schema.texts.c, schema.duplicates.c
_here = _claims.namespace == bindparam("namespace")
_of_duplicates = _places.namespace == bindparam("namespace")
_of_texts = (_texts.namespace == bindparam("namespace"), is_in(_texts.claim, "ids"))
_ids = is_in(_claims.id, "ids")
_row = [_claims[name] if name != "url" else schema.url_of(schema.claims) for name in Row._fields]

places = CompiledStatement(
    select(*(_places[name] for name in Place._fields))
    .where(_of_duplicates, is_in(_places.id, "ids"))
    .order_by(_places.run, _places.id)
)
fingerprints = CompiledStatement(
    select(_claims.id, _claims.fingerprint).where(_here, _ids, is_valid())
)
details = CompiledStatement(select(*_row).where(_here, _ids, is_valid()))
own = CompiledStatement(select(*_row).where(_here, is_in(_claims.identity, "identities")))
last_urls = CompiledStatement(
    select(*(_places.created, _places.claim, _places.key, schema.url_of(schema.duplicates))).where(
        _of_duplicates, is_in(_places.claim, "ids")
    )
)
texts = CompiledStatement(
    select(_texts.claim, _texts.text).where(*_of_texts, _texts.duplicate == 0)
)
contents = CompiledStatement(
    select(_texts.claim, _texts.duplicate, _texts.text).where(
        *_of_texts, is_in(_texts.duplicate, "duplicates")
    )
)


@cache
def hits_of(dialect: str, slots: int) -> CompiledStatement:
    """The query for the newest claims and places of identities, and for key rows."""
    newest = (
        select(
            *(_number(BY_IDENTITY).label("slot"), _claims.identity),
            func.max(_claims.id).label("id"),
        )
        .where(_here, is_in(_claims.identity, "identities"), is_valid())
        .group_by(_claims.identity)
    )
    found = select(_number(BY_PLACE), _places.identity, _places.id).where(
        _of_duplicates, is_in(_places.identity, "identities")
    )
    return CompiledStatement(union_all(newest, found, *_key_rows(dialect, slots)))


def _key_rows(dialect: str, slots: int) -> list[Select[Any]]:
    """The queries for key rows.

    SQLite looks up each (slot, key) of one list, see :func:`slotted`, several times as fast as one
    list per slot. Other engines may not use the primary key for such pairs.
    """
    keys = schema.keys.c
    here = keys.namespace == bindparam("namespace")
    if dialect == "sqlite":
        every, half = numbers_parameter("keys").c.value, _number(32)
        # A shift to the right keeps the sign.
        pairs = select(every.op(">>")(half), every.op("<<")(half).op(">>")(half))
        found = tuple_(keys.slot, keys.key).in_(pairs)
        return [select(keys.slot, keys.key, keys.claim).where(here, found)]
    return [
        select(number.label("slot"), keys.key, keys.claim).where(
            here, keys.slot == number, is_in(keys.key, f"keys{slot}")
        )
        for slot in range(slots + 1)
        for number in [_number(slot)]
    ]


def _number(number: int) -> ColumnElement[int]:
    return literal_column(str(number), Integer)
