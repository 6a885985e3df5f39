"""Dropped items that are better than the stored item of their group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Row, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import CONFIRMED, url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.drops import SAME
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    read,
)
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.quality import Criterion, QualitySignals, address_of, better_by, ranks_of

# Rows read at once; and rows with an item, which may be large.
_ROWS, _ITEMS = 2000, 100


class Kept(NamedTuple):
    """The stored item of a group, in its newest version.

    Attributes:
        claim: the number of its claim.
        group: the name of its group: see :class:`Verdict`.
        key: its identity key.
        url: its URL.
        created: when the claim was made, in seconds since the epoch.
    """

    claim: int
    group: str
    key: str
    url: str
    created: float


class Better(NamedTuple):
    """A dropped item that is better than the stored item of its group.

    Attributes:
        id: the number of the duplicate.
        run: the run that found it.
        created: when, in seconds since the epoch.
        key: its identity key.
        url: its URL.
        item: packed; None if it is not in the quarantine.
        item_type: the path of its class.
        by: the criterion by which it is better.
        kept: the stored item.
    """

    id: int
    run: int
    created: float
    key: str
    url: str
    item: bytes | None
    item_type: str | None
    by: str
    kept: Kept


class _Best(NamedTuple):
    """A candidate; the smallest is the best. The number is that of the duplicate, negated."""

    is_gone: bool
    ranks: tuple[int, ...]
    number: int
    by: str
    kept: Kept


_is_stored = claim_columns.state == CONFIRMED


def better(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> Iterator[Better]:
    """The best dropped item of each group, if it is better than the stored one, oldest first.

    Among equally good items, the newest is taken. Pages that have a stored item by now, and groups
    without one, are left out.
    """
    best: dict[int, _Best] = {}
    for origin, one in _candidates(database, namespace, criteria):
        best[origin] = min(one, best.get(origin, one))
    chosen = {-one.number: one for one in best.values()}
    numbers = sorted(chosen)
    columns = [drop_columns[name] for name in ("id", "run", "created", "key", "item", "item_type")]
    query = (
        select(*columns, url_of(schema.duplicates))
        .where(*drops_of(namespace), is_in(database.dialect, drop_columns.id, "numbers"))
        .order_by(drop_columns.id)
    )
    for start in range(0, len(numbers), _ITEMS):
        for row in read(database, query, numbers=numbers[start : start + _ITEMS]):
            one = chosen[row.id]
            yield Better(**row._asdict(), by=one.by, kept=one.kept)


def _candidates(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> Iterator[tuple[int, _Best]]:
    """Each duplicate better than the stored item, after the number of its group's first claim."""
    claims = partial(_claims, database, namespace)
    newest = _newest_versions(database, namespace)
    for duplicates in _duplicates(database, namespace):
        origins = {row.id: row.origin for row in claims("id", {row.claim for row in duplicates})}
        stored = {row.identity for row in claims("identity", {row.identity for row in duplicates})}
        versions = {newest.get(origin, origin) for origin in origins.values()}
        kept = {row.id: row for row in claims("id", versions)}
        for row in duplicates:
            if row.claim not in origins or row.identity in stored:
                continue
            origin = origins[row.claim]
            # It may have been deleted meanwhile.
            if (claim := kept.get(newest.get(origin, origin))) is None:
                continue
            quality = _quality(row)
            if by := better_by(criteria, quality, _quality(claim)):
                group = group_name(namespace.id, origin)
                replaced = Kept(claim.id, group, claim.key, claim.url, claim.created)
                ranks = ranks_of(criteria, quality)
                yield origin, _Best(not row.item_bytes, ranks, -row.id, by, replaced)


def _claims(
    database: Database, namespace: NamespaceRow, column: str, numbers: Iterable[int]
) -> Sequence[Row[Any]]:
    """The claims of stored items with these numbers in a column."""
    names = ("id", "identity", "origin", "key", "quality", "created")
    query = select(*(claim_columns[name] for name in names), url_of(schema.claims)).where(
        *claims_of(namespace),
        _is_stored,
        is_in(database.dialect, claim_columns[column], "numbers"),
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


def _duplicates(database: Database, namespace: NamespaceRow) -> Iterator[Sequence[Row[Any]]]:
    """The duplicates that were not stored, in their order."""
    names = ("id", "claim", "identity", "key", "quality", "item_bytes")
    query = (
        select(*(drop_columns[name] for name in names), url_of(schema.duplicates))
        .where(*drops_of(namespace), drop_columns.action.not_in(("report", SAME)))
        .order_by(drop_columns.id)
        .limit(_ROWS)
    )
    last = -1
    while rows := read(database, query.where(drop_columns.id > last)):
        yield rows
        last = rows[-1].id


def _quality(row: Row[Any]) -> QualitySignals:
    return QualitySignals.unpack(bytes(row.quality), address_of(row.key, row.url))
