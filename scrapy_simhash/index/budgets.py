"""The books of a namespace: how much it holds, and room for texts and items."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, delete, exists, func, null, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in, list_parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import BindParameter, Connection

    from scrapy_simhash.db.lock import LockedNamespace

__all__ = ["Books"]

#: As many rows are dropped at once to make room.
_ROOM = 256


class Books:
    """What a transaction adds to a namespace, and takes from it.

    Args:
        connection: in a transaction whose first statement locked the namespace.
        namespace: its number.
        held: what came with the lock.

    Attributes:
        claims: added so far; negative if more were taken away.
        text_bytes: likewise.
        item_bytes: likewise.
    """

    def __init__(self, connection: Connection, namespace: int, held: LockedNamespace) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name
        self._sql = _statements(self._dialect)
        self._namespace = namespace
        self._held = held
        self.claims = self.text_bytes = self.item_bytes = 0

    def enter(self, text_budget: float = np.inf, item_budget: float = np.inf) -> None:
        """Enter what changed in the namespace's row, after dropping what is over the budgets."""
        texts = self._held.text_bytes + self.text_bytes
        items = self._held.item_bytes + self.item_bytes
        # A tenth more than necessary, so that not every batch has to make room.
        if self.text_bytes > 0 and texts > text_budget:
            self._make_room_for_texts(texts - text_budget * 0.9)
        if self.item_bytes > 0 and items > item_budget:
            self._make_room_for_items(items - item_budget * 0.9)
        if self.claims or self.text_bytes or self.item_bytes:
            changes = {
                "claims": self.claims,
                "texts": self.text_bytes,
                "items": self.item_bytes,
            }
            self._sql.enter.run(self._connection, {"here": self._namespace, **changes})

    def _make_room_for_texts(self, wanted: float) -> None:
        """Texts of claims without duplicates go first, the oldest of them before the others."""
        target = self.text_bytes - wanted
        for oldest in (self._sql.unexplaining, self._sql.explaining):
            while self.text_bytes > target:
                found = oldest.run(self._connection, {"here": self._namespace}).scalars()
                here = self._here(found)
                freed = int(self._sql.size_of_texts.run(self._connection, here).scalar() or 0)
                if not freed:
                    break
                self._sql.delete_texts.run(self._connection, here)
                self.text_bytes -= freed

    def _make_room_for_items(self, wanted: float) -> None:
        """The oldest items go first, orphans only when nothing else is left."""
        target = self.item_bytes - wanted
        for is_orphan in (False, True):
            while self.item_bytes > target:
                found: Sequence[Any] = self._sql.items.run(
                    self._connection, {"here": self._namespace, "is_orphan": is_orphan}
                ).all()
                if not found:
                    break
                here = self._here(number for number, _ in found)
                self._sql.drop_items.run(self._connection, here)
                self.item_bytes -= sum(size for _, size in found)

    def _here(self, numbers: Iterable[int]) -> dict[str, Any]:
        return {"here": self._namespace, "numbers": list_parameter(self._dialect, numbers)}


class _Statements:
    """What is executed, for a dialect."""

    def __init__(self, dialect: str) -> None:
        duplicates, texts = schema.duplicates, schema.texts
        row = schema.namespaces.c
        here: BindParameter[int] = bindparam("here")
        self.enter = CompiledStatement(
            update(schema.namespaces)
            .where(row.id == here)
            .values(
                size=row.size + bindparam("claims"),
                text_bytes=row.text_bytes + bindparam("texts"),
                item_bytes=row.item_bytes + bindparam("items"),
            )
        )
        self.drop_items = CompiledStatement(
            update(duplicates)
            .where(duplicates.c.namespace == here, is_in(dialect, duplicates.c.id, "numbers"))
            .values(item=null())
        )
        self.items = CompiledStatement(
            select(duplicates.c.id, func.length(duplicates.c.item).label("bytes"))
            .where(
                duplicates.c.namespace == here,
                duplicates.c.item.is_not(None),
                duplicates.c.orphaned == bindparam("is_orphan"),
            )
            .order_by(duplicates.c.id)
            .limit(_ROOM)
        )
        of_claims = (texts.c.namespace == here, is_in(dialect, texts.c.claim, "numbers"))
        size = func.coalesce(func.sum(func.length(texts.c.text)), 0)
        self.size_of_texts = CompiledStatement(select(size).where(*of_claims))
        self.delete_texts = CompiledStatement(delete(texts).where(*of_claims))
        explained = exists().where(
            duplicates.c.namespace == texts.c.namespace, duplicates.c.claim == texts.c.claim
        )
        self.unexplaining, self.explaining = (
            CompiledStatement(
                select(texts.c.claim)
                .where(texts.c.namespace == here, condition)
                .group_by(texts.c.claim)
                .order_by(texts.c.claim)
                .limit(_ROOM)
            )
            for condition in (~explained, explained)
        )


_statements = cache(_Statements)
