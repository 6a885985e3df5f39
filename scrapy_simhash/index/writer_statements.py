"""The statements that write claims with their keys and texts, and duplicates."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import CONFIRMED
from scrapy_simhash.db.statements import CompiledStatement, Insertion, is_in

#: What changes if a claim stands for a later document.
TOUCHED = ("identity", "token", "visit", "epoch", "listing", "met")
#: What makes a duplicate the same as one of an earlier visit, and what is updated then.
CONTENT = ("identity", "claim", "digest", "text_digest", "facts")
AGAIN = ("run", "action", "orphaned", "repeats", "distance", "similarity", "estimated")


class Statements:
    """The compiled statements for a dialect."""

    def __init__(self, dialect: str) -> None:
        self._of_claims(dialect)
        self._of_duplicates(dialect)
        self._of_texts(dialect)
        tables = (schema.claims, schema.keys, schema.duplicates, schema.texts)
        self.insert_claims, self.insert_keys, self.insert_duplicates, self.insert_texts = (
            Insertion(dialect, table) for table in tables
        )

    def _of_claims(self, dialect: str) -> None:
        claims, compiled = schema.claims, CompiledStatement
        my_claims = _here(dialect, claims, "id")
        self.present = compiled(select(claims.c.id, claims.c.digest).where(*my_claims))
        self.confirm = compiled(update(claims).where(*my_claims).values(state=CONFIRMED))
        self.delete_claims = compiled(delete(claims).where(*my_claims))
        self.touch = compiled(
            update(claims)
            .where(claims.c.namespace == bindparam("here"), claims.c.id == bindparam("new_id"))
            .values(seen=bindparam("now"), **{name: bindparam(f"new_{name}") for name in TOUCHED})
        )
        self.meet = compiled(update(claims).where(*my_claims).values(met=bindparam("run")))
        self.restore = compiled(
            update(claims)
            .where(
                claims.c.namespace == bindparam("here"),
                claims.c.id == bindparam("new_id"),
                # Unless the item was met once more.
                claims.c.token == bindparam("of_token"),
            )
            .values({name: bindparam(f"new_{name}") for name in TOUCHED})
        )
        keys = schema.keys.c
        # A key row with one of these keys and one of these claims belongs to that claim. Adding 0
        # makes the engine search by key, not by claim, which would read far more rows.
        self.delete_keys = compiled(
            delete(schema.keys).where(
                keys.namespace == bindparam("here"),
                keys.slot == bindparam("at"),
                is_in(dialect, keys.key, "values"),
                is_in(dialect, keys.claim + literal_column("0"), "numbers"),
            )
        )

    def _of_duplicates(self, dialect: str) -> None:
        duplicates, compiled = schema.duplicates, CompiledStatement
        my_duplicates = _here(dialect, duplicates, "id")
        of_claims = _here(dialect, duplicates, "claim")
        self.orphan = compiled(update(duplicates).where(*of_claims).values(orphaned=True))
        self.orphan_since = compiled(
            update(duplicates)
            .where(*of_claims, duplicates.c.run >= bindparam("since"))
            .values(orphaned=True)
        )
        same = (duplicates.c[name] for name in CONTENT)
        self.known = compiled(
            select(duplicates.c.id, duplicates.c.run, duplicates.c.item_bytes, *same).where(
                *_here(dialect, duplicates, "identity")
            )
        )
        self.record_again = compiled(
            update(duplicates)
            .where(
                duplicates.c.namespace == bindparam("here"), duplicates.c.id == bindparam("number")
            )
            .values({name: bindparam(f"new_{name}") for name in AGAIN})
        )
        self.recorded = compiled(
            select(duplicates.c.id).where(*my_duplicates, duplicates.c.run == bindparam("of_run"))
        )
        self.delete_duplicates = compiled(delete(duplicates).where(*my_duplicates))
        self.size_of_items = compiled(_total(duplicates.c.item).where(*my_duplicates))

    def _of_texts(self, dialect: str) -> None:
        duplicates, texts, compiled = schema.duplicates, schema.texts, CompiledStatement
        own_texts = (*_here(dialect, texts, "claim"), texts.c.duplicate == 0)
        self.size_of_own_texts = compiled(_total(texts.c.text).where(*own_texts))
        self.delete_own_texts = compiled(delete(texts).where(*own_texts))
        self.size_of_their_texts = compiled(
            _total(texts.c.text).where(
                *_here(dialect, duplicates, "id"),
                texts.c.namespace == duplicates.c.namespace,
                texts.c.claim == duplicates.c.claim,
                texts.c.duplicate == duplicates.c.id,
            )
        )
        by_key = (column == bindparam(column.name) for column in texts.primary_key)
        self.delete_text = compiled(delete(texts).where(*by_key))


def _here(dialect: str, table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
    """The condition on a table's namespace, and on a column by a list of numbers."""
    return (
        table.c.namespace == bindparam("here"),
        is_in(dialect, table.c[column], "numbers"),
    )


def _total(column: Any) -> Any:
    return select(func.coalesce(func.sum(func.length(column)), 0))


statements = cache(Statements)
