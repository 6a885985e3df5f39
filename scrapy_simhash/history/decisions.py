"""What was decided on items: beside those they were copies of, or kept beside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    case,
    func,
    literal,
    select,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.features.shingles import similarity_of
from scrapy_simhash.history import sql
from scrapy_simhash.history.record import NOTHING, Content, Record
from scrapy_simhash.history.selection import Selection
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.queries import is_orphan
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.index.words import KEPT, status_of
from scrapy_simhash.simhash.measure import distance, jaccard, similarity_at
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

# Records that are read at once.
_PART = 200


def _short(text: ColumnElement[str]) -> ColumnElement[str]:
    return func.substr(text, 1, sql.LONGEST_URL)


def _select(table: FromClause, stored: FromClause, **own: ColumnElement[Any]) -> Select[Any]:
    """What a record is made of."""
    columns = {
        **{name: table.c[name] for name in ("id", "run", "created", "compared_by")},
        "page": sql.short_url(table),
        "key": _short(table.c.key),
        "original_page": sql.short_url(stored),
        "original_key": _short(stored.c.key),
        "first_seen": stored.c.created,
        "origin": stored.c.origin,
        **own,
    }
    return select(*(column.label(name) for name, column in columns.items()))


# The URL at which the visit met the original of a copy; other statuses keep the former URL there.
_met_at = case((sql.drops.status.in_(("changed", "moved")), None), else_=sql.drops.original)

#: What a record of a duplicate is made of.
select_dropped = _select(
    schema.sightings,
    schema.claims,
    differs=literal(""),
    original_page=_short(func.coalesce(_met_at, url_of(schema.claims), sql.drops.original)),
    original_key=_short(func.coalesce(_met_at, sql.claims.key, sql.drops.original)),
    origin=sql.drops.origin,
    is_orphan=is_orphan(),
    has_item=sql.drops.item.is_not(None),
    text=case((sql.drops.text_digest.is_(None), sql.drops.claim), else_=sql.drops.id),
    **{
        name: sql.drops[name] for name in ("claim", "action", "distance", "similarity", "estimated")
    },
).select_from(sql.drops_with_claims)

_MEASURED = ("fingerprint", "minhash", "text_digest")
_select_kept = _select(
    schema.claims,
    sql.others,
    claim=sql.claims.similar_claim,
    differs=sql.claims.differs,
    **{name: sql.claims[name] for name in _MEASURED},
    **{f"other_{name}": sql.others.c[name] for name in _MEASURED},
).select_from(sql.claims_with_others)


def _query(namespace: NamespaceRow, *, kept: bool) -> Select[Any]:
    if not kept:
        return select_dropped.where(*sql.drops_of(namespace))
    return _select_kept.where(*sql.claims_of(namespace), sql.claims.differs.is_not(None))


def read_newest(
    namespace: NamespaceRow,
    *conditions: ColumnElement[bool],
    kept: bool = False,
    limit: int | None = None,
    **numbers: Iterable[int],
) -> list[Record]:
    """The newest so many that were dropped, or kept although similar, the oldest first.

    The conditions may have lists of numbers as parameters (see `is_in`).
    """
    number = (sql.claims if kept else sql.drops).id
    query = _query(namespace, kept=kept).where(*conditions).order_by(number.desc())
    make = partial(_kept if kept else dropped, namespace)
    return [make(row) for row in namespace.read(query.limit(limit), **numbers)][::-1]


def read_decisions(
    namespace: NamespaceRow, selection: Selection, *, kept: bool
) -> Iterator[list[Record]]:
    """What was dropped, or kept although it is similar, in its order, some at a time."""
    table = schema.claims if kept else schema.sightings
    query = _query(namespace, kept=kept).where(*selection.conditions(table))
    make = partial(_kept if kept else dropped, namespace)
    for rows in sql.read_in_pages(namespace, query, table.c.id, _PART):
        yield [one for one in map(make, rows) if selection.has(one.url)]


def dropped(namespace: NamespaceRow, row: Any) -> Record:
    """The record of a row of `select_dropped`."""
    return _record(
        namespace,
        row,
        id=f"{namespace.id}-{row.id}",
        status=status_of(row.action),
        similarity=row.similarity,
        estimated=row.estimated,
        distance=row.distance,
        is_orphan=row.is_orphan,
        has_item=row.has_item,
        places=(row.text, row.claim),
    )


def _kept(namespace: NamespaceRow, row: Any) -> Record:
    similarity, is_estimate = _similarity(row)
    return _record(
        namespace,
        row,
        status=KEPT,
        similarity=similarity,
        estimated=is_estimate,
        places=(row.id, row.claim or 0),
    )


def _record(namespace: NamespaceRow, row: Any, **more: Any) -> Record:
    return Record(
        page=row.page,
        key=row.key,
        original_page=row.original_page,
        original_key=row.original_key,
        created=row.created,
        run=row.run,
        namespace=namespace.name,
        group=None if row.origin is None else group_name(namespace.id, row.origin),
        differs=row.differs,
        compared_by=row.compared_by,
        first_seen=row.first_seen,
        **more,
    )


def _similarity(row: Any) -> tuple[float | None, bool]:
    """The similarity of two stored items, and whether it is an estimate."""
    if row.text_digest and row.text_digest == row.other_text_digest:
        return 1.0, False
    if row.minhash is not None and row.other_minhash is not None:
        return similarity_of(row.minhash, row.other_minhash), True
    if row.other_fingerprint is None:
        return None, False
    prints = (int.from_bytes(one, "big") for one in (row.fingerprint, row.other_fingerprint))
    return similarity_at(distance(*prints), 8 * len(row.fingerprint)), True


def count(namespace: NamespaceRow, name: str) -> dict[int, Counter[Any]]:
    """How often a column has each value, by run: of duplicates their action, else of claims."""
    columns, conditions = sql.claims, sql.claims_of(namespace)
    if name == "action":
        columns, conditions = sql.drops, sql.drops_of(namespace)
    column: ColumnElement[Any] = columns[name]
    query = select(columns.run, column, func.count()).where(*conditions, column.is_not(None))
    found = defaultdict[int, Counter[Any]](Counter)
    for run, one, number in namespace.read(query.group_by(columns.run, column)):
        found[run][one] = number
    return found


def read_contents(namespace: NamespaceRow, numbers: Iterable[int]) -> dict[int, Content]:
    """What is kept of stored and left out items, by the numbers of their texts."""
    row = schema.texts.c
    query = select(row.id, row.text).where(row.namespace == namespace.id, is_in(row.id, "numbers"))
    found = namespace.read(query, numbers=numbers)
    return {number: Content(*unpack_text(packed)) for number, packed in found}


def with_contents(
    namespace: NamespaceRow, records: Sequence[Record], scheme: Scheme | None
) -> Iterator[Record]:
    """Records with what is kept of both items.

    Similarities that are unknown or estimates are computed, if both texts are kept and there is a
    scheme that has shingles.
    """
    kept = read_contents(namespace, {place for record in records for place in record.places})
    for record in records:
        own, stored = (kept.get(place, NOTHING) for place in record.places)
        found = record._replace(own=own, stored=stored)
        is_exact = record.similarity is not None and not record.estimated
        if scheme and own.text and stored.text and not is_exact:
            one, other = (scheme.sketch(text).shingles for text in (own.text, stored.text))
            if one is not None and other is not None:
                found = found._replace(similarity=jaccard(one, other), estimated=False)
        yield found
