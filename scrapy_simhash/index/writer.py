"""What is written under a namespace's lock: claims and their keys, duplicates, texts."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, literal_column, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import CONFIRMED
from scrapy_simhash.db.statements import (
    CompiledStatement,
    Insertion,
    is_in,
    list_parameter,
)
from scrapy_simhash.index.budgets import share_of
from scrapy_simhash.index.deletion import deletion_row, other_slot, stored_keys
from scrapy_simhash.index.verdict import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, Table

    from scrapy_simhash.db.lock import LockedNamespace
    from scrapy_simhash.db.pipeline import Answer
    from scrapy_simhash.index.batch import KeyRow
    from scrapy_simhash.index.budgets import UsageCounters
    from scrapy_simhash.index.deletion import DeletionRow

__all__ = [
    "Writer",
    "ask_standing",
    "ask_to_confirm",
]


class _Statements:
    """What is executed, for a dialect."""

    def __init__(self, dialect: str) -> None:
        def here(table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
            return (
                table.c.namespace == bindparam("here"),
                is_in(dialect, table.c[column], "numbers"),
            )

        claims, duplicates, texts = schema.claims, schema.duplicates, schema.texts
        own_texts = (*here(texts, "claim"), texts.c.duplicate == 0)
        self.present = CompiledStatement(
            select(claims.c.id, claims.c.digest).where(*here(claims, "id"))
        )
        self.confirm = CompiledStatement(
            update(claims).where(*here(claims, "id")).values(state=CONFIRMED)
        )
        self.touch = CompiledStatement(
            update(claims)
            .where(claims.c.namespace == bindparam("here"), claims.c.id == bindparam("new_id"))
            .values(
                seen=bindparam("now"),
                **{
                    name: bindparam(f"new_{name}")
                    for name in ("owner", "token", "visit", "generation", "fetch")
                },
            )
        )
        self.delete_claims = CompiledStatement(delete(claims).where(*here(claims, "id")))
        keys = schema.keys.c
        # Whatever of these keys leads to one of these claims is one of its own. They are found by
        # the keys: as many times as many places would be looked at if the claims led there too.
        self.delete_keys = CompiledStatement(
            delete(schema.keys).where(
                keys.namespace == bindparam("here"),
                keys.slot == bindparam("at"),
                is_in(dialect, keys.key, "values"),
                is_in(dialect, keys.claim + literal_column("0"), "numbers"),
            )
        )
        self.orphan = CompiledStatement(
            update(duplicates).where(*here(duplicates, "claim")).values(orphaned=True)
        )
        self.remembered = CompiledStatement(
            select(duplicates.c.id).where(
                *here(duplicates, "id"), duplicates.c.run == bindparam("of_run")
            )
        )
        size = func.coalesce(func.sum(func.length(texts.c.text)), 0)
        self.size_of_own_texts = CompiledStatement(select(size).where(*own_texts))
        self.delete_own_texts = CompiledStatement(delete(texts).where(*own_texts))
        self.size_of_items = CompiledStatement(
            select(func.coalesce(func.sum(func.length(duplicates.c.item)), 0)).where(
                *here(duplicates, "id")
            )
        )
        self.size_of_their_texts = CompiledStatement(
            select(size).where(
                *here(duplicates, "id"),
                texts.c.namespace == duplicates.c.namespace,
                texts.c.claim == duplicates.c.claim,
                texts.c.duplicate == duplicates.c.id,
            )
        )
        self.delete_duplicates = CompiledStatement(
            delete(duplicates).where(*here(duplicates, "id"))
        )
        self.delete_text = _delete_by_key(texts)
        self.insert_claims, self.insert_keys, self.insert_duplicates, self.insert_texts = (
            Insertion(dialect, table) for table in (claims, schema.keys, duplicates, texts)
        )


def _delete_by_key(table: Table) -> CompiledStatement:
    columns = (column == bindparam(column.name) for column in table.primary_key)
    return CompiledStatement(delete(table).where(*columns))


_statements = cache(_Statements)
_URL = Row._fields.index("url")


def _stored(row: Row) -> tuple[Any, ...]:
    """A row as it is stored: see :func:`schema.url_of`."""
    return (*row[:_URL], None, *row[_URL + 1 :]) if row.url == row.key else row


def ask_to_confirm(connection: Connection, namespace: int, claims: Sequence[Row]) -> Answer | None:
    """Ask to confirm claims, given by their rows, for :meth:`Writer.make_again`."""
    if not claims:
        return None
    dialect = connection.dialect.name
    numbers = list_parameter(dialect, {row.id for row in claims})
    return _statements(dialect).confirm.ask(connection, {"here": namespace, "numbers": numbers})


def ask_standing(connection: Connection, namespace: int, claims: Iterable[int]) -> Answer:
    """Ask which of some claims are there, for :func:`standing`."""
    dialect = connection.dialect.name
    parameters = {"here": namespace, "numbers": list_parameter(dialect, claims)}
    return _statements(dialect).present.ask(connection, parameters)


def standing(stand: Answer) -> dict[int, bytes | None]:
    """Those of the claims that are there, each with its digest."""
    return {number: None if digest is None else bytes(digest) for number, digest in stand.rows}


class Writer:
    """Writes to one namespace inside a transaction that holds its lock, and keeps the usage.

    Args:
        connection: in a transaction whose first statement locked the namespace.
        namespace: its number.
        held: what came with the lock.
        usage: what changes is noted there.
    """

    def __init__(
        self, connection: Connection, namespace: int, held: LockedNamespace, usage: UsageCounters
    ) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name
        self._sql = _statements(self._dialect)
        self._namespace = namespace
        self._held = held
        self.usage = usage

    def insert(
        self,
        claims: Sequence[Row],
        keys: Sequence[Sequence[KeyRow]] | None = None,
        crowded: Collection[KeyRow] = (),
        texts: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        """Add claims with their keys, but for those of these that are crowded.

        Args:
            claims: their rows.
            keys: of each; made from the rows where they are not at hand.
            crowded: keys that are shared by too many.
            texts: that are kept of them: the number of the claim, and the text, compressed.
        """
        if not claims:
            return
        if keys is None:
            keys = [stored_keys(self._held.plan, deletion_row(row)) for row in claims]
        first = self._held.first_slot
        key_rows = [
            (self._namespace, first + slot, key, row.id)
            for row, mine in zip(claims, keys, strict=True)
            for slot, key in mine
            if not crowded or (slot, key) not in crowded
        ]
        self._sql.insert_claims.rows(self._connection, list(map(_stored, claims)))
        self._sql.insert_keys.rows(self._connection, key_rows)
        self._insert_texts((row.id, 0, row.url, texts[row.id]) for row in claims if row.id in texts)
        self.usage.claims += len(claims)

    def rekey(self, plan: str, claims: Sequence[DeletionRow]) -> None:
        """Add keys of the next plan to claims that have those of the present one."""
        first = other_slot(self._held.first_slot)
        rows = [
            (self._namespace, first + slot, key, claim[0])
            for claim in claims
            for slot, key in stored_keys(plan, claim)
        ]
        self._sql.insert_keys.rows(self._connection, rows)

    def make_again(self, claims: Sequence[Row], confirmed: Answer | None) -> bool:
        """Make those claims again, given by their rows, that were to be confirmed and are gone.

        One that is gone was released by somebody who took this run for dead. What it stands for
        is stored all the same.

        Args:
            claims: their rows.
            confirmed: what :func:`ask_to_confirm` gave.

        Returns:
            whether there were such.
        """
        numbers = {row.id for row in claims}
        if confirmed is None or confirmed.changed == len(numbers):
            return False
        # A row that was confirmed before does not count as changed everywhere.
        present = standing(ask_standing(self._connection, self._namespace, numbers))
        gone = {row.id: row for row in claims if row.id not in present}
        self.insert([row._replace(state=CONFIRMED) for row in gone.values()])
        return bool(gone)

    def touch(self, claims: Sequence[Row], now: float) -> None:
        """Note that claims were met again by their own owner, and stand for that now."""
        if claims:
            names = ("id", "owner", "token", "visit", "generation", "fetch")
            rows = ({f"new_{name}": getattr(row, name) for name in names} for row in claims)
            self._sql.touch.ask(
                self._connection, [{"here": self._namespace, "now": now, **row} for row in rows]
            )

    def forget(self, claims: Sequence[DeletionRow], *, orphaned: bool) -> None:
        """Delete claims, their keys and texts.

        Args:
            claims: the columns :data:`DELETION_COLUMNS` of each.
            orphaned: what was dropped against them is covered by nothing any more; not so where
                they merely expire.
        """
        if not claims:
            return
        here = self._here(claim[0] for claim in claims)
        plans = [(self._held.first_slot, self._held.plan)]
        if self._held.next_plan is not None:
            plans.append((other_slot(self._held.first_slot), self._held.next_plan))
        of_slots: dict[int, set[int]] = defaultdict(set)
        for first, plan in plans:
            for claim in claims:
                for slot, key in stored_keys(plan, claim):
                    of_slots[first + slot].add(key)
        for slot, keys in of_slots.items():
            values = list_parameter(self._dialect, keys)
            self._sql.delete_keys.ask(self._connection, {**here, "at": slot, "values": values})
        deleted = self._sql.delete_claims.ask(self._connection, here)
        size = self._sql.size_of_own_texts.ask(self._connection, here)
        self._sql.delete_own_texts.ask(self._connection, here)
        if orphaned:
            self._sql.orphan.ask(self._connection, here)
        self.usage.claims -= deleted.changed
        self.usage.text_bytes -= int(size.rows[0][0])

    def forget_duplicates(self, duplicates: Sequence[tuple[int, int]]) -> None:
        """Delete duplicates, each given by its number and its claim, with their items and texts."""
        if not duplicates:
            return
        here = self._here(number for number, _ in duplicates)
        items = self._sql.size_of_items.rows(self._connection, here)
        texts = self._sql.size_of_their_texts.rows(self._connection, here)
        self.usage.item_bytes -= int(items[0][0])
        self.usage.text_bytes -= int(texts[0][0])
        self._sql.delete_text.ask(
            self._connection,
            [
                {"namespace": self._namespace, "claim": claim, "duplicate": number}
                for number, claim in duplicates
            ],
        )
        self._sql.delete_duplicates.ask(self._connection, here)

    def remember(
        self,
        duplicates: Sequence[tuple[Mapping[str, Any], bytes | None]],
        stand: Answer,
        *,
        retried: bool,
    ) -> None:
        """Keep duplicates, with the items that were dropped.

        Args:
            duplicates: rows of the table, and the text of each, compressed.
            stand: what :func:`ask_standing` gave of their claims.
            retried: an earlier attempt may have written them already.
        """
        if retried and duplicates:
            here = self._here(row["id"] for row, _ in duplicates)
            here["of_run"] = duplicates[0][0]["run"]
            written = {number for (number,) in self._sql.remembered.rows(self._connection, here)}
            duplicates = [(row, text) for row, text in duplicates if row["id"] not in written]
        if not duplicates:
            return
        alive = standing(stand)
        rows = [
            {
                **row,
                "url": None if row["url"] == row["key"] else row["url"],
                # The claim may have been released between the verdict and now.
                "orphaned": row["claim"] not in alive,
                "repeats": bool(row["digest"]) and alive.get(row["claim"]) == row["digest"],
                "item_bytes": len(row["item"] or b""),
                "site": share_of(row["url"]),
            }
            for row, _ in duplicates
        ]
        in_order = itemgetter(*schema.duplicates.columns.keys())
        self._sql.insert_duplicates.rows(self._connection, list(map(in_order, rows)))
        self._insert_texts(
            (row["claim"], row["id"], row["url"], text)
            for row, text in duplicates
            if text is not None
        )
        self.usage.item_bytes += sum(row["item_bytes"] for row in rows)

    def _insert_texts(self, texts: Iterable[tuple[int, int, str, bytes]]) -> None:
        """Keep compressed texts, but for too large ones, and enter them in the usage.

        Args:
            texts: the number of a claim; 0, or that of its duplicate; where that was found; and
                its text.
        """
        rows = [
            (self._namespace, claim, duplicate, text, len(text), share_of(url))
            for claim, duplicate, url, text in texts
            if len(text) <= self.usage.largest_text
        ]
        self._sql.insert_texts.rows(self._connection, rows)
        self.usage.text_bytes += sum(len(row[3]) for row in rows)

    def _here(self, numbers: Iterable[int]) -> dict[str, Any]:
        """The parameters of a statement on rows of this namespace."""
        return {"here": self._namespace, "numbers": list_parameter(self._dialect, numbers)}
