"""Writes claims with their keys and texts, and sightings, under a namespace's lock.

Texts and dropped items have a budget: the oldest make room for new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import LockedNamespace, Sizes, lock, record_sizes
from scrapy_simhash.db.statements import insert_rows, is_in
from scrapy_simhash.db.values import ComparedBy, State
from scrapy_simhash.index.batch import exact_key, slotted
from scrapy_simhash.index.queries import claims_of, is_old
from scrapy_simhash.index.seen import ABSENT, RELEASED, Visits
from scrapy_simhash.index.verdict import ClaimRow
from scrapy_simhash.keys.plan import load_keys
from scrapy_simhash.simhash.scheme import Sketch

if TYPE_CHECKING:
    T = TypeVar("T")

#: Rows of one transaction; other writers wait meanwhile.
CHUNK = 1000

# Rows that are read at once to make room.
_ROWS_AT_ONCE = 1024

# The share of a budget that is left once room was made, so that the next batches need not do it.
_LEFT_OF_BUDGET = 0.9

#: The columns of a sighting that tell of an item that is left out.
ITEM = ("action", "item", "item_type", "item_bytes")


def largest(budget: float) -> float:
    """The largest size of one item or text, in bytes: an eighth of the budget, at most 6 MiB.

    So no single one can displace all others, or be more than a server takes in a statement.
    """
    return min(budget / 8, 6 << 20)


def _rows_of(table: sa.Table, column: str = "id") -> tuple[sa.ColumnElement[bool], ...]:
    """The condition on a table's namespace, and on a column by a list of numbers."""
    return table.c.namespace == sa.bindparam("here"), is_in(table.c[column], "numbers")


_claims, _keys, _sightings, _texts = schema.claims, schema.keys, schema.sightings, schema.texts
_seen = _sightings.c

_present = sa.select(_claims.c.id).where(*_rows_of(_claims))
_confirm = sa.update(_claims).where(*_rows_of(_claims)).values(state=State.CONFIRMED)
_delete_claims = sa.delete(_claims).where(*_rows_of(_claims))
_extend = (
    sa.update(_claims)
    .where(_claims.c.namespace == sa.bindparam("here"), _claims.c.id == sa.bindparam("number"))
    .values(came_of=sa.bindparam("all"))
)
# A row with one of these keys and one of these claims belongs to that claim. Adding 0 makes the
# engine search by key, not by claim, which would read far more rows.
_delete_keys = sa.delete(_keys).where(
    _keys.c.namespace == sa.bindparam("here"),
    is_in(_keys.c.key, "values"),
    is_in(_keys.c.claim + sa.literal_column("0"), "numbers"),
)

_orphan = (
    sa.update(_sightings)
    .where(*_rows_of(_sightings, "claim"), _seen.id != _seen.claim)
    .values(orphaned=True)
)
_orphan_of_run = _orphan.where(_seen.run == sa.bindparam("of_run"))
# What it has shown stays known though its claim goes.
_digest = sa.select(_claims.c.digest).where(
    _claims.c.namespace == _seen.namespace, _claims.c.id == _seen.claim
)
_release = (
    sa.update(_sightings)
    .where(*_rows_of(_sightings))
    .values(
        status=RELEASED, meets=0, digest=sa.func.coalesce(_seen.digest, _digest.scalar_subquery())
    )
)
_delete_sightings = sa.delete(_sightings).where(*_rows_of(_sightings))
_delete_released = sa.delete(_sightings).where(
    *_rows_of(_sightings, "identity"),
    *(_seen.status == RELEASED, _seen.visit < sa.bindparam("visit")),
)
_leave_out = (
    sa.update(_sightings)
    .where(_seen.namespace == sa.bindparam("here"), _seen.id == sa.bindparam("number"))
    .values({name: sa.bindparam(f"new_{name}") for name in ITEM})
)
# Claims that no identity was shown last.
_unshown = sa.select(_claims.c.id).where(
    *_rows_of(_claims),
    ~sa.exists().where(
        _seen.namespace == _claims.c.namespace,
        _seen.claim == _claims.c.id,
        _seen.status.not_in((*ABSENT, RELEASED)),
        sa.or_(~is_old, is_in(_seen.run, "others")),
    ),
)


_sizes = sa.select(_texts.c.id, _texts.c.bytes).where(*_rows_of(_texts))
# Texts that neither a claim nor a sighting has any more, and of which no change tells.
_changed = _sightings.alias("changed").c
_unneeded = _sizes.where(
    _texts.c.id.not_in(
        sa.select(_changed.before).where(
            *(_changed.namespace == sa.bindparam("here"), _changed.status == "changed"),
            is_in(_changed.identity, "identities"),
        )
    ),
    *(
        ~sa.exists().where(table.c.namespace == _texts.c.namespace, table.c.id == _texts.c.id)
        for table in (_claims, _sightings)
    ),
)


def _oldest(size: sa.ColumnElement[int], *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The query for some of the oldest texts or items, each with its number and its bytes."""
    row = size.table.c
    here = row.namespace == sa.bindparam("here")
    return sa.select(row.id, size).where(here, *conditions).order_by(row.id).limit(_ROWS_AT_ONCE)


# As the index has it.
_has_item = _seen.item_bytes > sa.literal_column("0")
_drop_items = (
    sa.update(_sightings).where(*_rows_of(_sightings)).values(item=sa.null(), item_bytes=0)
)
_drop_texts = sa.delete(_texts).where(*_rows_of(_texts))
_TEXTS = _oldest(_texts.c.bytes), _drop_texts
# Items whose original is stored; those that may be stored nowhere, which go last.
_COPIES = _oldest(_seen.item_bytes, _has_item, ~_seen.orphaned), _drop_items
_ORPHANS = _oldest(_seen.item_bytes, _has_item, _seen.orphaned), _drop_items


def stored_keys(plan: str, claim: ClaimRow) -> list[int]:
    """The keys of a claim, computed from its row."""
    slots = load_keys(plan).slots
    if claim.compared_by == ComparedBy.EXACT:
        numbers = []
    elif claim.packed_keys is not None:
        numbers = np.frombuffer(claim.packed_keys, "<i4").tolist()
    else:
        sketch = Sketch(int.from_bytes(claim.fingerprint, "big"), 0, None)
        numbers = load_keys(plan).keys(sketch).tolist()
    keys = [slotted(min(place, slots), number) for place, number in enumerate(numbers)]
    return keys if claim.digest is None else [*keys, slotted(slots, exact_key(claim.digest))]


_URL = ClaimRow._fields.index("url")


def _stored(row: ClaimRow) -> tuple[Any, ...]:
    """A row as it is stored: see :func:`schema.url_of`."""
    return (*row[:_URL], None, *row[_URL + 1 :]) if row.url == row.key else row


class Writer:
    """Writes to one namespace in a transaction that holds its lock, and counts its usage.

    `budgets` are bytes of compressed texts, and of dropped items.

    Attributes:
        numbers: those reserved for new claims.
        plan: the id of the namespace's keys.
        evicted: what :meth:`record` removed to stay within the budgets, by the names of stats.
    """

    def __init__(
        self,
        connection: sa.Connection,
        namespace: int,
        held: LockedNamespace,
        budgets: tuple[float, float] = (np.inf, np.inf),
    ) -> None:
        self._connection, self._namespace, self._held = connection, namespace, held
        self.plan, self._budgets = held.plan, budgets
        self.numbers = held.numbers
        # Added so far, beyond what was foreseen; negative if more was removed.
        self.claims, self.text_bytes, self.item_bytes = (-size for size in held.foreseen)
        self.evicted: Counter[str] = Counter()
        self._new: list[tuple[sa.Table, Sequence[Sequence[Any]]]] = []

    def record(self) -> None:
        """Remove what exceeds the budgets, and record the sizes; call it last."""
        before, (texts, items) = self._held.sizes, self._budgets
        if (size := before.text_bytes + self.text_bytes) > texts:
            wanted = size - _LEFT_OF_BUDGET * texts
            self.text_bytes -= self._make_room("index/texts_pushed_out", *_TEXTS, wanted)
        if (size := before.item_bytes + self.item_bytes) > items:
            wanted = size - _LEFT_OF_BUDGET * items
            freed = self._make_room("quarantine/pushed_out", *_COPIES, wanted)
            freed += self._make_room("quarantine/orphans_pushed_out", *_ORPHANS, wanted - freed)
            self.evicted["quarantine/pushed_out"] += self.evicted["quarantine/orphans_pushed_out"]
            self.item_bytes -= freed
        sizes = Sizes(self.claims, self.text_bytes, self.item_bytes)
        record_sizes(self._connection, self._namespace, sizes)

    def _make_room(
        self, stat: str, oldest: sa.Select[Any], drop: sa.Executable, wanted: float
    ) -> int:
        """Remove the oldest until so many bytes are free; returns their bytes."""
        freed = 0
        while freed < wanted:
            rows = self._connection.execute(oldest, {"here": self._namespace}).all()
            gone: list[int] = []
            for number, size in rows:
                if freed < wanted:
                    gone.append(number)
                    freed += size
            if gone:
                self._ask(drop, gone)
            self.evicted[stat] += len(gone)
            if len(rows) < _ROWS_AT_ONCE:
                break
        return freed

    def insert(
        self,
        claims: Sequence[ClaimRow],
        keys: Sequence[Sequence[int]] | None = None,
        hot_keys: Collection[int] = (),
    ) -> None:
        """Add claims with their keys, by default those of their rows, but no hot ones.

        They are written by :meth:`store`, and so are texts.
        """
        if keys is None:
            keys = [stored_keys(self.plan, row) for row in claims]
        key_rows = [
            (self._namespace, key, row.id)
            for row, its_keys in zip(claims, keys, strict=True)
            for key in its_keys
            if key not in hot_keys
        ]
        self._new += (schema.claims, list(map(_stored, claims))), (schema.keys, key_rows)
        self.claims += len(claims)

    def store(self, sightings: Sequence[Sequence[Any]] = ()) -> None:
        """Write the claims and texts that were added, and sightings."""
        insert_rows(self._connection, [*self._new, (schema.sightings, sightings)])
        self._new.clear()

    def confirm(self, claims: Sequence[ClaimRow]) -> bool:
        """Confirm claims; those that are gone are made again. Returns whether there were any.

        Another process has declared this run dead and deleted them, but their items are stored.
        """
        numbers = {row.id for row in claims}
        if not numbers or self._ask(_confirm, numbers).rowcount == len(numbers):
            return False
        # Some engines do not count a row that was confirmed before as changed.
        present = {*self._ask(_present, numbers).scalars()}
        gone = {row.id: row for row in claims if row.id not in present}
        self.insert([row._replace(state=State.CONFIRMED) for row in gone.values()])
        self.store()
        return bool(gone)

    def extend(self, claim: ClaimRow, came_of: bytes) -> None:
        """Note what a claim came of, which now stands for what others have become."""
        here = {"here": self._namespace, "number": claim.id, "all": came_of}
        self._connection.execute(_extend, here)

    def delete_unshown(self, claims: Collection[int], visits: Visits) -> list[ClaimRow]:
        """Delete those of some claims that no identity was shown last, or in this visit.

        Returns them: what they said is kept.
        """
        now = {"visit": visits.visit, "others": list(visits.others)}
        gone = self._ask(_unshown, claims, **now).scalars().all() if claims else ()
        rows = claims_of(self._connection, self._namespace, gone) if gone else []
        self.delete(rows, orphaned=False, texts=False)
        return rows

    def delete(self, claims: Sequence[ClaimRow], *, orphaned: bool, texts: bool = True) -> None:
        """Delete claims, their keys and texts; mark their copies as orphaned if asked to."""
        if not claims:
            return
        ids = [claim.id for claim in claims]
        keys = {key for claim in claims for key in stored_keys(self.plan, claim)}
        self._ask(_delete_keys, ids, values=list(keys))
        self.claims -= self._ask(_delete_claims, ids).rowcount
        if texts:
            self.delete_texts(ids)
        if orphaned:
            self._ask(_orphan, ids)

    def delete_texts(self, numbers: Collection[int], unneeded_by: Collection[int] = ()) -> None:
        """Delete texts, given by their numbers.

        Given the identities that showed them, only those that no claim and no sighting has any
        more, and of which no change tells.
        """
        if not numbers:
            return
        query = _unneeded if unneeded_by else _sizes
        found = self._ask(query, numbers, identities=list(unneeded_by)).all()
        if found:
            self._ask(_drop_texts, [one.id for one in found])
            self.text_bytes -= sum(one.bytes for one in found)

    def delete_sightings(self, numbers: Sequence[int], item_bytes: int) -> None:
        """Delete sightings with their items, which take so many bytes."""
        if numbers:
            self._ask(_delete_sightings, numbers)
            self.item_bytes -= item_bytes

    def release(
        self, rows: Sequence[ClaimRow], claims: Collection[int], run: int, visit: int
    ) -> None:
        """Note at sightings, given by their rows, that their items were not stored after all.

        What a run has left out as copies of their old `claims` are orphans, then. A pipeline may
        refuse an item at each visit: that it did so before is forgotten.
        """
        if rows:
            self._ask(_release, [row.id for row in rows])
            self._ask(_delete_released, {row.identity for row in rows}, visit=visit)
        if claims:
            self._ask(_orphan_of_run, claims, of_run=run)

    def leave_out(self, items: Mapping[int, tuple[Any, ...]]) -> None:
        """Note what became of items that are left out, by their sightings: see `ITEM`."""
        if items:
            names = [f"new_{name}" for name in ITEM]
            rows = [
                {"here": self._namespace, "number": number, **dict(zip(names, one, strict=True))}
                for number, one in items.items()
            ]
            self._connection.execute(_leave_out, rows)
            self.item_bytes += sum(one[-1] for one in items.values())

    def add_texts(self, texts: Mapping[int, bytes]) -> None:
        """Add texts, given by their numbers."""
        rows = [(self._namespace, number, len(text), text) for number, text in texts.items()]
        self._new.append((_texts, rows))
        self.text_bytes += sum(map(len, texts.values()))

    def _ask(self, statement: sa.Executable, numbers: Collection[int], **more: Any) -> Any:
        """Execute a statement on rows of this namespace."""
        here = {"here": self._namespace, "numbers": list(numbers), **more}
        return self._connection.execute(statement, here)


def in_parts(
    transact: Callable[..., object],
    rows: Sequence[T],
    work: Callable[[Sequence[T], sa.Connection], None],
) -> None:
    """Work on rows, or their numbers, in several transactions: other writers wait for none long."""
    for start in range(0, len(rows), CHUNK):
        transact(partial(work, rows[start : start + CHUNK]))


@contextmanager
def writing(connection: sa.Connection, namespace: int) -> Iterator[Writer]:
    """Lock a namespace, and record the usage at the end; raises NamespaceGone."""
    writer = Writer(connection, namespace, lock(connection, namespace))
    yield writer
    writer.record()
