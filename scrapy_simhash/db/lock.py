"""The lock of a namespace: its row, which every writing transaction updates first.

The row also holds the counters, so the update that takes the lock reserves the numbers of new
claims, and adds to the sizes what is most likely stored. Whoever has read the namespace without the
lock sees by its counter whether anything was written since.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import NamespaceGone

#: The key in `Connection.info` of the :class:`Liveness` that the lock shows.
LIVENESS = "simhash_liveness"


@dataclass(slots=True)
class Liveness:
    """Shows that a database works. One thread writes, any thread reads."""

    #: When it last answered, or another transaction was seen to commit: :func:`time.monotonic`.
    last: float = float("-inf")

    def note(self) -> None:
        """The database works at this moment."""
        self.last = time.monotonic()


class Sizes(NamedTuple):
    """How many claims a namespace has, and the bytes of its texts and of its dropped items."""

    size: int = 0
    text_bytes: int = 0
    item_bytes: int = 0


NOTHING = Sizes()


class LockedNamespace(NamedTuple):
    """The row of a namespace whose lock is held, with the numbers reserved for new claims.

    `sizes` include the foreseen ones.
    """

    numbers: range
    plan: str
    sizes: Sizes
    foreseen: Sizes

    @property
    def counter(self) -> int:
        """The counter before the lock was taken."""
        return self.numbers.start - 2


_row = schema.namespaces.c
_held = (_row.counter, _row.plan, *(_row[name] for name in Sizes._fields))
_here = _row.id == sa.bindparam("here")
_more = {name: _row[name] + sa.bindparam(f"more_{name}") for name in Sizes._fields}
_take = (
    sa.update(schema.namespaces)
    .where(_here)
    .values(counter=_row.counter + sa.bindparam("more"), **_more)
)
_take_and_read = _take.returning(*_held)
_read = sa.select(*_held).where(_here)
_add = sa.update(schema.namespaces).where(_here).values(_more)


def first_number(counter: int) -> int:
    """The first number that a transaction gets if the counter was this before it."""
    return counter + 2


def lock(
    connection: sa.Connection, namespace: int, new_claims: int = 0, foreseen: Sizes = NOTHING
) -> LockedNamespace:
    """Lock a namespace, reserve numbers for new claims, add to its sizes; raises NamespaceGone."""
    here = {"here": namespace}
    # One more, so that the counter tells of every transaction: some engines do not even lock a row
    # that stays as it is.
    taken = {**here, "more": new_claims + 1, **_added(foreseen)}
    if connection.dialect.update_returning:
        row = connection.execute(_take_and_read, taken).one_or_none()
    else:
        connection.execute(_take, taken)
        row = connection.execute(_read, here).one_or_none()
    liveness: Liveness | None = connection.info.get(LIVENESS)
    if liveness is not None:
        liveness.note()
    if row is None:
        raise NamespaceGone(f"namespace {namespace} was reset by another process")
    last, plan, *sizes = row
    numbers = range(last - new_claims + 1, last + 1)
    return LockedNamespace(numbers, plan, Sizes(*sizes), foreseen)


def record_sizes(connection: sa.Connection, namespace: int, more: Sizes) -> None:
    """Add to the sizes of a namespace whose lock is held; negative if more was removed."""
    if any(more):
        connection.execute(_add, {"here": namespace, **_added(more)})


def _added(more: Sizes) -> dict[str, int]:
    return {f"more_{name}": number for name, number in more._asdict().items()}
