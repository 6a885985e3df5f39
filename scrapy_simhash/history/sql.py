"""Columns, conditions and reading shared by the queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Select, and_, func

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import RESTORED
from scrapy_simhash.index.queries import is_valid


class NamespaceRow(NamedTuple):
    """A namespace of a database.

    Size is the number of its claims; the others are bytes of compressed texts and items.
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
    database: Database

    def read(self, query: Select[Any], **numbers: Iterable[int]) -> Sequence[Any]:
        """The rows of a query, see :func:`read`."""
        return read(self.database, query, **numbers)


#: Longer URLs are cut: a hostile site can make many that are very long.
LONGEST_URL = 2000

#: Sightings are also what was left out, with the item.
claims, drops = schema.claims.c, schema.sightings.c

#: Sightings beside their claims, which may be gone.
drops_with_claims = schema.sightings.outerjoin(
    schema.claims, and_(claims.namespace == drops.namespace, claims.id == drops.claim, is_valid())
)

#: A claim beside which another one was kept; claims beside these, which may be gone.
others = schema.claims.alias("others")
claims_with_others = schema.claims.outerjoin(
    others,
    and_(
        others.c.namespace == claims.namespace,
        others.c.id == claims.similar_claim,
        is_valid(others),
    ),
)


def short_url(table: FromClause) -> ColumnElement[str]:
    """The URL of a row, cut."""
    return func.substr(url_of(table), 1, LONGEST_URL)


def claims_of(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for the valid claims of a namespace."""
    return [claims.namespace == namespace.id, is_valid()]


def drops_of(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for what was left out in a namespace."""
    return [drops.namespace == namespace.id, drops.action.not_in(("", RESTORED))]


def read(database: Database, query: Select[Any], **numbers: Iterable[int]) -> Sequence[Any]:
    """The rows of a query, whose parameters are lists of numbers (see `is_in`)."""
    lists = {name: list(given) for name, given in numbers.items()}
    return database.read(lambda connection: connection.execute(query, lists).all())


def read_in_pages(
    namespace: NamespaceRow,
    query: Select[Any],
    number: ColumnElement[int],
    size: int,
    *,
    newest_first: bool = False,
) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of their numbers, a page at a time."""
    page = query = query.order_by(number.desc() if newest_first else number).limit(size)
    while rows := namespace.read(page):
        yield rows
        last = rows[-1].id
        page = query.where(number < last if newest_first else number > last)
