"""Finds or creates the row of a namespace."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import current_usage
from scrapy_simhash.db.transactions import Database, read_secret
from scrapy_simhash.db.values import check_name, storable
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.index.invalidated import invalidated_count
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)


class OpenNamespace(NamedTuple):
    """A namespace: its number, the id of its keys, and when it was created (epoch seconds)."""

    id: int
    plan: str
    created: float


def open_namespace(
    database: Database, name: str, *, scheme: str, plan: str, compared: str = ""
) -> OpenNamespace:
    """Find a namespace, or create it with a scheme and keys, given by their ids.

    An existing one keeps its keys. `compared` is what is compared in it, in words; a change is
    logged unless it is "".

    Raises:
        ValueError: the name can't be stored.
        SchemeMismatch: it has another scheme, or the database another secret than before.
        IndexUnavailable: the database does not answer.
    """
    columns = {
        "name": check_name(name),
        "scheme": scheme,
        "plan": plan,
        "compared": storable(compared, schema.TEXT_LENGTH),
    }

    def find_or_make(connection: Connection) -> Any:
        if read_secret(connection) != database.secret:
            # Everything prepared so far was made with the old one.
            raise SchemeMismatch(f"{database} was reset and has another secret now")
        wanted = select(schema.namespaces, current_usage("size").label("claims"))
        wanted = wanted.where(schema.namespaces.c.name == name)
        if row := connection.execute(wanted).one_or_none():
            return row
        made = {**columns, "created": database.now()}
        connection.execute(insert(schema.namespaces).values(made))
        return connection.execute(wanted).one()

    try:
        row = database.transact(find_or_make)
    except IndexUnavailable as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
        # Another process has created it at the same moment.
        row = database.transact(find_or_make)
    if row.scheme != scheme:
        raise SchemeMismatch(
            f"namespace {name!r} of {database} holds fingerprints of the scheme {row.scheme!r}, "
            f"this one is {scheme!r}: they can't be compared. Use another namespace, the old "
            f"scheme, or start over: scrapy simhash reset --namespace {name}"
        )
    if compared and row.claims and row.compared != columns["compared"]:
        logger.warning(
            "Namespace %r was made by crawls that compare something else (%s) than this one (%s): "
            "documents stored before may not be recognised, and are then stored once more. To "
            "start over: scrapy simhash reset --namespace %s",
            name,
            shortened(row.compared or "unknown"),
            compared,
            shortened(name),
        )
    return OpenNamespace(row.id, row.plan, row.created)


def size_of(namespace: int, connection: Connection) -> int:
    """The number of its claims."""
    row = schema.namespaces.c
    size = select(current_usage("size") - invalidated_count(row.id)).where(row.id == namespace)
    return connection.scalar(size) or 0
