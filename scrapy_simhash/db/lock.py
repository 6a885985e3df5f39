"""The lock of a namespace: its own row, updated first by whoever writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement
from scrapy_simhash.exceptions import NamespaceGone

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

__all__ = ["ON_LOCK", "LockedNamespace", "ask_lock", "lock"]

#: The name under which a connection has whoever wants to know that others are waited for no more.
ON_LOCK = "simhash_on_lock"


class LockedNamespace(NamedTuple):
    """The row of a namespace whose lock is held.

    Attributes:
        numbers: those of the new claims.
        text_bytes: how much text is kept.
        item_bytes: how much is kept of dropped items.
        plan: the id of the keys.
        first_slot: the slot of the first of them.
        next_plan: the id of those that are being made, if any.
    """

    numbers: range
    text_bytes: int
    item_bytes: int
    plan: str
    first_slot: int
    next_plan: str | None

    @property
    def last(self) -> int:
        """The last number of a claim that is taken."""
        return self.numbers.stop - 1


_row = schema.namespaces.c
_held = (
    _row.counter,
    _row.text_bytes,
    _row.item_bytes,
    _row.plan,
    _row.first_slot,
    _row.next_plan,
)
_here = _row.id == bindparam("here")
_update = update(schema.namespaces).where(_here).values(counter=_row.counter + bindparam("more"))
_take = CompiledStatement(_update)
_take_and_read = CompiledStatement(_update.returning(*_held))
_read = CompiledStatement(select(*_held).where(_here))


def lock(connection: Connection, namespace: int, new_claims: int = 0) -> LockedNamespace:
    """Take the namespace's lock; with it come the numbers of `new_claims` new claims.

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
    # One more, so that the row changes in any case: some engines do not lock one that does not.
    parameters = {"here": namespace, "more": new_claims + 1}
    if connection.dialect.update_returning:
        answer = _take_and_read.ask(connection, parameters)
    else:
        _take.ask(connection, parameters)
        answer = _read.ask(connection, {"here": namespace})

    def wait() -> LockedNamespace:
        rows = answer.rows
        if note_lock := connection.info.get(ON_LOCK):
            note_lock()
        if not rows:
            raise NamespaceGone(f"namespace {namespace} is gone: it was reset by somebody else")
        (row,) = rows
        return LockedNamespace._make((range(row[0] - new_claims + 1, row[0] + 1), *row[1:]))

    return wait
