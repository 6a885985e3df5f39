"""The items of duplicates, to restore them: all, some, or those better than what is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import exists, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import SAME, State
from scrapy_simhash.history import sql
from scrapy_simhash.history.pairs import Pair, select_dropped
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.invalidated import is_orphan, is_valid
from scrapy_simhash.item.quality import Criterion, better_by, ranks_of
from scrapy_simhash.text.packed import unpack_bytes

# Items read at once: each may be large; and rows without them.
_PAGE, _ROWS = 100, 10_000


def choose_drops(
    namespace: NamespaceRow, *, orphans: bool = False, run: int | None = None, since: float = 0.0
) -> list[int]:
    """The numbers of dropped items, the oldest first; of an item dropped in several runs the last.

    Only orphans, those of a run, or those since a time.
    """
    row = sql.drops
    has_item = row.item.is_not(None).label("has_item")
    # Items with the action "report" were stored.
    query = select(row.id, row.identity, row.run, has_item).where(
        *sql.drops_of(namespace, run), row.action != "report", row.created >= since
    )
    if orphans:
        query = query.where(is_orphan())
    found, newest = list[tuple[int, int, tuple[bool, int]]](), dict[int, tuple[bool, int]]()
    for rows in sql.read_in_pages(namespace, query, row.id, _ROWS):
        for one in rows:
            # An older item that is kept is better than a newer one that is not.
            rank = bool(one.has_item), one.run
            found.append((one.id, one.identity, rank))
            newest[one.identity] = max(rank, newest.get(one.identity, rank))
    # A run may have dropped several items of one identity.
    return [number for number, identity, rank in found if rank == newest[identity]]


def read_items(
    namespace: NamespaceRow, numbers: Sequence[int]
) -> Iterator[tuple[Pair, bytes | None, str | None]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        select_dropped.add_columns(sql.drops.item, sql.drops.item_type)
        .where(
            *sql.drops_of(namespace), is_in(sql.drops.id, "numbers"), sql.drops.action != "report"
        )
        .order_by(sql.drops.id)
    )
    for start in range(0, len(numbers), _PAGE):
        for *drop, item, item_type in namespace.read(query, numbers=numbers[start : start + _PAGE]):
            yield Pair(*drop), item, item_type


def better_items(namespace: NamespaceRow, criteria: Sequence[Criterion]) -> list[tuple[Pair, str]]:
    """The best dropped item of each group, if it is better than the stored one, oldest first.

    Among equally good items, the newest is taken; one that is not kept gives way to one that is.
    Each comes with the criterion by which it is better, and beside the stored item in its newest
    version. Pages that have a stored item by now, and groups without one, are left out.
    """
    claim, other = sql.claims, sql.others.c
    is_stored = claim.state == State.CONFIRMED
    versions = select(
        claim.id, claim.origin, claim.quality, claim.key, url_of(schema.claims)
    ).where(*sql.claims_of(namespace), is_stored, claim.origin != claim.id)
    newest = {row.origin: row for row in namespace.read(versions.order_by(claim.id))}
    has_own = exists().where(
        other.namespace == sql.drops.namespace,
        other.identity == sql.drops.identity,
        other.state == State.CONFIRMED,
        is_valid(sql.others),
    )
    query = select_dropped.where(
        *sql.drops_of(namespace), sql.drops.action.not_in(("report", SAME)), is_stored, ~has_own
    )
    best: dict[int | None, tuple[Any, Pair, str]] = {}
    for rows in sql.read_in_pages(namespace, query, sql.drops.id, _ROWS):
        for drop in (Pair(*row) for row in rows):
            if kept := newest.get(drop.origin):
                drop = drop._replace(  # noqa: PLW2901
                    original=kept.url, original_key=kept.key, original_quality=kept.quality
                )
            mine = sql.quality_of(drop.quality, drop.key, drop.url)
            stored = sql.quality_of(drop.original_quality, drop.original_key, drop.original)
            if by := better_by(criteria, mine, stored):
                rank = (not drop.has_item, ranks_of(criteria, mine), -drop.id)
                best[drop.origin] = min((rank, drop, by), best.get(drop.origin, (rank, drop, by)))
    return sorted(((drop, by) for _, drop, by in best.values()), key=lambda one: one[0].id)


def unpack_item(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item. Raises ValueError if it can't be read: it is damaged."""
    try:
        fields = json.loads(unpack_bytes(packed).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not the fields of an item")  # noqa: TRY004 - about the data, not a caller
    return fields
