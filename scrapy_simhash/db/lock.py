"""The lock of a namespace, and what changes with each transaction: its numbers and its sizes.

The lock is the namespace's own row. Elsewhere than on PostgreSQL whoever writes updates it first,
and the row has the numbers as well: a cluster sees by its commit that two have changed it.

On PostgreSQL an update leaves the version before it behind, which can't go while anybody reads
what was there before: a report, a backup. The next one would have to pass all of them. So there
the row is locked, which changes it in place, and stays as it is; each transaction enters what the
namespace then holds in a row of its own, and the newest is found from the end of the index, where
nothing is dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement
from scrapy_simhash.exceptions import NamespaceGone

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Connection

__all__ = ["ON_LOCK", "LockedNamespace", "ask_lock", "current_usage", "lock", "record_usage"]

#: The name under which a connection has whoever wants to know that others are waited for no more.
ON_LOCK = "simhash_on_lock"

# Where the numbers pass a multiple of this, the rows before it are deleted.
_SPAN = 512


class LockedNamespace(NamedTuple):
    """The row of a namespace whose lock is held.

    Attributes:
        numbers: those of the new claims.
        size: how many claims it has.
        text_bytes: how much text is kept.
        item_bytes: how much is kept of dropped items.
        plan: the id of the keys.
        first_slot: the slot of the first of them.
        next_plan: the id of those that are being made, if any.
    """

    numbers: range
    size: int
    text_bytes: int
    item_bytes: int
    plan: str
    first_slot: int
    next_plan: str | None

    @property
    def last(self) -> int:
        """The last number of a claim that is taken."""
        return self.numbers.stop - 1


_row, _book = schema.namespaces.c, schema.usage.c
_ENTERED = ("counter", "size", "text_bytes", "item_bytes")
_held = (*(_row[name] for name in _ENTERED), _row.plan, _row.first_slot, _row.next_plan)
_here = _row.id == bindparam("here")
_update = update(schema.namespaces).where(_here).values(counter=_row.counter + bindparam("more"))
_take = CompiledStatement(_update)
_take_and_read = CompiledStatement(_update.returning(*_held))
_read = CompiledStatement(select(*_held).where(_here))
_hold = CompiledStatement(select(*_held).where(_here).with_for_update())
# The last of the index up to this namespace: it may be of another one. Where the rows of this one
# are asked for the planner, which has seen few of them once, reads and sorts all that there are. So
# it does, with whatever statement, where it has seen a single one: that plan must not be kept.
_newest = CompiledStatement(
    select(_book.namespace, *(_book[name] for name in _ENTERED))
    .where(_book.namespace <= bindparam("here"))
    .order_by(_book.namespace.desc(), _book.counter.desc())
    .limit(1),
    replans=True,
)
_add = CompiledStatement(
    update(schema.namespaces)
    .where(_here)
    .values({name: _row[name] + bindparam(f"more_{name}") for name in _ENTERED[1:]})
)
_enter = CompiledStatement(insert(schema.usage))
_delete_before = CompiledStatement(
    delete(schema.usage).where(
        _book.namespace == bindparam("here"),
        # From where it was deleted before: what is dead there is not passed again.
        _book.counter >= bindparam("start"),
        _book.counter < bindparam("stop"),
    )
)


def current_usage(name: str) -> ColumnElement[int]:
    """What a namespace holds by now, in a query of its row, on every engine.

    Args:
        name: "counter", "size", "text_bytes" or "item_bytes".
    """
    newest = (
        select(_book[name])
        .where(_book.namespace == _row.id)
        .order_by(_book.counter.desc())
        .limit(1)
        .scalar_subquery()
    )
    return func.coalesce(newest, _row[name])


def lock(connection: Connection, namespace: int, new_claims: int = 0) -> LockedNamespace:
    """Take the namespace's lock; with it come the numbers of `new_claims` new claims.

    Whoever has it calls :func:`enter` before it commits.

    Raises:
        NamespaceGone: there is no such namespace any more.
    """
    return ask_lock(connection, namespace, new_claims)()


def ask_lock(
    connection: Connection, namespace: int, new_claims: int = 0
) -> Callable[[], LockedNamespace]:
    """The same, but in a pipeline it is waited for by what this returns.

    What is asked behind it is done when the lock has been got.
    """
    here = {"here": namespace}
    # One more, so that the row changes in any case: some engines do not lock one that does not.
    more = new_claims + 1
    newest = None
    if _has_rows_of_its_own(connection):
        answer = _hold.ask(connection, here)
        # Not in one statement with the lock: that sees what was there before it had to wait.
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
            raise NamespaceGone(f"namespace {namespace} is gone: it was reset by somebody else")
        last, *others = rows[0]
        if newest is not None:
            for found, *entry in newest.rows:
                if found == namespace:
                    last, *others[: len(_ENTERED) - 1] = entry
            last += more
        return LockedNamespace._make((range(last - new_claims + 1, last + 1), *others))

    return wait


def record_usage(
    connection: Connection,
    namespace: int,
    held: LockedNamespace,
    *,
    size: int = 0,
    text_bytes: int = 0,
    item_bytes: int = 0,
) -> None:
    """Enter what a transaction that holds the lock changes, once, and though it were nothing.

    Others see by it that somebody got through, and no number of the lock's is given once more.

    Args:
        connection: in the transaction.
        namespace: its number.
        held: what came with the lock.
        size: claims that were added; negative if more were taken away.
        text_bytes: likewise.
        item_bytes: likewise.
    """
    if _has_rows_of_its_own(connection):
        totals = {
            "counter": held.last,
            "size": held.size + size,
            "text_bytes": held.text_bytes + text_bytes,
            "item_bytes": held.item_bytes + item_bytes,
        }
        _enter.ask(connection, {"namespace": namespace, **totals})
        before = held.last - len(held.numbers) - 1
        start, stop = before // _SPAN * _SPAN, held.last // _SPAN * _SPAN
        if start < stop:
            parameters = {"here": namespace, "start": start, "stop": stop}
            _delete_before.ask(connection, parameters)
    elif size or text_bytes or item_bytes:
        changes = {"size": size, "text_bytes": text_bytes, "item_bytes": item_bytes}
        added = {f"more_{name}": change for name, change in changes.items()}
        _add.ask(connection, {"here": namespace, **added})


def _has_rows_of_its_own(connection: Connection) -> bool:
    """Whether what a namespace holds stands in rows of their own, not in its row."""
    return connection.dialect.name == "postgresql"
