"""Pages: everything stored about one; texts and URLs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in, storable
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.drops import Drop, select_drops
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    read,
)
from scrapy_simhash.text.packed import unpack_text

#: The number of a claim, and that of a duplicate of it or 0.
Place = tuple[int, int]


def read_texts(
    database: Database, namespace: NamespaceRow, wanted: Iterable[Place]
) -> dict[Place, str]:
    """The texts that are kept and can be read."""
    pairs = set(wanted)
    row = schema.texts.c
    query = select(row.claim, row.duplicate, row.text).where(
        row.namespace == namespace.id,
        is_in(database.dialect, row.claim, "claims"),
        is_in(database.dialect, row.duplicate, "duplicates"),
    )
    claims, duplicates = ({pair[place] for pair in pairs} for place in (0, 1))
    found = read(database, query, claims=claims, duplicates=duplicates) if pairs else ()
    return {
        (claim, duplicate): text
        for claim, duplicate, packed in found
        if (claim, duplicate) in pairs and (text := unpack_text(packed)) is not None
    }


def read_urls(
    database: Database, namespace: NamespaceRow, wanted: Iterable[Place]
) -> dict[Place, str]:
    """The URLs of claims and duplicates."""
    pairs = set(wanted)
    of_claims = select(claim_columns.id, url_of(schema.claims)).where(
        claim_columns.namespace == namespace.id,
        is_in(database.dialect, claim_columns.id, "numbers"),
    )
    of_drops = select(drop_columns.claim, drop_columns.id, url_of(schema.duplicates)).where(
        *drops_of(namespace), is_in(database.dialect, drop_columns.id, "numbers")
    )
    claims = read(database, of_claims, numbers={claim for claim, number in pairs if not number})
    drops = read(database, of_drops, numbers={number for _, number in pairs if number})
    return {(row[0], 0): row[1] for row in claims} | {(row[0], row[1]): row[2] for row in drops}


class PageHistory(NamedTuple):
    """Everything stored about a page.

    Attributes:
        claims: its claims, each a version of it, the oldest first.
        drops: the page as a duplicate of others.
        duplicates: the newest duplicates of it.
        duplicate_count: the number of all duplicates of it.
    """

    claims: Sequence[Row[Any]]
    drops: Sequence[Drop]
    duplicates: Sequence[Drop]
    duplicate_count: int


def read_page(
    database: Database,
    namespace: NamespaceRow,
    url: str,
    identities: Iterable[int],
    *,
    limit: int = 20,
) -> PageHistory:
    """Find a page by its URL or its identities.

    Identities have an index; for the URL the whole namespace is searched.
    """
    identities = list(identities)
    columns = [column for column in claim_columns if column.name != "url"]
    own = select(*columns, url_of(schema.claims)).where(
        *claims_of(namespace),
        or_(
            url_of(schema.claims) == storable(url),
            is_in(database.dialect, claim_columns.identity, "identities"),
        ),
    )
    dropped = select_drops.where(
        *drops_of(namespace),
        or_(
            url_of(schema.duplicates) == storable(url),
            is_in(database.dialect, drop_columns.identity, "identities"),
        ),
    )
    of_it = [*drops_of(namespace), is_in(database.dialect, drop_columns.claim, "numbers")]
    count = select(func.count()).select_from(schema.duplicates).where(*of_it)

    def newest(query: Any) -> Any:
        return query.order_by(drop_columns.id.desc()).limit(limit)

    claims = read(database, own.order_by(claim_columns.id), identities=identities)
    numbers = [claim.id for claim in claims]
    return PageHistory(
        claims,
        [Drop._make(row) for row in read(database, newest(dropped), identities=identities)],
        [
            Drop._make(row)
            for row in read(database, newest(select_drops.where(*of_it)), numbers=numbers)
        ],
        read(database, count, numbers=numbers)[0][0],
    )
