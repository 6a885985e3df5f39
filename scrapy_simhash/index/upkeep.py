"""Resets a namespace, and deletes what is old."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.index.writer import DELETION_COLUMNS, writing

# Rows read in one transaction; other writers wait meanwhile.
_CHUNK = 1000


def reset_namespace(database: Database, name: str) -> None:
    """Delete a namespace with everything in it.

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
        for table in (
            schema.keys,
            schema.texts,
            schema.duplicates,
            schema.claims,
            schema.usage,
            schema.learned,
        ):
            connection.execute(delete(table).where(table.c.namespace == number))
        connection.execute(delete(schema.namespaces).where(schema.namespaces.c.id == number))

    database.transact(reset)


def forget_learned(database: Database, namespace: int) -> None:
    """Forget the learned fields of a namespace, given by its number; all are compared again.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """

    def forget(connection: Connection) -> None:
        with writing(connection, namespace) as writer:
            # Crawls that run now read the rows that were changed.
            number = writer.numbers.stop - 1
            nothing = {"differed": 0, "agreed": 0, "examples": "[]", "since": None}
            row = schema.learned
            connection.execute(
                update(row).where(row.c.namespace == namespace).values(**nothing, changed=number)
            )

    database.transact(forget)


def expire_claims(index: Index, before: float) -> int:
    """Delete the claims not made or seen again since a time (epoch seconds); returns how many.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """
    row = schema.claims.c
    position = 0
    deleted = 0

    def expire(connection: Connection) -> tuple[int | None, int]:
        with writing(connection, index.id) as writer:
            # Numbers grow with time: the first claim made since ends the search.
            rows = connection.execute(
                select(*(row[name] for name in DELETION_COLUMNS), row.created, row.seen)
                .where(row.namespace == index.id, row.id > position)
                .order_by(row.id)
                .limit(_CHUNK)
            ).all()
            old = [found for found in rows if found.created < before]
            gone = [tuple(found[: len(DELETION_COLUMNS)]) for found in old if found.seen < before]
            writer.delete(gone, orphaned=False)
        return old[-1].id if old and len(old) == len(rows) else None, len(gone)

    while True:
        last, count = index.database.transact(expire, index.id)
        deleted += count
        if last is None:
            return deleted
        position = last


def expire_duplicates(index: Index, before: float) -> int:
    """Delete the duplicates dropped before a time, except orphans; returns how many.

    Raises:
        IndexUnavailable: the database did not answer in time.
    """
    row = schema.duplicates.c

    def expire(connection: Connection) -> int:
        with writing(connection, index.id) as writer:
            found = connection.execute(
                select(row.id, row.claim)
                .where(row.namespace == index.id, row.created < before, ~is_orphan())
                .order_by(row.id)
                .limit(_CHUNK)
            ).all()
            writer.delete_duplicates([(number, claim) for number, claim in found])
        return len(found)

    deleted = 0
    while count := index.database.transact(expire, index.id):
        deleted += count
    return deleted
