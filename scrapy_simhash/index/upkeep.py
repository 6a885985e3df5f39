"""Upkeep of a namespace: emptied, relieved of what is old, its keys made anew."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock, record_usage
from scrapy_simhash.index.budgets import UsageCounters
from scrapy_simhash.index.deletion import DELETION_COLUMNS, OTHER_SLOTS, other_slot
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.index.writer import Writer
from scrapy_simhash.keys.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.index.index import Index

__all__ = ["expire_claims", "expire_duplicates", "rebuild_keys", "reset_namespace"]

# Claims, or keys, that are seen to in one transaction: others wait meanwhile.
_CHUNK = 1000


def reset_namespace(database: Database, name: str) -> None:
    """Forget a namespace with everything in it.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """

    def reset(connection: Connection) -> None:
        number = connection.scalar(
            select(schema.namespaces.c.id).where(schema.namespaces.c.name == name)
        )
        if number is None:
            return
        lock(connection, number)
        tables = (schema.keys, schema.texts, schema.duplicates, schema.claims, schema.usage)
        for table in tables:
            connection.execute(delete(table).where(table.c.namespace == number))
        connection.execute(delete(schema.namespaces).where(schema.namespaces.c.id == number))

    database.transact(reset)


def expire_claims(index: Index, before: float) -> int:
    """Forget the claims that were neither made nor met again by their owner since then.

    Args:
        index: whose claims.
        before: seconds since the epoch.

    Returns:
        how many were forgotten.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """
    row = schema.claims.c
    position = 0
    forgotten = 0

    def expire(connection: Connection) -> tuple[int | None, int]:
        held = lock(connection, index.id)
        # Their numbers grow with time: the first one made since ends the search.
        rows = connection.execute(
            select(*(row[name] for name in DELETION_COLUMNS), row.created, row.seen)
            .where(row.namespace == index.id, row.id > position)
            .order_by(row.id)
            .limit(_CHUNK)
        ).all()
        old = [found for found in rows if found.created < before]
        usage = UsageCounters(connection, index.id, held)
        writer = Writer(connection, index.id, held, usage)
        gone = [tuple(found[: len(DELETION_COLUMNS)]) for found in old if found.seen < before]
        writer.forget(gone, orphaned=False)
        usage.record()
        return old[-1].id if old and len(old) == len(rows) else None, len(gone)

    while True:
        last, count = index.database.transact(expire, index.id)
        forgotten += count
        if last is None:
            return forgotten
        position = last


def expire_duplicates(index: Index, before: float) -> int:
    """Forget the duplicates that were dropped before then, with their items; orphans stay.

    Args:
        index: of the namespace.
        before: seconds since the epoch.

    Returns:
        how many were forgotten.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """
    row = schema.duplicates.c

    def expire(connection: Connection) -> int:
        held = lock(connection, index.id)
        found = connection.execute(
            select(row.id, row.claim)
            .where(row.namespace == index.id, row.created < before, ~is_orphan())
            .order_by(row.id)
            .limit(_CHUNK)
        ).all()
        usage = UsageCounters(connection, index.id, held)
        writer = Writer(connection, index.id, held, usage)
        writer.forget_duplicates([(number, claim) for number, claim in found])
        usage.record()
        return len(found)

    forgotten = 0
    while count := index.database.transact(expire, index.id):
        forgotten += count
    return forgotten


def rebuild_keys(
    index: Index,
    keys: Blocks | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Blocks:
    """Make the keys of a namespace with exact blocks anew, by another plan.

    Crawls may go on meanwhile: the old keys serve until the new ones are complete, and are then
    changed for them in one transaction. What was interrupted goes on where it stopped.

    Args:
        index: of the namespace.
        keys: the plan; by default the best for the index's distance and the present number of
            claims.
        progress: called with the number of claims that have new keys, and of all.

    Returns:
        the plan that the namespace has now.

    Raises:
        TypeError: the namespace has bands: these are made of texts, which are not kept for ever.
        ValueError: the plan takes too many lookups for the index's distance.
        IndexUnavailable: the database did not answer in time.
    """
    if not isinstance(index.lookup.keys, Blocks):
        raise TypeError(
            f"namespace {index.namespace!r} has {index.lookup.keys.id!r}, which are made of the "
            "texts: keys can be made anew where there are blocks, which are made of the "
            "fingerprints"
        )
    plan = keys or index.lookup.best_blocks(len(index))
    plan.flips(index.lookup.radius(plan))
    total = len(index)
    done = index.database.read(lambda connection: _made(connection, index.id, plan))
    is_complete = False
    while not is_complete:
        made, is_complete = index.database.transact(partial(_make, index.id, plan), index.id)
        done += made
        progress(done, total)
    while index.database.transact(partial(_clear, index.id), index.id):
        pass
    return plan


def _made(connection: Connection, namespace: int, plan: Blocks) -> int:
    """How many claims have keys of the plan already."""
    row, claims = schema.namespaces.c, schema.claims.c
    made = select(func.count()).where(
        row.id == namespace,
        row.next_plan == plan.id,
        claims.namespace == row.id,
        claims.id <= row.rebuilt,
    )
    return connection.scalar(made) or 0


def _make(namespace: int, plan: Blocks, connection: Connection) -> tuple[int, bool]:
    """Make some keys; how many claims got them, and whether the plan is now in force."""
    held = lock(connection, namespace)
    record_usage(connection, namespace, held)
    row = schema.namespaces.c
    if held.plan == plan.id and held.next_plan is None:
        return 0, True
    if held.next_plan != plan.id:
        # Of another plan that was given up there may be keys left.
        if _clear_slots(connection, namespace, other_slot(held.first_slot)):
            return 0, False
        last = 0
    else:
        last = connection.scalar(select(row.rebuilt).where(row.id == namespace)) or 0
    claims = schema.claims.c
    found = connection.execute(
        select(*(claims[name] for name in DELETION_COLUMNS))
        .where(claims.namespace == namespace, claims.id > last)
        .order_by(claims.id)
        .limit(_CHUNK)
    ).all()
    Writer(connection, namespace, held, UsageCounters(connection, namespace, held)).rekey(
        plan.id, [tuple(claim) for claim in found]
    )
    is_complete = len(found) < _CHUNK
    changed: dict[str, Any] = (
        {
            "plan": plan.id,
            "first_slot": other_slot(held.first_slot),
            "next_plan": None,
            "rebuilt": 0,
        }
        if is_complete
        else {"next_plan": plan.id, "rebuilt": found[-1].id}
    )
    connection.execute(update(schema.namespaces).where(row.id == namespace).values(changed))
    return len(found), is_complete


def _clear(namespace: int, connection: Connection) -> bool:
    """Delete some of the keys that are not in force any more; whether there may be more."""
    held = lock(connection, namespace)
    record_usage(connection, namespace, held)
    return _clear_slots(connection, namespace, other_slot(held.first_slot))


def _clear_slots(connection: Connection, namespace: int, first: int) -> bool:
    key = schema.keys.c
    rows = connection.execute(
        select(key.slot, key.key, key.claim)
        .where(key.namespace == namespace, key.slot >= first, key.slot < first + OTHER_SLOTS)
        .limit(_CHUNK)
    ).all()
    if rows:
        delete_keys = delete(schema.keys).where(
            *(column == bindparam(f"of_{column.name}") for column in schema.keys.primary_key)
        )
        connection.execute(
            delete_keys,
            [
                {"of_namespace": namespace, "of_slot": slot, "of_key": of_key, "of_claim": claim}
                for slot, of_key, claim in rows
            ],
        )
    return len(rows) == _CHUNK
