"""Dropped items that are better than what is kept of their group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import CONFIRMED, url_of
from scrapy_simhash.db.statements import is_in, list_parameter
from scrapy_simhash.history.drops import SAME, claim_columns, drop_columns
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.quality import QualitySignals, address_of, better_by, ranks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from sqlalchemy import Connection, Row, Select

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow
    from scrapy_simhash.item.quality import Criterion

__all__ = ["Better", "Kept", "better"]

# Rows that are read at once; and such that have an item, each of which may be large.
_ROWS, _ITEMS = 2000, 100


class Kept(NamedTuple):
    """What is kept of a group: the newest version of what came first.

    Attributes:
        claim: the number of its claim.
        group: the name of its group: see :class:`Verdict`.
        key: its owner key.
        url: where it was found.
        created: when the claim was made, in seconds since the epoch.
    """

    claim: int
    group: str
    key: str
    url: str
    created: float


class Better(NamedTuple):
    """A dropped item that is better than what is kept of its group.

    Attributes:
        id: the number of the duplicate.
        run: that met it.
        created: when, in seconds since the epoch.
        key: its owner key.
        url: where it was found.
        item: packed; None where the quarantine has it no more.
        item_type: the path of its class.
        by: the criterion by which it is better.
        kept: what it is better than.
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
    """A candidate: the less, the better. The number is that of the duplicate, less than 0."""

    is_gone: bool
    ranks: tuple[int, ...]
    number: int
    by: str
    kept: Kept


_is_stored = (claim_columns.state == CONFIRMED, is_valid())


def better(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> Iterator[Better]:
    """The best dropped item of each group where it is better than what is kept, the oldest first.

    Of several that are as good it is the newest. Left out are those whose own owner has something
    stored meanwhile, and groups of which nothing is stored.
    """
    best: dict[int, _Best] = {}
    for origin, one in _candidates(database, namespace, criteria):
        best[origin] = min(one, best.get(origin, one))
    chosen = {-one.number: one for one in best.values()}
    numbers = sorted(chosen)
    columns = [drop_columns[name] for name in ("id", "run", "created", "key")]
    query = (
        select(*columns, url_of(schema.duplicates), drop_columns.item, drop_columns.item_type)
        .where(
            drop_columns.namespace == namespace.id,
            is_in(database.dialect, drop_columns.id, "numbers"),
        )
        .order_by(drop_columns.id)
    )
    for start in range(0, len(numbers), _ITEMS):
        for row in _read(database, query, numbers[start : start + _ITEMS]):
            one = chosen[row.id]
            yield Better(**row._asdict(), by=one.by, kept=one.kept)


def _candidates(
    database: Database, namespace: NamespaceRow, criteria: Sequence[Criterion]
) -> Iterator[tuple[int, _Best]]:
    """Every duplicate that is better than what is kept, with the first claim of its group."""
    claims = partial(_claims, database, namespace)
    newest = _newest_versions(database, namespace)
    for duplicates in _duplicates(database, namespace):
        origins = {row.id: row.origin for row in claims("id", {row.claim for row in duplicates})}
        stored = {row.owner for row in claims("owner", {row.owner for row in duplicates})}
        versions = {newest.get(origin, origin) for origin in origins.values()}
        kept = {row.id: row for row in claims("id", versions)}
        for row in duplicates:
            if row.claim not in origins or row.owner in stored:
                continue
            origin = origins[row.claim]
            # It may have been forgotten meanwhile.
            if (claim := kept.get(newest.get(origin, origin))) is None:
                continue
            merits = _merits(row)
            if by := better_by(criteria, merits, _merits(claim)):
                group = group_name(namespace.id, origin)
                told = Kept(claim.id, group, claim.key, claim.url, claim.created)
                ranks = ranks_of(criteria, merits)
                yield origin, _Best(not row.item_bytes, ranks, -row.id, by, told)


def _claims(
    database: Database, namespace: NamespaceRow, column: str, numbers: Iterable[int]
) -> Sequence[Row[Any]]:
    """The claims with one of these numbers, or owners, whose items are stored."""
    names = ("id", "owner", "origin", "key", "merits", "created")
    query = select(*(claim_columns[name] for name in names), url_of(schema.claims)).where(
        claim_columns.namespace == namespace.id,
        is_in(database.dialect, claim_columns[column], "numbers"),
        *_is_stored,
    )
    return _read(database, query, numbers)


def _newest_versions(database: Database, namespace: NamespaceRow) -> dict[int, int]:
    """The newest claim of each group that has changed since its first one: that is stored now."""
    query = (
        select(claim_columns.origin, func.max(claim_columns.id).label("newest"))
        .where(
            claim_columns.namespace == namespace.id,
            claim_columns.origin != claim_columns.id,
            *_is_stored,
        )
        .group_by(claim_columns.origin)
    )
    return {row.origin: row.newest for row in _read(database, query)}


def _duplicates(database: Database, namespace: NamespaceRow) -> Iterator[Sequence[Row[Any]]]:
    """The duplicates that were not stored, in their order."""
    names = ("id", "claim", "owner", "key", "merits", "item_bytes")
    query = (
        select(*(drop_columns[name] for name in names), url_of(schema.duplicates))
        .where(
            drop_columns.namespace == namespace.id,
            drop_columns.action.not_in(("report", SAME)),
        )
        .order_by(drop_columns.id)
        .limit(_ROWS)
    )
    last = -1
    while rows := _read(database, query.where(drop_columns.id > last)):
        yield rows
        last = rows[-1].id


def _merits(row: Row[Any]) -> QualitySignals:
    return QualitySignals.unpack(bytes(row.merits), address_of(row.key, row.url))


def _read(
    database: Database, query: Select[Any], numbers: Iterable[int] | None = None
) -> Sequence[Row[Any]]:
    parameters = {}
    if numbers is not None:
        parameters["numbers"] = list_parameter(database.dialect, numbers)

    def read(connection: Connection) -> Sequence[Row[Any]]:
        return connection.execute(query, parameters).all()

    return database.read(read)
