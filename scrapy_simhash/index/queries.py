"""The queries that look up claims by keys and by identity."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in, numbers_parameter
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import ClaimRow, LastDuplicate


class HitSource(IntEnum):
    """In place of a slot: what a row of the answer to :func:`hits_of` has, if no key led to it."""

    COUNTER = -3
    DUPLICATE_BY_IDENTITY = -2
    CLAIM_BY_IDENTITY = -1


#: Copies that are read at once, and remembered of a claim: a text that many pages have is soon
#: known as such.
COPIES = 512

_claims, _texts, _duplicates = schema.claims.c, schema.texts.c, schema.duplicates.c
_here = _claims.namespace == sa.bindparam("namespace")
_of_duplicates = _duplicates.namespace == sa.bindparam("namespace")
_of_texts = (_texts.namespace == sa.bindparam("namespace"), is_in(_texts.claim, "ids"))
_ids = is_in(_claims.id, "ids")
_row = [
    _claims[name] if name != "url" else schema.url_of(schema.claims) for name in ClaimRow._fields
]

last_duplicates = (
    sa.select(*(_duplicates[name] for name in LastDuplicate._fields))
    .where(_of_duplicates, is_in(_duplicates.id, "ids"))
    .order_by(_duplicates.run, _duplicates.id)
)
fingerprints = sa.select(_claims.id, _claims.fingerprint).where(_here, _ids, is_valid())
details = sa.select(*_row).where(_here, _ids, is_valid())
copies = (
    sa.select(
        _duplicates.claim,
        _duplicates.identity,
        schema.url_of(schema.duplicates),
        _duplicates.facts,
        _duplicates.run,
    )
    .where(_of_duplicates, is_in(_duplicates.claim, "ids"), _duplicates.facts.is_not(None))
    .limit(COPIES)
)
last_urls = sa.select(
    _duplicates.created,
    _duplicates.claim,
    _duplicates.key,
    schema.url_of(schema.duplicates),
).where(_of_duplicates, is_in(_duplicates.claim, "ids"))
texts = sa.select(_texts.claim, _texts.text).where(*_of_texts, _texts.duplicate == 0)
contents = sa.select(_texts.claim, _texts.duplicate, _texts.text).where(
    *_of_texts, is_in(_texts.duplicate, "duplicates")
)


def claims_where(
    connection: sa.Connection,
    namespace: int,
    *conditions: sa.ColumnElement[bool],
    limit: int | None = None,
    **lists: Sequence[int],
) -> list[ClaimRow]:
    """Claims of a namespace under conditions, in the order of their numbers; for rare queries."""
    wanted = sa.select(*_row).where(_claims.namespace == namespace, *conditions)
    rows = connection.execute(wanted.order_by(_claims.id).limit(limit), lists)
    return [ClaimRow._make(row) for row in rows]


@cache
def hits_of(dialect: str, slots: int) -> sa.CompoundSelect[Any]:
    """The query for key rows, and for the newest claims and the duplicates of identities.

    It also reads the counter of the namespace, in the same snapshot.
    """
    row = schema.namespaces.c
    counter = sa.select(
        _number(HitSource.COUNTER).label("slot"),
        sa.literal_column("0").label("key"),
        row.counter.label("id"),
    ).where(row.id == sa.bindparam("namespace"))
    newest = (
        sa.select(_number(HitSource.CLAIM_BY_IDENTITY), _claims.identity, sa.func.max(_claims.id))
        .where(_here, is_in(_claims.identity, "identities"), is_valid())
        .group_by(_claims.identity)
    )
    duplicates = sa.select(
        _number(HitSource.DUPLICATE_BY_IDENTITY), _duplicates.identity, _duplicates.id
    ).where(_of_duplicates, is_in(_duplicates.identity, "identities"))
    return sa.union_all(counter, newest, duplicates, *_key_rows(dialect, slots))


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
        is_asked = sa.tuple_(keys.slot, keys.key).in_(pairs)
        return [sa.select(keys.slot, keys.key, keys.claim).where(here, is_asked)]
    return [
        sa.select(number.label("slot"), keys.key, keys.claim).where(
            here, keys.slot == number, is_in(keys.key, f"keys{slot}")
        )
        for slot in range(slots + 1)
        for number in [_number(slot)]
    ]


def _number(number: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(number), sa.Integer)
