"""Writes claims with their keys and texts, and duplicates, under a namespace's lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import starmap
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import LockedNamespace, Sizes, lock, record_sizes
from scrapy_simhash.db.statements import insert_rows, is_in
from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.batch import KeyRow, exact_key
from scrapy_simhash.index.budgets import (
    ITEMS,
    TEXTS,
    drop_texts,
    excess,
    largest,
    make_room,
    size_of_texts,
)
from scrapy_simhash.index.verdict import TOUCHED, ClaimRow
from scrapy_simhash.keys.plan import load_keys
from scrapy_simhash.simhash.scheme import Sketch

#: Rows of one transaction; other writers wait meanwhile.
CHUNK = 1000

_load_keys = cache(load_keys)

# What makes a duplicate the same as one of an earlier visit, and what is updated then.
_CONTENT = ("identity", "claim", "digest", "text_digest", "facts")
_AGAIN = ("run", "action", "orphaned", "repeats", "distance", "similarity", "estimated")


def _rows_of(table: sa.Table, column: str = "id") -> tuple[sa.ColumnElement[bool], ...]:
    """The condition on a table's namespace, and on a column by a list of numbers."""
    return table.c.namespace == sa.bindparam("here"), is_in(table.c[column], "numbers")


def _row(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.namespace == sa.bindparam("here"), table.c.id == sa.bindparam("number")


def _new_values(names: Sequence[str]) -> dict[str, Any]:
    return {name: sa.bindparam(f"new_{name}") for name in names}


_claims, _keys = schema.claims, schema.keys
_duplicates = schema.duplicates

_present = sa.select(_claims.c.id, _claims.c.digest).where(*_rows_of(_claims))
_confirm = sa.update(_claims).where(*_rows_of(_claims)).values(state=State.CONFIRMED)
_delete_claims = sa.delete(_claims).where(*_rows_of(_claims))
_touch = (
    sa.update(_claims)
    .where(*_row(_claims))
    .values(seen=sa.bindparam("now"), **_new_values(TOUCHED))
)
_meet = sa.update(_claims).where(*_rows_of(_claims)).values(last_run=sa.bindparam("new_last_run"))
_restore = (
    sa.update(_claims)
    # Unless the item was met once more.
    .where(*_row(_claims), _claims.c.token == sa.bindparam("of_token"))
    .values(_new_values(TOUCHED))
)
# A key row with one of these keys and one of these claims belongs to that claim. Adding 0 makes the
# engine search by key, not by claim, which would read far more rows.
_delete_keys = sa.delete(_keys).where(
    _keys.c.namespace == sa.bindparam("here"),
    _keys.c.slot == sa.bindparam("at"),
    is_in(_keys.c.key, "values"),
    is_in(_keys.c.claim + sa.literal_column("0"), "numbers"),
)

_of_claims = _rows_of(_duplicates, "claim")
_orphan = sa.update(_duplicates).where(*_of_claims).values(orphaned=True)
_orphan_since = (
    sa.update(_duplicates)
    .where(*_of_claims, _duplicates.c.run >= sa.bindparam("since"))
    .values(orphaned=True)
)
_known = sa.select(
    _duplicates.c.id,
    _duplicates.c.run,
    _duplicates.c.item_bytes,
    *(_duplicates.c[name] for name in _CONTENT),
).where(*_rows_of(_duplicates, "identity"))
_record_again = sa.update(_duplicates).where(*_row(_duplicates)).values(_new_values(_AGAIN))
_delete_duplicates = sa.delete(_duplicates).where(*_rows_of(_duplicates))
_size_of_items = sa.select(sa.func.coalesce(sa.func.sum(_duplicates.c.item_bytes), 0)).where(
    *_rows_of(_duplicates)
)


def stored_keys(plan: str, claim: ClaimRow) -> list[KeyRow]:
    """The keys of a claim, computed from its row."""
    slots = _load_keys(plan).slots
    if claim.compared_by == ComparedBy.EXACT:
        return [KeyRow(slots, exact_key(claim.fingerprint))]
    if claim.packed_keys is not None:
        numbers = np.frombuffer(claim.packed_keys, "<i4").tolist()
    else:
        sketch = Sketch(int.from_bytes(claim.fingerprint, "big"), 0, None)
        numbers = _load_keys(plan).keys(sketch).tolist()
    keys = list(starmap(KeyRow, enumerate(numbers)))
    return keys if claim.digest is None else [*keys, KeyRow(slots, exact_key(claim.digest))]


_URL = ClaimRow._fields.index("url")
_in_order = itemgetter(*schema.duplicates.columns.keys())


def _stored(row: ClaimRow) -> tuple[Any, ...]:
    """A row as it is stored: see :func:`schema.url_of`."""
    return (*row[:_URL], None, *row[_URL + 1 :]) if row.url == row.key else row


def _new(row: ClaimRow | Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The parameters for new values of columns."""
    values = row._asdict() if isinstance(row, ClaimRow) else row
    return {f"new_{name}": values[name] for name in names}


class Writer:
    """Writes to one namespace in a transaction that holds its lock, and counts its usage.

    `budgets` are bytes of compressed texts, and of dropped items.

    Attributes:
        numbers: those reserved for new claims.
        largest_text: bytes of the largest text that is stored.
        evicted: numbers of texts, dropped items, and orphans among the latter, that :meth:`record`
            removed to stay within the budgets.
    """

    def __init__(
        self,
        connection: sa.Connection,
        namespace: int,
        held: LockedNamespace,
        budgets: tuple[float, float] = (np.inf, np.inf),
    ) -> None:
        self._connection, self._namespace, self._held = connection, namespace, held
        self._plan, self._budgets = held.plan, budgets
        self.numbers = held.numbers
        self.largest_text = largest(budgets[0])
        # Added so far, beyond what was foreseen; negative if more was removed.
        self.claims, self.text_bytes, self.item_bytes = (-size for size in held.foreseen)
        self._texts: list[tuple[Any, ...]] = []
        self.evicted = {"texts": 0, "items": 0, "orphans": 0}

    def record(self) -> None:
        """Store the texts, remove what exceeds the budgets, record the sizes; call it last."""
        here = self._connection, self._namespace
        insert_rows(self._connection, schema.texts, self._texts)
        before = self._held.sizes
        wanted = excess(before.text_bytes + self.text_bytes, self._budgets[0])
        self.evicted["texts"], freed = make_room(*here, TEXTS, wanted)
        self.text_bytes -= freed
        wanted = excess(before.item_bytes + self.item_bytes, self._budgets[1])
        for kept in ITEMS:
            removed, freed = make_room(*here, kept, wanted)
            wanted -= freed
            self.item_bytes -= freed
            self.evicted["items"] += removed
            self.evicted["orphans"] = removed
        record_sizes(*here, Sizes(self.claims, self.text_bytes, self.item_bytes))

    def insert(
        self,
        claims: Sequence[ClaimRow],
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
            keys = [stored_keys(self._plan, row) for row in claims]
        key_rows = [
            (self._namespace, slot, key, row.id)
            for row, its_keys in zip(claims, keys, strict=True)
            for slot, key in its_keys
            if not hot_keys or (slot, key) not in hot_keys
        ]
        insert_rows(self._connection, schema.claims, list(map(_stored, claims)))
        insert_rows(self._connection, schema.keys, key_rows)
        self._add_texts((row.id, 0, texts[row.id]) for row in claims if row.id in texts)
        self.claims += len(claims)

    def confirm(self, claims: Sequence[ClaimRow]) -> bool:
        """Confirm claims; those that are gone are made again. Returns whether there were any.

        Another process has declared this run dead and deleted them, but their items are stored.
        """
        numbers = {row.id for row in claims}
        if not numbers or self._ask(_confirm, numbers).rowcount == len(numbers):
            return False
        # Some engines do not count a row that was confirmed before as changed.
        present = {number for number, _ in self._ask(_present, numbers)}
        gone = {row.id: row for row in claims if row.id not in present}
        self.insert([row._replace(state=State.CONFIRMED) for row in gone.values()])
        return bool(gone)

    def touch(self, claims: Sequence[ClaimRow], now: float) -> None:
        """Note that claims were seen again, and now belong to the document in their row."""
        here = {"here": self._namespace, "now": now}
        if claims:
            rows = [{**here, "number": row.id, **_new(row, TOUCHED)} for row in claims]
            self._connection.execute(_touch, rows)

    def meet(self, claims: Collection[int], run: int) -> None:
        """Note that a run has met items, though it has not stored them."""
        if claims:
            self._ask(_meet, claims, new_last_run=run)

    def restore(self, claim: ClaimRow, before: ClaimRow) -> None:
        """Restore the claim of an unchanged item that was not stored this time.

        Its duplicates of this visit are orphaned.
        """
        here = {"here": self._namespace, "number": claim.id, "of_token": claim.token}
        # It was met, though it is not stored.
        row = _new(before._replace(last_run=claim.last_run), TOUCHED)
        self._connection.execute(_restore, {**here, **row})
        self._ask(_orphan_since, [claim.id], since=claim.epoch)

    def delete(self, claims: Sequence[ClaimRow], *, orphaned: bool, texts: bool = True) -> None:
        """Delete claims, their keys and texts; mark their duplicates as orphaned if asked to."""
        if not claims:
            return
        ids = [claim.id for claim in claims]
        of_slots: dict[int, set[int]] = defaultdict(set)
        for claim in claims:
            for slot, key in stored_keys(self._plan, claim):
                of_slots[slot].add(key)
        for slot, keys in of_slots.items():
            self._ask(_delete_keys, ids, at=slot, values=list(keys))
        self.claims -= self._ask(_delete_claims, ids).rowcount
        if texts:
            self.delete_texts(ids)
        if orphaned:
            self._ask(_orphan, ids)

    def delete_texts(self, claims: Collection[int], duplicates: Collection[int] = (0,)) -> None:
        """Delete the own texts of claims, or those of their duplicates."""
        of_claims = {"claims": list(claims)}
        self.text_bytes -= int(self._ask(size_of_texts, duplicates, **of_claims).scalar_one())
        self._ask(drop_texts, duplicates, **of_claims)

    def delete_duplicates(self, duplicates: Sequence[tuple[int, int]]) -> None:
        """Delete duplicates, given by number and claim, with their items and texts."""
        if not duplicates:
            return
        numbers, claims = map(set, zip(*duplicates, strict=True))
        self.item_bytes -= int(self._ask(_size_of_items, numbers).scalar_one())
        self.delete_texts(claims, numbers)
        self._ask(_delete_duplicates, numbers)

    def record_duplicates(
        self, duplicates: Sequence[tuple[Mapping[str, Any], bytes | None]]
    ) -> None:
        """Store duplicates, given by row and compressed text, with the items that were dropped.

        One that an earlier visit recorded with the same content is moved to this run.
        """
        if not duplicates:
            return
        claims, identities = (
            {row[name] for row, _ in duplicates} for name in ("claim", "identity")
        )
        digests = dict(self._ask(_present, claims).all())
        known = self._ask(_known, identities).all()
        before = {tuple(row[3:]): row[:3] for row in known}
        again, rows, texts = [], [], []
        for given, text in duplicates:
            row = {
                **given,
                # The claim may have been released since the verdict.
                "orphaned": given["claim"] not in digests,
                "repeats": bool(given["digest"]) and digests.get(given["claim"]) == given["digest"],
            }
            content = tuple(row[name] for name in _CONTENT)
            number, run, size = before.get(content, (0, row["run"], 0))
            # Its item may have been pushed out of the quarantine.
            if run != row["run"] and size >= row["item_bytes"]:
                again.append({"here": self._namespace, "number": number, **_new(row, _AGAIN)})
                continue
            rows.append(_in_order(row))
            self.item_bytes += row["item_bytes"]
            if text is not None:
                texts.append((row["claim"], row["id"], text))
        if again:
            self._connection.execute(_record_again, again)
        insert_rows(self._connection, schema.duplicates, rows)
        self._add_texts(texts)

    def _add_texts(self, texts: Iterable[tuple[int, int, bytes]]) -> None:
        """Have texts stored, except large ones, given by claim, duplicate (or 0) and text."""
        for claim, duplicate, text in texts:
            if len(text) <= self.largest_text:
                self._texts.append((self._namespace, claim, duplicate, len(text), text))
                self.text_bytes += len(text)

    def _ask(self, statement: sa.Executable, numbers: Collection[int], **more: Any) -> Any:
        """Execute a statement on rows of this namespace."""
        here = {"here": self._namespace, "numbers": list(numbers), **more}
        return self._connection.execute(statement, here)


def in_parts(
    transact: Callable[..., object],
    numbers: Sequence[int],
    work: Callable[[Sequence[int], sa.Connection], None],
) -> None:
    """Work on numbers of rows in several transactions, so that other writers wait for none long."""
    for start in range(0, len(numbers), CHUNK):
        transact(partial(work, numbers[start : start + CHUNK]))


@contextmanager
def writing(connection: sa.Connection, namespace: int) -> Iterator[Writer]:
    """Lock a namespace, and record the usage at the end; raises NamespaceGone."""
    writer = Writer(connection, namespace, lock(connection, namespace))
    yield writer
    writer.record()
