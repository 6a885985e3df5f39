"""Resets a namespace, and deletes what is old."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import Connection, delete, exists, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.queries import claims_where, is_orphan
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


def expire(index: Index, before: float) -> tuple[int, int]:
    """Delete what no visit has met since a time; returns how many claims, and how many copies.

    Items that are restored as their originals were not stored stay.
    """
    row, run = schema.sightings.c, schema.runs.c
    later = schema.sightings.alias("later")
    is_met = exists().where(
        *(later.c.namespace == row.namespace, later.c.claim == row.claim),
        # A claim's own sighting stays as long as the claim.
        *(or_(later.c.identity == row.identity, row.id == row.claim), later.c.created >= before),
    )
    old = (
        select(row.id, row.claim, row.status, row.before)
        .where(row.namespace == index.id, row.created < before, ~is_met, ~is_orphan())
        .where(~exists().where(run.id == row.run, run.closed.is_(None), run.heartbeat >= before))
        .order_by(row.id)
        .limit(CHUNK)
    )
    claim = schema.claims.c
    has_later = exists().where(
        *(later.c.namespace == claim.namespace, later.c.claim == claim.id),
        later.c.created >= before,
    )
    is_one = is_in(claim.id, "numbers"), claim.created < before, ~has_later
    claims_deleted = copies_deleted = 0

    def delete_some(connection: Connection) -> tuple[int, int, int]:
        with writing(connection, index.id) as writer:
            found = connection.execute(old).all()
            numbers = [*{one.claim for one in found}]
            claims = claims_where(connection, index.id, *is_one, numbers=numbers)
            writer.delete(claims, orphaned=False)
            numbers = [one.id for one in found]
            writer.delete_texts(numbers)
            writer.delete_sightings(numbers, numbers)
            writer.delete_ownerless([one.before for one in found if one.status == "changed"])
        return len(found), len(claims), sum(one.status == "copy" for one in found)

    more = 1
    while more:
        more, claims, copies = index.database.transact(delete_some)
        claims_deleted, copies_deleted = claims_deleted + claims, copies_deleted + copies
    return claims_deleted, copies_deleted


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
