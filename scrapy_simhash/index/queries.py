"""The queries that look up claims by keys and by identity, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in, numbers_parameter
from scrapy_simhash.features.shingles import distinct
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


class Found(NamedTuple):
    """The claims that the keys of a batch led to; entry i of each array belongs to pair i."""

    documents: NDArray[np.intp]
    claims: NDArray[np.int64]
    #: Of the fingerprints.
    distances: NDArray[np.int64]
    #: Whether they are equal as whole items.
    exactly: NDArray[np.bool_]
    hot_keys: frozenset[KeyRow] = frozenset()
    #: Of the claims, as far as they were read already.
    rows: Mapping[int, Row] = MappingProxyType({})

    def pairs(self, chosen: NDArray[Any]) -> dict[tuple[int, int], int | None]:
        """The distances of some pairs of a document and a claim."""
        columns = (column[chosen].tolist() for column in self[:3])
        return {(number, claim): distance for number, claim, distance in zip(*columns, strict=True)}


_NONE = np.empty(0, np.int64)
NOTHING_FOUND = Found(_NONE, _NONE, _NONE, np.empty(0, np.bool_))


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
_here = _claims.namespace == sa.bindparam("namespace")
_of_duplicates = _places.namespace == sa.bindparam("namespace")
_of_texts = (_texts.namespace == sa.bindparam("namespace"), is_in(_texts.claim, "ids"))
_ids = is_in(_claims.id, "ids")
_row = [_claims[name] if name != "url" else schema.url_of(schema.claims) for name in Row._fields]

places = CompiledStatement(
    sa.select(*(_places[name] for name in Place._fields))
    .where(_of_duplicates, is_in(_places.id, "ids"))
    .order_by(_places.run, _places.id)
)
fingerprints = CompiledStatement(
    sa.select(_claims.id, _claims.fingerprint).where(_here, _ids, is_valid())
)
details = CompiledStatement(sa.select(*_row).where(_here, _ids, is_valid()))
own = CompiledStatement(sa.select(*_row).where(_here, is_in(_claims.identity, "identities")))
last_urls = CompiledStatement(
    sa.select(
        *(_places.created, _places.claim, _places.key, schema.url_of(schema.duplicates))
    ).where(_of_duplicates, is_in(_places.claim, "ids"))
)
texts = CompiledStatement(
    sa.select(_texts.claim, _texts.text).where(*_of_texts, _texts.duplicate == 0)
)
contents = CompiledStatement(
    sa.select(_texts.claim, _texts.duplicate, _texts.text).where(
        *_of_texts, is_in(_texts.duplicate, "duplicates")
    )
)


def claims_where(
    connection: sa.Connection,
    namespace: int,
    *conditions: sa.ColumnElement[bool],
    limit: int | None = None,
    **lists: Sequence[int],
) -> list[Row]:
    """Claims of a namespace under conditions, in the order of their numbers; for rare queries."""
    wanted = sa.select(*_row).where(_claims.namespace == namespace, *conditions)
    found = connection.execute(wanted.order_by(_claims.id).limit(limit), lists)
    return [Row._make(row) for row in found]


@cache
def hits_of(dialect: str, slots: int) -> CompiledStatement:
    """The query for the newest claims and places of identities, and for key rows."""
    newest = (
        sa.select(
            *(_number(BY_IDENTITY).label("slot"), _claims.identity),
            sa.func.max(_claims.id).label("id"),
        )
        .where(_here, is_in(_claims.identity, "identities"), is_valid())
        .group_by(_claims.identity)
    )
    found = sa.select(_number(BY_PLACE), _places.identity, _places.id).where(
        _of_duplicates, is_in(_places.identity, "identities")
    )
    return CompiledStatement(sa.union_all(newest, found, *_key_rows(dialect, slots)))


def _key_rows(dialect: str, slots: int) -> list[sa.Select[Any]]:
    """The queries for key rows.

    SQLite looks up each (slot, key) of one list, see :func:`slotted`, several times as fast as one
    list per slot. Other engines may not use the primary key for such pairs.
    """
    keys = schema.keys.c
    here = keys.namespace == sa.bindparam("namespace")
    if dialect == "sqlite":
        every, half = numbers_parameter("keys").c.value, _number(32)
        # A shift to the right keeps the sign.
        pairs = sa.select(every.op(">>")(half), every.op("<<")(half).op(">>")(half))
        found = sa.tuple_(keys.slot, keys.key).in_(pairs)
        return [sa.select(keys.slot, keys.key, keys.claim).where(here, found)]
    return [
        sa.select(number.label("slot"), keys.key, keys.claim).where(
            here, keys.slot == number, is_in(keys.key, f"keys{slot}")
        )
        for slot in range(slots + 1)
        for number in [_number(slot)]
    ]


def _number(number: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(number), sa.Integer)
