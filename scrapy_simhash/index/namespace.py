"""The row of a namespace: found, or made by the first who comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database

__all__ = ["OpenNamespace", "open_namespace"]


class OpenNamespace(NamedTuple):
    """What a namespace was made with.

    Attributes:
        id: its number.
        plan: the id of the keys in force.
        first_slot: where these begin.
    """

    id: int
    plan: str
    first_slot: int


def open_namespace(database: Database, name: str, *, scheme: str, plan: str) -> OpenNamespace:
    """Find a namespace, or make it.

    Args:
        database: where it is.
        name: 1 to 255 characters.
        scheme: the id of the scheme of its fingerprints.
        plan: the id of the keys for a new one; one that exists keeps those it has.

    Raises:
        ValueError: the name is too long, or empty.
        SchemeMismatch: it has another scheme.
        IndexUnavailable: the database does not answer.
    """
    if not 0 < len(name) <= 255:
        raise ValueError(f"namespace {name!r}: allowed are 1 to 255 characters")

    def open_(connection: Connection) -> OpenNamespace:
        row = connection.execute(
            select(schema.namespaces).where(schema.namespaces.c.name == name)
        ).one_or_none()
        if row is None:
            made = connection.execute(
                insert(schema.namespaces).values(
                    name=name, scheme=scheme, plan=plan, created=database.now()
                )
            )
            return OpenNamespace(int(made.inserted_primary_key[0]), plan, 0)  # type: ignore[index]
        if row.scheme != scheme:
            raise SchemeMismatch(
                f"namespace {name!r} of {database} holds fingerprints of the scheme "
                f"{row.scheme!r}, this one is {scheme!r}: they can't be compared. Use another "
                "namespace, the old scheme, or reset the namespace"
            )
        return OpenNamespace(int(row.id), row.plan, row.first_slot)

    try:
        return database.transact(open_)
    except IndexUnavailable as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
        # Somebody else made it at the same moment.
        return database.transact(open_)
