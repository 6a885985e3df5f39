"""Resets a namespace, and deletes what is old."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import (
    Connection,
    delete,
    exists,
    or_,
    select,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.index.queries import claims_where
from scrapy_simhash.index.writer import CHUNK, in_parts, writing


def reset_namespace(database: Database, name: str) -> None:
    """Delete a namespace with everything in it."""

    def reset(connection: Connection) -> None:
        number = connection.scalar(
            select(schema.namespaces.c.id).where(schema.namespaces.c.name == name)
        )
        if number is None:
            return
        lock(connection, number)
        for table in schema.metadata.sorted_tables:
            if "namespace" in table.c:
                connection.execute(delete(table).where(table.c.namespace == number))
        connection.execute(delete(schema.namespaces).where(schema.namespaces.c.id == number))

    database.transact(reset)


def expire_claims(index: Index, before: float) -> int:
    """Delete the claims not made or seen again since a time (epoch seconds); returns how many."""
    claim = schema.claims.c
    last: int | None = 0
    deleted = 0

    def expire(connection: Connection) -> tuple[int | None, int]:
        with writing(connection, index.id) as writer:
            rows = claims_where(connection, index.id, claim.id > last, limit=CHUNK)
            gone = [row for row in rows if row.created < before and row.seen < before]
            writer.delete(gone, orphaned=False)
        # Numbers grow with time: the first claim made since ends the search.
        is_end = len(rows) < CHUNK or rows[-1].created >= before
        return None if is_end else rows[-1].id, len(gone)

    while last is not None:
        last, count = index.database.transact(expire)
        deleted += count
    return deleted


def claims_at(index: Index, pattern: str) -> Sequence[int]:
    """The numbers of the stored items whose URLs fit a pattern; ``*`` stands for anything."""
    like = "%".join(re.sub("([%_/])", r"/\1", piece) for piece in pattern.split("*"))
    claim = schema.claims.c
    either = or_(*(one.like(like, escape="/") for one in (url_of(schema.claims), claim.key)))
    query = select(claim.id).where(claim.namespace == index.id, either)
    return index.database.read(lambda connection: connection.execute(query).scalars().all())


def forget_claims(index: Index, numbers: Sequence[int]) -> None:
    """Delete stored items, so that later crawls store them again."""

    def forget(part: Sequence[int], connection: Connection) -> None:
        with writing(connection, index.id) as writer:
            is_one = is_in(schema.claims.c.id, "numbers")
            rows = claims_where(connection, index.id, is_one, numbers=part)
            writer.delete(rows, orphaned=False)

    in_parts(index.database.transact, numbers, forget)


def delete_outdated(index: Index) -> None:
    """Delete the claims that this run has replaced, now that it has stored what replaces them.

    Claims that were found again meanwhile stay, and texts that an earlier change refers to.
    """
    outdated, noted = index.lookup.outdated, schema.changes.c
    if not outdated:
        return
    of_changes = select(noted.claim).where(noted.namespace == index.id, noted.claim > 0)
    kept = set(
        index.database.read(lambda connection: connection.execute(of_changes).scalars().all())
    )
    kept |= {number for number, claim in outdated.items() if claim.keeps_text}
    condition = is_in(schema.claims.c.id, "numbers")

    def delete_part(numbers: Sequence[int], connection: Connection) -> None:
        with writing(connection, index.id) as writer:
            rows = claims_where(connection, index.id, condition, numbers=numbers)
            gone = [row for row in rows if row.epoch == outdated[row.id].epoch]
            writer.delete([row for row in gone if row.id in kept], orphaned=False, texts=False)
            writer.delete([row for row in gone if row.id not in kept], orphaned=False)

    in_parts(index.database.transact, sorted(outdated), delete_part)
    outdated.clear()


def expire_duplicates(index: Index, before: float) -> int:
    """Delete the duplicates last dropped before a time, except orphans; returns how many."""
    row, run = schema.duplicates.c, schema.runs.c
    old = (
        select(row.id, row.claim)
        .where(row.namespace == index.id, row.created < before, ~is_orphan())
        .where(~exists().where(run.id == row.run, run.heartbeat >= before))
        .order_by(row.id)
        .limit(CHUNK)
    )

    def expire(connection: Connection) -> int:
        with writing(connection, index.id) as writer:
            duplicates = [(number, claim) for number, claim in connection.execute(old)]
            writer.delete_duplicates(duplicates)
        return len(duplicates)

    return sum(iter(lambda: index.database.transact(expire), 0))


def expire_changes(index: Index, before: float) -> None:
    """Delete what was noted before a time, and texts that were kept only to tell what changed."""
    row, text, claim = schema.changes.c, schema.texts.c, schema.claims.c
    here = row.namespace == index.id
    old = select(row.id).where(here, row.created < before).order_by(row.created).limit(CHUNK)
    noted = delete(schema.changes).where(here, is_in(row.id, "numbers"))

    def expire(connection: Connection) -> int:
        with writing(connection, index.id):
            numbers = connection.execute(old).scalars().all()
            connection.execute(noted, {"numbers": list(numbers)})
        return len(numbers)

    if not sum(iter(lambda: index.database.transact(expire), 0)):
        return
    # Once a claim is deleted, nothing new is compared with it.
    is_there = exists().where(claim.namespace == index.id, claim.id == text.claim)
    wanted = select(text.claim).where(
        text.namespace == index.id,
        text.duplicate == 0,
        ~is_there,
        text.claim.not_in(select(row.before).where(here)),
        text.claim.not_in(select(row.claim).where(here)),
    )
    found = index.database.read(lambda connection: connection.execute(wanted).scalars().all())

    def delete_texts(numbers: Sequence[int], connection: Connection) -> None:
        with writing(connection, index.id) as writer:
            writer.delete_texts(numbers)

    in_parts(index.database.transact, found, delete_texts)
