"""The items of duplicates, to restore them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import select

from scrapy_simhash.db.statements import is_in
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import dropped, select_dropped
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.invalidated import is_orphan

# Items read at once: each may be large.
_ITEMS_AT_ONCE = 100
# Rows without their items read at once.
_ROWS_AT_ONCE = 10_000


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
    for rows in sql.read_in_pages(namespace, query, row.id, _ROWS_AT_ONCE):
        for one in rows:
            # An older item that is kept is better than a newer one that is not.
            rank = bool(one.has_item), one.run
            found.append((one.id, one.identity, rank))
            newest[one.identity] = max(rank, newest.get(one.identity, rank))
    # A run may have dropped several items of one identity.
    return [number for number, identity, rank in found if rank == newest[identity]]


def read_items(
    namespace: NamespaceRow, numbers: Sequence[int]
) -> Iterator[tuple[Record, bytes | None, str | None]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        select_dropped.add_columns(sql.drops.item, sql.drops.item_type)
        .where(
            *sql.drops_of(namespace), is_in(sql.drops.id, "numbers"), sql.drops.action != "report"
        )
        .order_by(sql.drops.id)
    )
    for start in range(0, len(numbers), _ITEMS_AT_ONCE):
        for row in namespace.read(query, numbers=numbers[start : start + _ITEMS_AT_ONCE]):
            yield dropped(namespace, row), row.item, row.item_type
