"""What is written under a namespace's lock: claims and their keys, duplicates, texts, budgets."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, delete, exists, func, insert, select, update

from scrapy_simhash import schema
from scrapy_simhash.database import among, values
from scrapy_simhash.schema import CONFIRMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Table

    from scrapy_simhash.database import Held

__all__ = ["Writer", "unpack_keys"]

#: As many rows are dropped at once to make room.
_ROOM = 256


def unpack_keys(stored: bytes) -> NDArray[np.int32]:
    """The keys of a claim, from its row."""
    return np.frombuffer(stored, "<i4").astype(np.int32)


class _Statements:
    """Built once for each dialect: building a statement costs more than running it."""

    def __init__(self, dialect: str) -> None:
        def here(table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
            return (
                table.c.namespace == bindparam("here"),
                among(dialect, table.c[column], "numbers"),
            )

        claims, duplicates, texts = schema.claims, schema.duplicates, schema.texts
        own_texts = (*here(texts, "claim"), texts.c.duplicate == 0)
        explained = exists().where(
            duplicates.c.namespace == texts.c.namespace, duplicates.c.claim == texts.c.claim
        )
        row = schema.namespaces.c
        self.present = select(claims.c.id).where(*here(claims, "id"))
        self.confirm = update(claims).where(*here(claims, "id")).values(state=CONFIRMED)
        self.touch = update(claims).where(*here(claims, "id")).values(seen=bindparam("now"))
        self.delete_claims = delete(claims).where(*here(claims, "id"))
        self.delete_keys = delete(schema.keys).where(
            *(column == bindparam(column.name) for column in schema.keys.primary_key)
        )
        self.orphan = update(duplicates).where(*here(duplicates, "claim")).values(orphaned=True)
        self.remembered = select(duplicates.c.id).where(
            *here(duplicates, "id"), duplicates.c.run == bindparam("of_run")
        )
        self.drop_items = update(duplicates).where(*here(duplicates, "id")).values(item=None)
        self.items = (
            select(duplicates.c.id, func.length(duplicates.c.item).label("bytes"))
            .where(
                duplicates.c.namespace == bindparam("here"),
                duplicates.c.item.is_not(None),
                duplicates.c.orphaned == bindparam("is_orphan"),
            )
            .order_by(duplicates.c.id)
            .limit(_ROOM)
        )
        size = func.coalesce(func.sum(func.length(texts.c.text)), 0)
        self.size_of_own_texts = select(size).where(*own_texts)
        self.delete_own_texts = delete(texts).where(*own_texts)
        self.size_of_texts = select(size).where(*here(texts, "claim"))
        self.delete_texts = delete(texts).where(*here(texts, "claim"))
        self.unexplaining, self.explaining = (
            select(texts.c.claim)
            .where(texts.c.namespace == bindparam("here"), condition)
            .group_by(texts.c.claim)
            .order_by(texts.c.claim)
            .limit(_ROOM)
            for condition in (~explained, explained)
        )
        self.book = (
            update(schema.namespaces)
            .where(row.id == bindparam("here"))
            .values(
                size=row.size + bindparam("claims"),
                text_bytes=row.text_bytes + bindparam("texts"),
                item_bytes=row.item_bytes + bindparam("items"),
            )
        )
        self.insert_claims = insert(claims)
        self.insert_keys = insert(schema.keys)
        self.insert_duplicates = insert(duplicates)
        self.insert_texts = insert(texts)


_statements = cache(_Statements)


class Writer:
    """Writes to one namespace inside a transaction that holds its lock, and keeps the books.

    Args:
        connection: in a transaction whose first statement locked the namespace.
        namespace: its number.
        held: what came with the lock.
    """

    def __init__(self, connection: Connection, namespace: int, held: Held) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name
        self._sql = _statements(self._dialect)
        self._namespace = namespace
        self._held = held
        self._size = self._text_bytes = self._item_bytes = 0

    def insert(self, claims: Sequence[tuple[Mapping[str, Any], NDArray[np.int32]]]) -> None:
        """Add claims with their key rows."""
        if not claims:
            return
        self._connection.execute(
            self._sql.insert_claims,
            [
                {**row, "namespace": self._namespace, "packed_keys": keys.astype("<i4").tobytes()}
                for row, keys in claims
            ],
        )
        self._connection.execute(
            self._sql.insert_keys, self._key_rows((row["id"], keys) for row, keys in claims)
        )
        self._size += len(claims)

    def confirm(self, claims: Sequence[tuple[Mapping[str, Any], NDArray[np.int32]]]) -> None:
        """Confirm claims.

        One that is gone was released by somebody who took this run for dead. What it stands for
        is stored all the same, so it is made again.
        """
        numbers = [row["id"] for row, _ in claims]
        if self._connection.execute(self._sql.confirm, self._here(numbers)).rowcount == len(claims):
            return
        present = self._present(numbers)
        self.insert(
            [
                ({**row, "state": CONFIRMED}, keys)
                for row, keys in claims
                if row["id"] not in present
            ]
        )

    def touch(self, claims: Sequence[int], now: float) -> None:
        """Note that claims were met again by their own owner."""
        if claims:
            self._connection.execute(self._sql.touch, {**self._here(claims), "now": now})

    def forget(self, claims: Sequence[tuple[int, NDArray[np.int32]]], *, orphaned: bool) -> None:
        """Delete claims, their keys and texts.

        Args:
            claims: numbers and keys.
            orphaned: what was dropped against them is covered by nothing any more; not so where
                they merely expire.
        """
        if not claims:
            return
        here = self._here(claim for claim, _ in claims)
        self._connection.execute(self._sql.delete_keys, self._key_rows(claims))
        self._size -= self._connection.execute(self._sql.delete_claims, here).rowcount
        self._text_bytes -= int(self._connection.scalar(self._sql.size_of_own_texts, here) or 0)
        self._connection.execute(self._sql.delete_own_texts, here)
        if orphaned:
            self._connection.execute(self._sql.orphan, here)

    def remember(
        self, duplicates: Sequence[tuple[Mapping[str, Any], bytes | None]], *, retried: bool
    ) -> None:
        """Keep duplicates, with the items that were dropped.

        Args:
            duplicates: rows of the table, and the text of each, compressed.
            retried: an earlier attempt may have written them already.
        """
        if retried:
            here = self._here(row["id"] for row, _ in duplicates)
            here["of_run"] = duplicates[0][0]["run"]
            written = set(self._connection.execute(self._sql.remembered, here).scalars())
            duplicates = [(row, text) for row, text in duplicates if row["id"] not in written]
        if not duplicates:
            return
        alive = self._present({row["claim"] for row, _ in duplicates})
        self._connection.execute(
            self._sql.insert_duplicates,
            # The claim may have been released between the verdict and now.
            [{**row, "orphaned": row["claim"] not in alive} for row, _ in duplicates],
        )
        self._item_bytes += sum(len(row["item"] or b"") for row, _ in duplicates)
        self.keep_texts(
            [(row["claim"], row["id"], text) for row, text in duplicates if text is not None]
        )

    def keep_texts(self, texts: Sequence[tuple[int, int, bytes]]) -> None:
        """Keep compressed texts of a claim (duplicate 0) or of one of its duplicates."""
        if texts:
            self._connection.execute(
                self._sql.insert_texts,
                [
                    {
                        "namespace": self._namespace,
                        "claim": claim,
                        "duplicate": duplicate,
                        "text": text,
                    }
                    for claim, duplicate, text in texts
                ],
            )
            self._text_bytes += sum(len(text) for _, _, text in texts)

    def book(self, text_budget: float = np.inf, item_budget: float = np.inf) -> None:
        """Enter what changed in the namespace's row, after dropping what is over the budgets."""
        texts = self._held.text_bytes + self._text_bytes
        items = self._held.item_bytes + self._item_bytes
        # A tenth more than necessary, so that not every batch has to make room.
        if self._text_bytes > 0 and texts > text_budget:
            self._make_room_for_texts(texts - text_budget * 0.9)
        if self._item_bytes > 0 and items > item_budget:
            self._make_room_for_items(items - item_budget * 0.9)
        if self._size or self._text_bytes or self._item_bytes:
            self._connection.execute(
                self._sql.book,
                {
                    "here": self._namespace,
                    "claims": self._size,
                    "texts": self._text_bytes,
                    "items": self._item_bytes,
                },
            )

    def _make_room_for_texts(self, wanted: float) -> None:
        """Texts of claims without duplicates go first, the oldest of them before the others."""
        target = self._text_bytes - wanted
        for oldest in (self._sql.unexplaining, self._sql.explaining):
            while self._text_bytes > target:
                found = self._connection.execute(oldest, {"here": self._namespace}).scalars()
                here = self._here(found)
                freed = int(self._connection.scalar(self._sql.size_of_texts, here) or 0)
                if not freed:
                    break
                self._connection.execute(self._sql.delete_texts, here)
                self._text_bytes -= freed

    def _make_room_for_items(self, wanted: float) -> None:
        """The oldest items go first, orphans only when nothing else is left."""
        target = self._item_bytes - wanted
        for is_orphan in (False, True):
            while self._item_bytes > target:
                found = self._connection.execute(
                    self._sql.items, {"here": self._namespace, "is_orphan": is_orphan}
                ).all()
                if not found:
                    break
                self._connection.execute(
                    self._sql.drop_items, self._here(number for number, _ in found)
                )
                self._item_bytes -= sum(size for _, size in found)

    def _present(self, claims: Iterable[int]) -> set[int]:
        return set(self._connection.execute(self._sql.present, self._here(claims)).scalars())

    def _key_rows(self, claims: Iterable[tuple[int, NDArray[np.int32]]]) -> list[dict[str, int]]:
        return [
            {"namespace": self._namespace, "slot": slot, "key": key, "claim": claim}
            for claim, keys in claims
            for slot, key in enumerate(keys.tolist())
        ]

    def _here(self, numbers: Iterable[int]) -> dict[str, Any]:
        """The parameters of a statement on rows of this namespace."""
        return {"here": self._namespace, "numbers": values(self._dialect, numbers)}
