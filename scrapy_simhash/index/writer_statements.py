"""The statements that write claims with their keys and texts, and duplicates."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Table, bindparam, delete, func, literal_column, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, Insertion, is_in
from scrapy_simhash.db.values import CONFIRMED

#: What changes if a claim stands for a later document.
TOUCHED = ("identity", "token", "visit", "epoch", "listing", "met")
#: What makes a duplicate the same as one of an earlier visit, and what is updated then.
CONTENT = ("identity", "claim", "digest", "text_digest", "facts")
AGAIN = ("run", "action", "orphaned", "repeats", "distance", "similarity", "estimated")


def rows_of(table: Table, column: str = "id") -> tuple[ColumnElement[bool], ...]:
    """The condition on a table's namespace, and on a column by a list of numbers."""
    return table.c.namespace == bindparam("here"), is_in(table.c[column], "numbers")


def _row(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.namespace == bindparam("here"), table.c.id == bindparam("number")


def _new(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: bindparam(f"new_{name}") for name in names}


def _total(column: Any) -> Any:
    return select(func.coalesce(func.sum(func.length(column)), 0))


_claims, _keys = schema.claims, schema.keys
_duplicates, _texts = schema.duplicates, schema.texts

#: Inserts rows into a table, given by the dialect and the table.
inserting = cache(Insertion)

present = CompiledStatement(select(_claims.c.id, _claims.c.digest).where(*rows_of(_claims)))
confirm = CompiledStatement(update(_claims).where(*rows_of(_claims)).values(state=CONFIRMED))
delete_claims = CompiledStatement(delete(_claims).where(*rows_of(_claims)))
touch = CompiledStatement(
    update(_claims).where(*_row(_claims)).values(seen=bindparam("now"), **_new(TOUCHED))
)
meet = CompiledStatement(update(_claims).where(*rows_of(_claims)).values(met=bindparam("new_met")))
restore = CompiledStatement(
    update(_claims)
    # Unless the item was met once more.
    .where(*_row(_claims), _claims.c.token == bindparam("of_token"))
    .values(_new(TOUCHED))
)
# A key row with one of these keys and one of these claims belongs to that claim. Adding 0 makes the
# engine search by key, not by claim, which would read far more rows.
delete_keys = CompiledStatement(
    delete(_keys).where(
        _keys.c.namespace == bindparam("here"),
        _keys.c.slot == bindparam("at"),
        is_in(_keys.c.key, "values"),
        is_in(_keys.c.claim + literal_column("0"), "numbers"),
    )
)

_of_claims = rows_of(_duplicates, "claim")
orphan = CompiledStatement(update(_duplicates).where(*_of_claims).values(orphaned=True))
orphan_since = CompiledStatement(
    update(_duplicates)
    .where(*_of_claims, _duplicates.c.run >= bindparam("since"))
    .values(orphaned=True)
)
known = CompiledStatement(
    select(
        *(_duplicates.c.id, _duplicates.c.run, _duplicates.c.item_bytes),
        *(_duplicates.c[name] for name in CONTENT),
    ).where(*rows_of(_duplicates, "identity"))
)
record_again = CompiledStatement(update(_duplicates).where(*_row(_duplicates)).values(_new(AGAIN)))
delete_duplicates = CompiledStatement(delete(_duplicates).where(*rows_of(_duplicates)))
size_of_items = CompiledStatement(_total(_duplicates.c.item).where(*rows_of(_duplicates)))

_own_texts = (*rows_of(_texts, "claim"), _texts.c.duplicate == 0)
size_of_own_texts = CompiledStatement(_total(_texts.c.text).where(*_own_texts))
delete_own_texts = CompiledStatement(delete(_texts).where(*_own_texts))
size_of_their_texts = CompiledStatement(
    _total(_texts.c.text).where(
        *rows_of(_duplicates),
        _texts.c.namespace == _duplicates.c.namespace,
        _texts.c.claim == _duplicates.c.claim,
        _texts.c.duplicate == _duplicates.c.id,
    )
)
delete_text = CompiledStatement(
    delete(_texts).where(*(column == bindparam(column.name) for column in _texts.primary_key))
)
