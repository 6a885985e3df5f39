"""Dropped items that are better than the stored item of their group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Row, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import CONFIRMED
from scrapy_simhash.history.pairs import SAME
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    drops_with_claims,
    quality_of,
    read,
    read_in_pages,
)
from scrapy_simhash.item.quality import Criterion, better_by, ranks_of

# Rows read at once.
_ROWS = 2000


class _Best(NamedTuple):
    """A candidate; the smallest is the best. The number is that of the duplicate, negated."""

    is_gone: bool
    ranks: tuple[int, ...]
    number: int
    by: str
    kept: Row[Any]


_is_stored = claim_columns.state == CONFIRMED


def better_items(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> list[tuple[int, str, Row[Any]]]:
    """The best dropped item of each group, if it is better than the stored one, oldest first.

    Among equally good items, the newest is taken. Pages that have a stored item by now, and groups
    without one, are left out. Each is a number, the criterion by which the item is better, and the
    row of the stored item in its newest version.
    """
    best: dict[int, _Best] = {}
    for one in _candidates(database, namespace, criteria):
        best[one.kept.origin] = min(one, best.get(one.kept.origin, one))
    return sorted((-one.number, one.by, one.kept) for one in best.values())


def _candidates(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> Iterator[_Best]:
    """Each duplicate that is better than the stored item."""
    claims = partial(_claims, database, namespace)
    newest = _newest_versions(database, namespace)
    names = ("id", "identity", "key", "quality", "item_bytes")
    columns = [*(drop_columns[name] for name in names), claim_columns.origin]
    query = (
        select(*columns, url_of(schema.duplicates))
        .select_from(drops_with_claims)
        .where(*drops_of(namespace), drop_columns.action.not_in(("report", SAME)), _is_stored)
    )
    for duplicates in read_in_pages(database, query, drop_columns.id, _ROWS):
        stored = {row.identity for row in claims("identity", {row.identity for row in duplicates})}
        versions = {newest.get(row.origin, row.origin) for row in duplicates}
        kept = {row.id: row for row in claims("id", versions)}
        for row in duplicates:
            claim = kept.get(newest.get(row.origin, row.origin))
            # It may have been deleted meanwhile.
            if claim is None or row.identity in stored:
                continue
            quality = quality_of(row.quality, row.key, row.url)
            if by := better_by(criteria, quality, quality_of(claim.quality, claim.key, claim.url)):
                yield _Best(not row.item_bytes, ranks_of(criteria, quality), -row.id, by, claim)


def _claims(
    database: Database, namespace: NamespaceRow, column: str, numbers: Iterable[int]
) -> Sequence[Row[Any]]:
    """The claims of stored items with these numbers in a column."""
    names = ("id", "identity", "origin", "key", "quality", "created")
    query = select(*(claim_columns[name] for name in names), url_of(schema.claims)).where(
        *claims_of(namespace), _is_stored, is_in(claim_columns[column], "numbers")
    )
    return read(database, query, numbers=numbers)


def _newest_versions(database: Database, namespace: NamespaceRow) -> dict[int, int]:
    """The newest stored version of each group that has changed, by its first claim."""
    query = (
        select(claim_columns.origin, func.max(claim_columns.id).label("newest"))
        .where(*claims_of(namespace), _is_stored, claim_columns.origin != claim_columns.id)
        .group_by(claim_columns.origin)
    )
    return {row.origin: row.newest for row in read(database, query)}
