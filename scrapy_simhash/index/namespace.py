"""The row of a namespace: found, or made by the first who comes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import current_usage
from scrapy_simhash.db.secret import read_secret
from scrapy_simhash.db.statements import storable
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database

__all__ = ["OpenNamespace", "check_name", "open_namespace"]

logger = logging.getLogger(__name__)


class OpenNamespace(NamedTuple):
    """What a namespace was made with.

    Attributes:
        id: its number.
        plan: the id of the keys in force.
        first_slot: where these begin.
        created: when, in seconds since the epoch.
    """

    id: int
    plan: str
    first_slot: int
    created: float


def check_name(name: str) -> str:
    """The name of a namespace, if every engine can store it.

    Raises:
        ValueError: it can't: the name is empty, too long, or has a character that is none.
    """
    if not 0 < len(name) <= 255 or storable(name) != name:
        raise ValueError(
            f"namespace {shortened(repr(name))}: allowed are 1 to 255 characters, without NUL and "
            "lone surrogates"
        )
    return name


def open_namespace(
    database: Database, name: str, *, scheme: str, plan: str, compared: str = ""
) -> OpenNamespace:
    """Find a namespace, or make it.

    Args:
        database: where it is.
        name: as :func:`check_name` allows it.
        scheme: the id of the scheme of its fingerprints.
        plan: the id of the keys for a new one; one that exists keeps those it has.
        compared: what is compared in it, in words; nobody is warned of "".

    Raises:
        ValueError: the name can't be stored.
        SchemeMismatch: it has another scheme, or the database another secret than it had.
        IndexUnavailable: the database does not answer.
    """
    check_name(name)
    compared = storable(compared, schema.TEXT_LENGTH)

    def open_(connection: Connection) -> OpenNamespace:
        if read_secret(connection) != database.secret:
            # What was made ready until now is made with the old one.
            raise SchemeMismatch(f"{database} was made anew, with another secret")
        row = connection.execute(
            select(schema.namespaces, current_usage("size").label("claims")).where(
                schema.namespaces.c.name == name
            )
        ).one_or_none()
        if row is None:
            now = database.now()
            made = connection.execute(
                insert(schema.namespaces).values(
                    name=name,
                    scheme=scheme,
                    compared=compared,
                    plan=plan,
                    created=now,
                )
            )
            return OpenNamespace(int(made.inserted_primary_key[0]), plan, 0, now)  # type: ignore[index]
        if row.scheme != scheme:
            raise SchemeMismatch(
                f"namespace {name!r} of {database} holds fingerprints of the scheme "
                f"{row.scheme!r}, this one is {scheme!r}: they can't be compared. Use another "
                "namespace, the old scheme, or begin anew: scrapy simhash reset --namespace "
                f"{name}"
            )
        if compared and row.claims and row.compared != compared:
            logger.warning(
                "Namespace %r was made by crawls that compare something else (%s), this one "
                "compares %s: what is in it may not be recognised again, and is then stored once "
                "more. To begin anew: scrapy simhash reset --namespace %s",
                name,
                shortened(row.compared or "not said"),
                compared,
                shortened(name),
            )
        return OpenNamespace(int(row.id), row.plan, row.first_slot, row.created)

    try:
        return database.transact(open_)
    except IndexUnavailable as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
        # Somebody else made it at the same moment.
        return database.transact(open_)
