"""Near-duplicates that were met: each of them, in sums, and their items."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.index.invalidated import is_orphan, is_valid
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.quality import QualitySignals, address_of
from scrapy_simhash.text.packed import unpack_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Row, Select

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = [
    "LONGEST_URL",
    "SAME",
    "Drop",
    "claim_columns",
    "count_drops",
    "drop_columns",
    "drop_of",
    "drops",
    "kept_times",
    "largest_groups",
    "nearest_kept",
    "of_namespace",
    "quarantined",
    "select_drops",
    "unpack",
]

#: The action on a page that had not changed since its owner's own earlier version.
SAME = "same"

# Items that are read at once: each may be as large as an item can be.
_PAGE = 100

#: A URL of a hostile site may be as long as a book, and there may be many.
LONGEST_URL = 2000

claim_columns, drop_columns = schema.claims.c, schema.duplicates.c


class Drop(NamedTuple):
    """A near-duplicate that was met, and what it is one of. URLs are cut to 2,000 characters.

    Attributes:
        id: its number.
        run: that met it.
        created: seconds since the epoch.
        url: where it was found.
        key: its owner key.
        claim: the number of the claim that it is a duplicate of.
        distance: of the two fingerprints, in bits.
        similarity: the Jaccard similarity of the two texts, 0 to 1; see :class:`Match`.
        estimated: whether that is an estimate, because the claim's text was not kept.
        action: what was done: "drop", "skip", "report", or "same" for an unchanged page.
        orphaned: whether that claim was released, or counts no more.
        original: the claim's URL; None if it is gone.
        first_seen: when the claim was made; None if it is gone.
        merits: what may make it better than what is kept.
        kept: the same of the claim; None if it is gone.
        group: the name of its group, see :class:`Verdict`; None if the claim is gone.
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
    merits: QualitySignals
    kept: QualitySignals | None
    group: str | None


select_drops: Select[Any] = select(
    drop_columns.id,
    drop_columns.run,
    drop_columns.created,
    func.substr(url_of(schema.duplicates), 1, LONGEST_URL).label("url"),
    func.substr(drop_columns.key, 1, LONGEST_URL).label("key"),
    drop_columns.claim,
    drop_columns.distance,
    drop_columns.similarity,
    drop_columns.estimated,
    drop_columns.action,
    is_orphan().label("orphaned"),
    func.substr(url_of(schema.claims), 1, LONGEST_URL).label("original"),
    claim_columns.created.label("first_seen"),
    drop_columns.merits,
    claim_columns.merits.label("kept"),
    func.substr(claim_columns.key, 1, LONGEST_URL).label("owner_key"),
    drop_columns.namespace,
    claim_columns.origin,
).select_from(
    schema.duplicates.outerjoin(
        schema.claims,
        (claim_columns.namespace == drop_columns.namespace)
        & (claim_columns.id == drop_columns.claim)
        & is_valid(),
    )
)


def drop_of(row: Row[Any]) -> Drop:
    """What :data:`select_drops` has selected."""
    kept = group = None
    if row.kept is not None:
        kept = QualitySignals.unpack(bytes(row.kept), address_of(row.owner_key, row.original))
        group = group_name(row.namespace, row.origin)
    merits = QualitySignals.unpack(bytes(row.merits), address_of(row.key, row.url))
    told = row[: Drop._fields.index("merits")]
    return Drop._make((*told, merits, kept, group))


def count_drops(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> dict[str, int]:
    """How many duplicates are remembered, by what was done to them: see :class:`Drop`."""
    query = (
        select(drop_columns.action, func.count())
        .where(*of_namespace(namespace, run))
        .group_by(drop_columns.action)
    )
    return database.read(lambda connection: {row[0]: row[1] for row in connection.execute(query)})


def drops(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int | None = None
) -> list[Drop]:
    """The duplicates that are remembered, in their order.

    Args:
        database: where they are.
        namespace: in which one.
        run: of this run; of all runs otherwise.
        limit: the newest so many only.
    """
    query = (
        select_drops.where(*of_namespace(namespace, run))
        .order_by(drop_columns.id.desc())
        .limit(limit)
    )
    found = database.read(lambda connection: [drop_of(row) for row in connection.execute(query)])
    return found[::-1]


def largest_groups(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int = 20
) -> list[tuple[int, int, str | None]]:
    """The claims with the most duplicates: number of the claim, of duplicates, and its URL."""
    count = func.count().label("count")
    grouped = (
        select(drop_columns.claim, count)
        .where(*of_namespace(namespace, run), drop_columns.action != SAME)
        .group_by(drop_columns.claim)
        .order_by(count.desc(), drop_columns.claim)
        .limit(limit)
        .subquery()
    )
    query = (
        select(grouped.c.claim, grouped.c.count, url_of(schema.claims))
        .select_from(
            grouped.outerjoin(
                schema.claims,
                (claim_columns.namespace == namespace.id)
                & (claim_columns.id == grouped.c.claim)
                & is_valid(),
            )
        )
        .order_by(grouped.c.count.desc(), grouped.c.claim)
    )
    return database.read(
        lambda connection: [(row[0], row[1], row[2]) for row in connection.execute(query)]
    )


def kept_times(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> NDArray[np.float64]:
    """When the claims were made: seconds since the epoch, in no order."""
    query = select(claim_columns.created).where(claim_columns.namespace == namespace.id, is_valid())
    if run is not None:
        query = query.where(claim_columns.run == run)
    return database.read(
        lambda connection: np.fromiter(connection.execute(query).scalars(), np.float64)
    )


def nearest_kept(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> dict[int, int]:
    """How many claims had their nearest other claim, of those that were met, at each distance."""
    query = (
        select(claim_columns.nearest, func.count())
        .where(
            claim_columns.namespace == namespace.id, claim_columns.nearest.is_not(None), is_valid()
        )
        .group_by(claim_columns.nearest)
    )
    if run is not None:
        query = query.where(claim_columns.run == run)
    return database.read(lambda connection: {row[0]: row[1] for row in connection.execute(query)})


def quarantined(
    database: Database,
    namespace: NamespaceRow,
    *,
    orphans: bool = False,
    run: int | None = None,
    since: float | None = None,
    min_distance: int | None = None,
    numbers: Iterable[int] | None = None,
) -> Iterator[Row[Any]]:
    """The dropped items, the oldest first: ``id``, ``item`` (packed, or None) and ``item_type``.

    Args:
        database: where they are.
        namespace: in which one.
        orphans: only those that no claim stands for any more.
        run: only those of this run.
        since: only those dropped since then, in seconds since the epoch.
        min_distance: only those at this distance or farther.
        numbers: only those of these duplicates.
    """
    conditions = list(of_namespace(namespace, run))
    # What was only reported was stored as well.
    conditions.append(drop_columns.action != "report")
    if orphans:
        conditions.append(is_orphan())
    if since is not None:
        conditions.append(drop_columns.created >= since)
    if min_distance is not None:
        conditions.append(drop_columns.distance >= min_distance)
    if numbers is not None:
        conditions.append(drop_columns.id.in_(list(numbers)))
    query = select(drop_columns.id, drop_columns.item, drop_columns.item_type).where(*conditions)
    last = -1
    while True:
        page = query.where(drop_columns.id > last).order_by(drop_columns.id).limit(_PAGE)
        rows = database.read(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
        yield from rows
        if len(rows) < _PAGE:
            return
        last = rows[-1].id


def of_namespace(namespace: NamespaceRow, run: int | None) -> tuple[ColumnElement[bool], ...]:
    """The condition that a duplicate is of this namespace and, if one is given, this run."""
    here = drop_columns.namespace == namespace.id
    return (here,) if run is None else (here, drop_columns.run == run)


def unpack(packed: bytes) -> dict[str, Any]:
    """The fields of a packed item.

    Raises:
        ValueError: it is none, as in a damaged database.
    """
    try:
        fields = json.loads(unpack_bytes(packed).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not the fields of an item")  # noqa: TRY004 - nobody's mistake in types
    return fields
