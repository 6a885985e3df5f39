"""Namespaces, as they stand in the database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db import schema

if TYPE_CHECKING:
    from scrapy_simhash.db.transactions import Database

__all__ = ["NamespaceRow", "choose_namespace", "namespaces"]


class NamespaceRow(NamedTuple):
    """A namespace as it stands in the database.

    Attributes:
        id: its number.
        name: its name.
        scheme: the id of the scheme of its fingerprints.
        plan: the id of its keys.
        created: seconds since the epoch.
        size: how many claims it has.
        text_bytes: compressed texts kept.
        item_bytes: compressed items kept.
    """

    id: int
    name: str
    scheme: str
    plan: str
    created: float
    size: int
    text_bytes: int
    item_bytes: int

    @property
    def bits(self) -> int:
        """The width of its fingerprints."""
        found = re.search(r"\bbits=(\d+)", self.scheme)
        return int(found[1]) if found else 128


def namespaces(database: Database) -> list[NamespaceRow]:
    """All namespaces, by name."""
    row = schema.namespaces.c
    query = select(
        row.id,
        row.name,
        row.scheme,
        row.plan,
        row.created,
        row.size,
        row.text_bytes,
        row.item_bytes,
    ).order_by(row.name)
    return database.read(
        lambda connection: [NamespaceRow(*found) for found in connection.execute(query)]
    )


def choose_namespace(database: Database, name: str | None) -> NamespaceRow:
    """The namespace of that name; without a name, the only one there is.

    Raises:
        LookupError: there is none of that name, or none at all, or no name and several.
    """
    found = namespaces(database)
    listed = ", ".join(repr(namespace.name) for namespace in found)
    if not found:
        raise LookupError(f"{database} has no namespace yet: nothing was claimed in it")
    if name is None and len(found) > 1:
        raise LookupError(f"{database} has several namespaces, say which one: {listed}")
    for namespace in found:
        if name in {None, namespace.name}:
            return namespace
    raise LookupError(f"{database} has no namespace {name!r}; it has {listed}")
