"""The lock of a namespace, and the counters that every transaction changes.

The lock is the row of the namespace. On all engines but PostgreSQL, a writer updates that row
first; the row also holds the counters, so a Galera cluster detects at commit that two nodes have
changed it.

On PostgreSQL an update leaves a dead row version, which can't be removed while a long transaction
(a report, a backup) is open, and each later update would have to skip all of them. There the row
is locked in place and never changed. Each transaction inserts its new counters as a row of its own
into `simhash_usage`; the newest one is at the end of the index, where nothing is dead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement
from scrapy_simhash.exceptions import NamespaceGone

#: The key in `Connection.info` of a function to call when the lock has been taken.
ON_LOCK = "simhash_on_lock"

# PostgreSQL analyzes the tables when the counter of a namespace passes one of these. Until then, or
# until its autovacuum has done so, it keeps plans for empty tables, which read whole tables.
_ANALYZED = (1 << 9, 1 << 12, 1 << 15)

# Old rows of `simhash_usage` are deleted when the counter passes a multiple of this.
_SPAN = 512


class LockedNamespace(NamedTuple):
    """The row of a namespace whose lock is held, with the numbers reserved for new claims."""

    numbers: range
    size: int
    text_bytes: int
    item_bytes: int
    plan: str

    @property
    def last(self) -> int:
        """The largest claim number in use."""
        return self.numbers.stop - 1


_row, _usage = schema.namespaces.c, schema.usage.c
_COUNTERS = ("counter", "size", "text_bytes", "item_bytes")
_held = (*(_row[name] for name in _COUNTERS), _row.plan)
_here = _row.id == sa.bindparam("here")
_update = (
    sa.update(schema.namespaces).where(_here).values(counter=_row.counter + sa.bindparam("more"))
)
_take = CompiledStatement(_update)
_take_and_read = CompiledStatement(_update.returning(*_held))
_read = CompiledStatement(sa.select(*_held).where(_here))
_hold = CompiledStatement(sa.select(*_held).where(_here).with_for_update())
# Newest row by index order; it may belong to a lower namespace. Filtering on namespace makes
# PostgreSQL cache a sequential-scan plan, so this statement is never prepared.
_newest = CompiledStatement(
    sa.select(_usage.namespace, *(_usage[name] for name in _COUNTERS))
    .where(_usage.namespace <= sa.bindparam("here"))
    .order_by(_usage.namespace.desc(), _usage.counter.desc())
    .limit(1),
    replans=True,
)
_add = CompiledStatement(
    sa.update(schema.namespaces)
    .where(_here)
    .values({name: _row[name] + sa.bindparam(f"more_{name}") for name in _COUNTERS[1:]})
)
_insert_usage = CompiledStatement(sa.insert(schema.usage))
_delete_usage = CompiledStatement(
    sa.delete(schema.usage).where(
        _usage.namespace == sa.bindparam("here"),
        # Starts where the last deletion stopped, to skip the dead rows before it.
        _usage.counter >= sa.bindparam("start"),
        _usage.counter < sa.bindparam("stop"),
    )
)
_tables = (schema.claims, schema.keys, schema.texts, schema.duplicates, schema.usage)
# What another process analyzes, or what belongs to another user, is skipped.
_analyze = CompiledStatement(
    sa.text(f"ANALYZE (SKIP_LOCKED) {', '.join(table.name for table in _tables)}")
)
# Large tables have statistics, and new ones would take long.
_is_small = CompiledStatement(
    sa.text(
        "SELECT 1 FROM pg_class WHERE oid = to_regclass('simhash_keys') AND reltuples < 1000000"
    )
)


def current_usage(name: str) -> sa.ColumnElement[int]:
    """A counter of a namespace, given by its column, for a query of its row on every engine."""
    newest = (
        sa.select(_usage[name])
        .where(_usage.namespace == _row.id)
        .order_by(_usage.counter.desc())
        .limit(1)
        .scalar_subquery()
    )
    return sa.func.coalesce(newest, _row[name])


def lock(connection: sa.Connection, namespace: int, new_claims: int = 0) -> LockedNamespace:
    """Lock a namespace and reserve numbers for new claims; raises NamespaceGone.

    The caller must call :func:`record_usage` before the commit.
    """
    return ask_lock(connection, namespace, new_claims)()


def ask_lock(
    connection: sa.Connection, namespace: int, new_claims: int = 0
) -> Callable[[], LockedNamespace]:
    """Like :func:`lock`, but in a pipeline the returned function waits for the answer.

    Statements sent in between are executed after the lock has been taken.
    """
    here = {"here": namespace}
    # One more, so that the row always changes: some engines do not lock an unchanged row.
    more = new_claims + 1
    newest = None
    if _has_usage_rows(connection):
        answer = _hold.ask(connection, here)
        # A separate statement: the one that waits for the lock sees the state before its wait.
        newest = _newest.ask(connection, here)
    elif connection.dialect.update_returning:
        answer = _take_and_read.ask(connection, {**here, "more": more})
    else:
        _take.ask(connection, {**here, "more": more})
        answer = _read.ask(connection, here)

    def wait() -> LockedNamespace:
        rows = answer.rows
        if note_lock := connection.info.get(ON_LOCK):
            note_lock()
        if not rows:
            raise NamespaceGone(f"namespace {namespace} was reset by another process")
        last, *others = rows[0]
        if newest is not None:
            for found, *counters in newest.rows:
                if found == namespace:
                    last, *others[: len(_COUNTERS) - 1] = counters
            last += more
        return LockedNamespace._make((range(last - new_claims + 1, last + 1), *others))

    return wait


def record_usage(
    connection: sa.Connection,
    namespace: int,
    held: LockedNamespace,
    *,
    size: int = 0,
    text_bytes: int = 0,
    item_bytes: int = 0,
) -> None:
    """Record what a transaction that holds the lock changes; must be called once, even for zero.

    It shows other processes that a transaction got through, and keeps numbers unique. The sizes
    are negative if more was removed than added.
    """
    more = dict(zip(_COUNTERS[1:], (size, text_bytes, item_bytes), strict=True))
    if _has_usage_rows(connection):
        totals = {name: getattr(held, name) + added for name, added in more.items()}
        _insert_usage.ask(connection, {"namespace": namespace, "counter": held.last, **totals})
        before = held.last - len(held.numbers) - 1
        start, stop = before // _SPAN * _SPAN, held.last // _SPAN * _SPAN
        if start < stop:
            _delete_usage.ask(connection, {"here": namespace, "start": start, "stop": stop})
        is_due = any(before < counter <= held.last for counter in _ANALYZED)
        if is_due and _is_small.ask(connection, {}).rows:
            _analyze.ask(connection, {})
    elif any(more.values()):
        added = {f"more_{name}": one for name, one in more.items()}
        _add.ask(connection, {"here": namespace, **added})


def _has_usage_rows(connection: sa.Connection) -> bool:
    return connection.dialect.name == "postgresql"
