"""The items of duplicates, to restore them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import RESTORED, SAME
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import dropped, select_dropped
from scrapy_simhash.history.namespaces import read_runs
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.selection import EVERYTHING, Selection
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.queries import is_orphan
from scrapy_simhash.item.keys import item_url

# Items read at once: each may be large.
_ITEMS_AT_ONCE = 100
# Rows without their items read at once.
_ROWS_AT_ONCE = 10_000


def _is_one(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for what was dropped; items with the action "report" were stored."""
    row = sql.drops
    return [row.namespace == namespace.id, row.action.in_(("drop", SAME, RESTORED))]


class Drops(NamedTuple):
    """The numbers of items to restore, the oldest first, and how many are not among them.

    These were restored since they were dropped last, or are older drops of the same items.
    """

    numbers: Sequence[int]
    restored: int
    older: int


def choose_drops(
    namespace: NamespaceRow, selection: Selection = EVERYTHING, *, orphans: bool = False
) -> Drops:
    """The dropped items of a selection, or only orphans."""
    row, was_restored = sql.drops, sql.drops.action == RESTORED
    has_item = or_(row.item.is_not(None), was_restored).label("has_item")
    columns = row.id, row.identity, row.run, row.action, row.key, url_of(schema.sightings), has_item
    query = select(*columns).where(*_is_one(namespace), *selection.conditions(schema.sightings))
    if orphans:
        query = query.where(or_(is_orphan(), was_restored))
    found, newest = list[tuple[Row[Any], tuple[bool, int]]](), dict[int, tuple[bool, int]]()
    for rows in sql.read_in_pages(namespace, query, row.id, _ROWS_AT_ONCE):
        for one in rows:
            if not selection.has(item_url(one.key, one.url)):
                continue
            # An older item that is kept is better than a newer one that is not.
            rank = bool(one.has_item), one.run
            found.append((one, rank))
            newest[one.identity] = max(rank, newest.get(one.identity, rank))
    # A run may have dropped several items of one identity.
    last = [one for one, rank in found if rank == newest[one.identity]]
    restored = sum(one.action == RESTORED for one, _ in found)
    numbers = [one.id for one in last if one.action != RESTORED]
    return Drops(numbers, restored, len(found) - restored - len(numbers))


def count_unlisted(namespace: NamespaceRow, selection: Selection) -> int:
    """How many items runs left out without a row, as they had not changed at all."""
    if not selection.runs or selection.site:
        return 0
    of_runs = [row.counts for row in read_runs(namespace) if row.id in selection.runs]
    rows = select(func.count()).where(*_is_one(namespace), *selection.conditions(schema.sightings))
    return max(0, sum(one[2] for one in of_runs if one) - int(namespace.read(rows)[0][0]))


def read_items(
    namespace: NamespaceRow, numbers: Sequence[int]
) -> Iterator[tuple[int, Record, bytes | None, str | None]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        select_dropped.add_columns(sql.drops.item, sql.drops.item_type)
        .where(*_is_one(namespace), is_in(sql.drops.id, "numbers"))
        .order_by(sql.drops.id)
    )
    for start in range(0, len(numbers), _ITEMS_AT_ONCE):
        for row in namespace.read(query, numbers=numbers[start : start + _ITEMS_AT_ONCE]):
            record = dropped(namespace, row)
            if row.action == RESTORED:
                # It stands for itself now.
                record = record._replace(original_page=None, original_key=None)
            yield row.id, record, row.item, row.item_type
