"""The items of duplicates, to restore them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.pairs import Pair, select_dropped
from scrapy_simhash.history.query import NamespaceRow, drop_columns, drops_of, read, read_in_pages
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.text.packed import unpack_bytes

# Items read at once: each may be large; and rows without them.
_PAGE, _ROWS = 100, 10_000


def choose_drops(
    database: Database,
    namespace: NamespaceRow,
    *,
    orphans: bool = False,
    run: int | None = None,
    since: float = 0.0,
) -> list[int]:
    """The numbers of dropped items, the oldest first; of an item dropped in several runs the last.

    Only orphans, those of a run, or those since a time.
    """
    row = drop_columns
    has_item = row.item.is_not(None).label("has_item")
    # Items with the action "report" were stored.
    query = select(row.id, row.identity, row.run, has_item).where(
        *drops_of(namespace, run),
        row.action != "report",
        row.created >= since,
    )
    if orphans:
        query = query.where(is_orphan())
    found, newest = list[tuple[int, int, tuple[bool, int]]](), dict[int, tuple[bool, int]]()
    for rows in read_in_pages(database, query, row.id, _ROWS):
        for one in rows:
            # An older item that is kept is better than a newer one that is not.
            rank = bool(one.has_item), one.run
            found.append((one.id, one.identity, rank))
            newest[one.identity] = max(rank, newest.get(one.identity, rank))
    # A run may have dropped several items of one identity.
    return [number for number, identity, rank in found if rank == newest[identity]]


def read_items(
    database: Database, namespace: NamespaceRow, numbers: Sequence[int]
) -> Iterator[tuple[Pair, bytes | None, str | None]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        select_dropped.add_columns(drop_columns.item, drop_columns.item_type)
        .where(
            *drops_of(namespace), is_in(drop_columns.id, "numbers"), drop_columns.action != "report"
        )
        .order_by(drop_columns.id)
    )
    for start in range(0, len(numbers), _PAGE):
        for *drop, item, item_type in read(database, query, numbers=numbers[start : start + _PAGE]):
            yield Pair(*drop), item, item_type


def unpack_item(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item. Raises ValueError if it can't be read: it is damaged."""
    try:
        fields = json.loads(unpack_bytes(packed).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not the fields of an item")  # noqa: TRY004 - about the data, not a caller
    return fields
