"""The queries that look up claims by keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in, numbers_parameter
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import ClaimRow

_claims, _texts = schema.claims.c, schema.texts.c
_here = _claims.namespace == sa.bindparam("namespace")
_ids = is_in(_claims.id, "ids")
_row = [
    _claims[name] if name != "url" else schema.url_of(schema.claims) for name in ClaimRow._fields
]

fingerprints = sa.select(_claims.id, _claims.fingerprint).where(_here, _ids, is_valid())
details = sa.select(*_row).where(_here, _ids, is_valid())
texts = sa.select(_texts.id, _texts.text).where(
    _texts.namespace == sa.bindparam("namespace"), is_in(_texts.id, "ids")
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
def hits_of(dialect: str, slots: int) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """The query for key rows.

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
        return sa.select(keys.slot, keys.key, keys.claim).where(here, is_asked)
    of_slots = [
        sa.select(number.label("slot"), keys.key, keys.claim).where(
            here, keys.slot == number, is_in(keys.key, f"keys{slot}")
        )
        for slot in range(slots + 1)
        for number in [_number(slot)]
    ]
    return sa.union_all(*of_slots)


def _number(number: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(number), sa.Integer)
