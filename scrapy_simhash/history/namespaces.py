"""Namespaces, as they stand in the database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import current_usage
from scrapy_simhash.index.invalidated import invalidated_count

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Row, ScalarSelect, Table

    from scrapy_simhash.db.transactions import Database

__all__ = ["NamespaceRow", "NotFound", "choose_namespace", "namespaces"]


class NotFound(LookupError):
    """The database has no such namespace, run or page; or several, of which one must be named."""


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
        bits: the width of its fingerprints: what its scheme says, or that of one that is stored.
    """

    id: int
    name: str
    scheme: str
    plan: str
    created: float
    size: int
    text_bytes: int
    item_bytes: int
    bits: int


def namespaces(database: Database) -> list[NamespaceRow]:
    """All namespaces, by name."""
    row = schema.namespaces.c
    query = select(
        row.id,
        row.name,
        row.scheme,
        row.plan,
        row.created,
        (current_usage("size") - invalidated_count(row.id)).label("size"),
        current_usage("text_bytes").label("text_bytes"),
        current_usage("item_bytes").label("item_bytes"),
        func.coalesce(_width(schema.claims), _width(schema.duplicates)).label("width"),
    ).order_by(row.name)
    return database.read(lambda connection: list(map(_row, connection.execute(query))))


def _row(found: Row[Any]) -> NamespaceRow:
    columns = found._asdict()
    width = columns.pop("width")
    return NamespaceRow(**columns, bits=_bits(found.scheme, width))


def _width(table: Table) -> ScalarSelect[int]:
    """The bytes of a fingerprint that is stored in the namespace."""
    return (
        select(func.length(table.c.fingerprint))
        .where(table.c.namespace == schema.namespaces.c.id)
        .limit(1)
        .scalar_subquery()
    )


def _bits(scheme: str, width: int | None) -> int:
    if found := re.search(r"\bbits=(\d+)", scheme):
        return int(found[1])
    return 128 if width is None else 8 * width


def choose_namespace(database: Database, name: str | None) -> NamespaceRow:
    """The namespace of that name; without a name, the only one there is.

    Raises:
        NotFound: there is none of that name, or none at all, or no name and several.
    """
    found = namespaces(database)
    listed = ", ".join(repr(namespace.name) for namespace in found)
    if not found:
        raise NotFound(f"{database} has no namespace yet: nothing was claimed in it")
    if name is None and len(found) > 1:
        raise NotFound(f"{database} has several namespaces, say which one (--namespace): {listed}")
    for namespace in found:
        if name in {None, namespace.name}:
            return namespace
    raise NotFound(f"{database} has no namespace {name!r}; it has {listed}")
