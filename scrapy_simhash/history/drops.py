"""Duplicates: each with its original, their counts, and their items."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.query import (
    LONGEST_URL,
    NamespaceRow,
    claim_columns,
    drop_columns,
    drops_of,
    drops_with_claims,
    read,
    read_in_pages,
    short_url,
)
from scrapy_simhash.index.invalidated import is_orphan, is_valid
from scrapy_simhash.text.packed import unpack_bytes

#: The action on a page that had not changed since its last visit.
SAME = "same"

# Items read at once: each may be large; and rows without them.
_PAGE, _ROWS = 100, 10_000


class Drop(NamedTuple):
    """A duplicate with its original. URLs are cut to 2,000 characters.

    Attributes:
        id: its number.
        run: the run that found it.
        created: seconds since the epoch.
        url: its URL.
        key: its identity key.
        claim: the number of the original's claim.
        distance: of the two fingerprints, in bits.
        similarity: the Jaccard similarity of the two texts, 0 to 1; see :class:`Match`.
        estimated: whether that is an estimate, because the original's text was not kept.
        action: "drop", "skip", "report", or "same" for an unchanged page.
        orphaned: whether the original was not stored in the end.
        original: the original's URL; None if its claim is gone.
        first_seen: when the claim was made; None if it is gone.
        quality: its quality signals, packed.
        original_key: the original's identity key; None if its claim is gone, as of the following.
        original_quality: its quality signals, packed.
        origin: the number of its group, see :func:`group_name`.
    """

    id: int
    run: int
    created: float
    url: str
    key: str
    claim: int
    distance: int
    similarity: float
    estimated: bool
    action: str
    orphaned: bool
    original: str | None
    first_seen: float | None
    quality: bytes
    original_key: str | None
    original_quality: bytes | None
    origin: int | None


#: Gives the columns of :class:`Drop`.
select_drops: Select[Any] = select(
    drop_columns.id,
    drop_columns.run,
    drop_columns.created,
    short_url(schema.duplicates).label("url"),
    func.substr(drop_columns.key, 1, LONGEST_URL).label("key"),
    drop_columns.claim,
    drop_columns.distance,
    drop_columns.similarity,
    drop_columns.estimated,
    drop_columns.action,
    is_orphan().label("orphaned"),
    short_url(schema.claims).label("original"),
    claim_columns.created.label("first_seen"),
    drop_columns.quality,
    func.substr(claim_columns.key, 1, LONGEST_URL),
    claim_columns.quality,
    claim_columns.origin,
).select_from(drops_with_claims)


def count_drops(database: Database, namespace: NamespaceRow) -> dict[int, Counter[str]]:
    """The number of stored duplicates of each run by their action: see :class:`Drop`."""
    query = (
        select(drop_columns.run, drop_columns.action, func.count())
        .where(*drops_of(namespace))
        .group_by(drop_columns.run, drop_columns.action)
    )
    found = defaultdict[int, Counter[str]](Counter)
    for run, action, count in read(database, query):
        found[run][action] = count
    return found


def read_drops(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int | None = None
) -> list[Drop]:
    """The newest duplicates, the oldest first."""
    query = select_drops.where(*drops_of(namespace, run)).order_by(drop_columns.id.desc())
    return [Drop._make(row) for row in read(database, query.limit(limit))][::-1]


def numbers_with_items(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> set[int]:
    """The numbers of the duplicates whose items are kept."""
    query = select(drop_columns.id).where(*drops_of(namespace, run), drop_columns.item.is_not(None))
    return {row.id for row in read(database, query)}


def largest_groups(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int = 20
) -> list[tuple[int, int, str | None]]:
    """The claims with most duplicates: number of the claim, of duplicates, and its URL."""
    count = func.count().label("count")
    grouped = (
        select(drop_columns.claim, count)
        .where(*drops_of(namespace, run), drop_columns.action != SAME)
        .group_by(drop_columns.claim)
        .order_by(count.desc(), drop_columns.claim)
        .limit(limit)
        .subquery()
    )
    is_original = (
        (claim_columns.namespace == namespace.id)
        & (claim_columns.id == grouped.c.claim)
        & is_valid()
    )
    query = (
        select(grouped.c.claim, grouped.c.count, url_of(schema.claims))
        .select_from(grouped.outerjoin(schema.claims, is_original))
        .order_by(grouped.c.count.desc(), grouped.c.claim)
    )
    return [(row[0], row[1], row[2]) for row in read(database, query)]


def choose_drops(
    database: Database,
    namespace: NamespaceRow,
    *,
    orphans: bool = False,
    run: int | None = None,
    since: float = 0.0,
    min_distance: int = 0,
) -> list[int]:
    """The numbers of dropped items, the oldest first; of an item dropped in several runs the last.

    Args:
        database: where they are.
        namespace: their namespace.
        orphans: only those whose original was not stored in the end.
        run: only those of this run.
        since: only those dropped since then, in seconds since the epoch.
        min_distance: only those at this distance or farther.
    """
    row = drop_columns
    has_item = row.item.is_not(None).label("has_item")
    # Items with the action "report" were stored.
    query = select(row.id, row.identity, row.run, has_item).where(
        *drops_of(namespace, run),
        row.action != "report",
        row.created >= since,
        row.distance >= min_distance,
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
) -> Iterator[tuple[Drop, bytes | None, str | None]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        select_drops.add_columns(drop_columns.item, drop_columns.item_type)
        .where(
            *drops_of(namespace),
            is_in(drop_columns.id, "numbers"),
            drop_columns.action != "report",
        )
        .order_by(drop_columns.id)
    )
    for start in range(0, len(numbers), _PAGE):
        for *drop, item, item_type in read(database, query, numbers=numbers[start : start + _PAGE]):
            yield Drop._make(drop), item, item_type


def unpack_item(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item.

    Raises:
        ValueError: it can't be read, as in a damaged database.
    """
    try:
        fields = json.loads(unpack_bytes(packed).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not the fields of an item")  # noqa: TRY004 - about the data, not a caller
    return fields
