"""Writes claims with their keys and texts, and duplicates, under a namespace's lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import starmap
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import LockedNamespace, lock
from scrapy_simhash.db.pipeline import Answer
from scrapy_simhash.db.schema import CONFIRMED, EXACT
from scrapy_simhash.db.statements import CompiledStatement, Insertion, is_in, list_parameter
from scrapy_simhash.index.batch import KeyRow, exact_key, share_of
from scrapy_simhash.index.budgets import UsageCounters
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.keys.plan import load_keys
from scrapy_simhash.simhash.scheme import Sketch

#: The columns needed to delete a claim with its keys.
DELETION_COLUMNS = ("id", "packed_keys", "fingerprint", "compared_by", "digest")
DeletionRow = tuple[int, bytes | None, bytes, int, bytes | None]

deletion_row: itemgetter[Any] = itemgetter(*map(Row._fields.index, DELETION_COLUMNS))
_load_keys = cache(load_keys)


def stored_keys(plan: str, claim: DeletionRow) -> list[KeyRow]:
    """The keys of a claim, computed from its row."""
    _, packed, fingerprint, compared_by, digest = claim
    slots = _load_keys(plan).slots
    if compared_by == EXACT:
        return [KeyRow(slots, exact_key(fingerprint))]
    if packed is not None:
        numbers = np.frombuffer(packed, "<i4").tolist()
    else:
        sketch = Sketch(int.from_bytes(fingerprint, "big"), 0, None)
        numbers = _load_keys(plan).keys(sketch).tolist()
    keys = list(starmap(KeyRow, enumerate(numbers)))
    return keys if digest is None else [*keys, KeyRow(slots, exact_key(digest))]


class _Statements:
    """The compiled statements for a dialect."""

    def __init__(self, dialect: str) -> None:
        def here(table: Table, column: str) -> tuple[ColumnElement[bool], ...]:
            return (
                table.c.namespace == bindparam("here"),
                is_in(dialect, table.c[column], "numbers"),
            )

        claims, duplicates, texts = schema.claims, schema.duplicates, schema.texts
        compiled = CompiledStatement
        my_claims, my_duplicates = here(claims, "id"), here(duplicates, "id")
        self.present = compiled(select(claims.c.id, claims.c.digest).where(*my_claims))
        self.confirm = compiled(update(claims).where(*my_claims).values(state=CONFIRMED))
        self.delete_claims = compiled(delete(claims).where(*my_claims))
        self.touch = compiled(
            update(claims)
            .where(claims.c.namespace == bindparam("here"), claims.c.id == bindparam("new_id"))
            .values(seen=bindparam("now"), **{name: bindparam(f"new_{name}") for name in _TOUCHED})
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
        self.orphan = compiled(
            update(duplicates).where(*here(duplicates, "claim")).values(orphaned=True)
        )
        self.recorded = compiled(
            select(duplicates.c.id).where(*my_duplicates, duplicates.c.run == bindparam("of_run"))
        )
        self.delete_duplicates = compiled(delete(duplicates).where(*my_duplicates))
        own_texts = (*here(texts, "claim"), texts.c.duplicate == 0)
        self.size_of_own_texts = compiled(_total(texts.c.text).where(*own_texts))
        self.delete_own_texts = compiled(delete(texts).where(*own_texts))
        self.size_of_items = compiled(_total(duplicates.c.item).where(*my_duplicates))
        self.size_of_their_texts = compiled(
            _total(texts.c.text).where(
                *my_duplicates,
                texts.c.namespace == duplicates.c.namespace,
                texts.c.claim == duplicates.c.claim,
                texts.c.duplicate == duplicates.c.id,
            )
        )
        by_key = (column == bindparam(column.name) for column in texts.primary_key)
        self.delete_text = compiled(delete(texts).where(*by_key))
        self.insert_claims, self.insert_keys, self.insert_duplicates, self.insert_texts = (
            Insertion(dialect, table) for table in (claims, schema.keys, duplicates, texts)
        )


def _total(column: Any) -> Any:
    return select(func.coalesce(func.sum(func.length(column)), 0))


_TOUCHED = ("identity", "token", "visit", "epoch", "listing")
_statements = cache(_Statements)
_URL = Row._fields.index("url")


def _stored(row: Row) -> tuple[Any, ...]:
    """A row as it is stored: see :func:`schema.url_of`."""
    return (*row[:_URL], None, *row[_URL + 1 :]) if row.url == row.key else row


def ask_to_confirm(connection: Connection, namespace: int, claims: Sequence[Row]) -> Answer | None:
    """Confirm claims; the answer is for :meth:`Writer.make_again`."""
    if not claims:
        return None
    dialect = connection.dialect.name
    numbers = list_parameter(dialect, {row.id for row in claims})
    return _statements(dialect).confirm.ask(connection, {"here": namespace, "numbers": numbers})


def ask_present(connection: Connection, namespace: int, claims: Iterable[int]) -> Answer:
    """Ask which of some claims exist, with their digests."""
    dialect = connection.dialect.name
    parameters = {"here": namespace, "numbers": list_parameter(dialect, claims)}
    return _statements(dialect).present.ask(connection, parameters)


def _digests(present: Answer) -> dict[int, bytes | None]:
    """The answer to :func:`ask_present`."""
    return {number: None if digest is None else bytes(digest) for number, digest in present.rows}


class Writer:
    """Writes to one namespace in a transaction that holds its lock, and counts its usage.

    `numbers` are those reserved for new claims; `budgets` are those of :class:`UsageCounters`.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: int,
        held: LockedNamespace,
        budgets: tuple[float, float] = (np.inf, np.inf),
    ) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name
        self._sql = _statements(self._dialect)
        self._namespace = namespace
        self._plan = held.plan
        self.numbers = held.numbers
        self.usage = UsageCounters(connection, namespace, held, *budgets)

    def insert(
        self,
        claims: Sequence[Row],
        keys: Sequence[Sequence[KeyRow]] | None = None,
        hot_keys: Collection[KeyRow] = (),
        texts: Mapping[int, bytes] = MappingProxyType({}),
    ) -> None:
        """Add claims with their keys, except hot ones, and compressed texts by claim number.

        By default the keys are computed from the rows.
        """
        if not claims:
            return
        if keys is None:
            keys = [stored_keys(self._plan, deletion_row(row)) for row in claims]
        key_rows = [
            (self._namespace, slot, key, row.id)
            for row, mine in zip(claims, keys, strict=True)
            for slot, key in mine
            if not hot_keys or (slot, key) not in hot_keys
        ]
        self._sql.insert_claims.rows(self._connection, list(map(_stored, claims)))
        self._sql.insert_keys.rows(self._connection, key_rows)
        self._insert_texts(
            (row.id, 0, share_of(row.url), texts[row.id]) for row in claims if row.id in texts
        )
        self.usage.claims += len(claims)

    def make_again(self, claims: Sequence[Row], confirmed: Answer | None) -> bool:
        """Make the claims again that could not be confirmed because they are deleted.

        Another process has declared this run dead and released them, but their items are stored.
        `confirmed` is the answer to :func:`ask_to_confirm`. Returns whether there were any.
        """
        numbers = {row.id for row in claims}
        if confirmed is None or confirmed.changed == len(numbers):
            return False
        # Some engines do not count a row that was confirmed before as changed.
        present = _digests(ask_present(self._connection, self._namespace, numbers))
        gone = {row.id: row for row in claims if row.id not in present}
        self.insert([row._replace(state=CONFIRMED) for row in gone.values()])
        return bool(gone)

    def touch(self, claims: Sequence[Row], now: float) -> None:
        """Note that claims were seen again, and now belong to the document in their row."""
        if claims:
            rows = ({f"new_{name}": getattr(row, name) for name in _TOUCHED} for row in claims)
            self._sql.touch.ask(
                self._connection,
                [
                    {"here": self._namespace, "now": now, "new_id": claim.id, **row}
                    for claim, row in zip(claims, rows, strict=True)
                ],
            )

    def delete(self, claims: Sequence[DeletionRow], *, orphaned: bool) -> None:
        """Delete claims, their keys and texts; mark their duplicates as orphaned if asked to."""
        if not claims:
            return
        here = self._here(claim[0] for claim in claims)
        of_slots: dict[int, set[int]] = defaultdict(set)
        for claim in claims:
            for slot, key in stored_keys(self._plan, claim):
                of_slots[slot].add(key)
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

    def delete_duplicates(self, duplicates: Sequence[tuple[int, int]]) -> None:
        """Delete duplicates, given by number and claim, with their items and texts."""
        if not duplicates:
            return
        here = self._here(number for number, _ in duplicates)
        items = self._sql.size_of_items.ask(self._connection, here).rows
        texts = self._sql.size_of_their_texts.ask(self._connection, here).rows
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

    def record_duplicates(
        self,
        duplicates: Sequence[tuple[Mapping[str, Any], bytes | None]],
        present: Answer,
        *,
        retried: bool,
    ) -> None:
        """Store duplicates, given by row and compressed text, with the items that were dropped.

        `present` is the answer to :func:`ask_present` for their claims; if `retried`, an earlier
        attempt may have written some.
        """
        if retried and duplicates:
            here = self._here(row["id"] for row, _ in duplicates)
            here["of_run"] = duplicates[0][0]["run"]
            written = {number for (number,) in self._sql.recorded.ask(self._connection, here).rows}
            duplicates = [(row, text) for row, text in duplicates if row["id"] not in written]
        if not duplicates:
            return
        digests = _digests(present)
        rows = [
            {
                **row,
                # The claim may have been released since the verdict.
                "orphaned": row["claim"] not in digests,
                "repeats": bool(row["digest"]) and digests.get(row["claim"]) == row["digest"],
            }
            for row, _ in duplicates
        ]
        in_order = itemgetter(*schema.duplicates.columns.keys())
        self._sql.insert_duplicates.rows(self._connection, list(map(in_order, rows)))
        self._insert_texts(
            (row["claim"], row["id"], row["site"], text)
            for row, text in duplicates
            if text is not None
        )
        self.usage.item_bytes += sum(row["item_bytes"] for row in rows)

    def _insert_texts(self, texts: Iterable[tuple[int, int, int, bytes]]) -> None:
        """Store texts, except large ones, given by claim, duplicate (or 0), site and text."""
        rows = [
            (self._namespace, claim, duplicate, text, len(text), site)
            for claim, duplicate, site, text in texts
            if len(text) <= self.usage.largest_text
        ]
        self._sql.insert_texts.rows(self._connection, rows)
        self.usage.text_bytes += sum(len(row[3]) for row in rows)

    def _here(self, numbers: Iterable[int]) -> dict[str, Any]:
        """The parameters of a statement on rows of this namespace."""
        return {"here": self._namespace, "numbers": list_parameter(self._dialect, numbers)}


@contextmanager
def writing(connection: Connection, namespace: int) -> Iterator[Writer]:
    """Lock a namespace, and record the usage at the end.

    Raises:
        NamespaceGone: the namespace does not exist any more.
    """
    writer = Writer(connection, namespace, lock(connection, namespace))
    yield writer
    writer.usage.record()
