"""The budgets for texts and items of a namespace: the oldest make room for new ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.index.invalidated import is_orphan

# Rows that are read at once to make room.
_ROWS_AT_ONCE = 1024

# The share of a budget that is left once room was made, so that the next batches need not do it.
_LEFT_OF_BUDGET = 0.9


def largest(budget: float) -> float:
    """The largest size of one item or text, in bytes: an eighth of the budget.

    So no single one can displace all others.
    """
    return budget / 8


class Kept(NamedTuple):
    """Texts or items that a budget holds.

    Attributes:
        oldest: selects some of the oldest, each with its number and its bytes.
        drop: removes some, given by their numbers.
    """

    oldest: sa.Select[Any]
    drop: sa.Executable


def make_room(
    connection: sa.Connection, namespace: int, kept: Kept, wanted: float
) -> tuple[int, int]:
    """Remove the oldest until so many bytes are free; returns how many went, and their bytes."""
    removed = freed = 0
    while freed < wanted:
        rows = connection.execute(kept.oldest, {"here": namespace}).all()
        gone: list[int] = []
        for number, size in rows:
            if freed < wanted:
                gone.append(number)
                freed += size
        if gone:
            connection.execute(kept.drop, {"here": namespace, "numbers": gone})
        removed += len(gone)
        if len(rows) < _ROWS_AT_ONCE:
            break
    return removed, freed


def excess(total: float, budget: float) -> float:
    """The bytes to be freed if so many are stored."""
    return total - _LEFT_OF_BUDGET * budget if total > budget else 0


_row, _text = schema.sightings.c, schema.texts.c
_of_items, _of_texts = (table.namespace == sa.bindparam("here") for table in (_row, _text))


def _items(condition: sa.ColumnElement[bool]) -> Kept:
    # As the index has it.
    has_item = _row.item_bytes > sa.literal_column("0")
    oldest = sa.select(_row.id, _row.item_bytes).where(_of_items, has_item, condition)
    drop = sa.update(schema.sightings).where(_of_items, is_in(_row.id, "numbers"))
    return Kept(
        oldest.order_by(_row.id).limit(_ROWS_AT_ONCE),
        drop.values(item=sa.null(), item_bytes=0),
    )


#: Items whose original is stored, and those that may be stored nowhere, which go last.
ITEMS = (_items(~is_orphan()), _items(is_orphan()))

_these_texts = _of_texts, is_in(_text.id, "numbers")
drop_texts = sa.delete(schema.texts).where(*_these_texts)
size_of_texts = sa.select(sa.func.coalesce(sa.func.sum(_text.bytes), 0)).where(*_these_texts)
TEXTS = Kept(
    sa.select(_text.id, _text.bytes).where(_of_texts).order_by(_text.id).limit(_ROWS_AT_ONCE),
    drop_texts,
)
