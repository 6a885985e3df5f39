"""What was decided on items, beside those they were copies of, or kept beside; dropped items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Row,
    Select,
    case,
    func,
    literal,
    or_,
    select,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import RESTORED, SAME
from scrapy_simhash.history import sql
from scrapy_simhash.history.record import NOTHING, Content, Record
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, Selection, read_runs
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.index.words import KEPT, status_of
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.packed import unpack_text

# Records whose texts are read at once.
_PART = 200
# Items read at once: each may be large.
_ITEMS_AT_ONCE = 100


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

_select_dropped = _select(
    schema.sightings,
    schema.claims,
    differs=literal(""),
    original_page=_short(func.coalesce(_met_at, url_of(schema.claims), sql.drops.original)),
    original_key=_short(func.coalesce(_met_at, sql.claims.key, sql.drops.original)),
    origin=sql.drops.origin,
    is_orphan=sql.drops.orphaned,
    has_item=sql.drops.item.is_not(None),
    text=sql.text_number,
    **{
        name: sql.drops[name] for name in ("claim", "action", "distance", "similarity", "estimated")
    },
).select_from(sql.drops_with_claims)

_select_kept = _select(
    schema.claims,
    sql.others,
    differs=sql.claims.differs,
    action=literal(KEPT),
    text=sql.claims.id,
    claim=sql.claims.similar_claim,
).select_from(sql.claims_with_others)


def read_decisions(
    namespace: NamespaceRow,
    selection: Selection = EVERYTHING,
    *conditions: ColumnElement[bool],
    kept: bool = False,
    newest: int | None = None,
    **numbers: Iterable[int],
) -> Iterator[Record]:
    """What was dropped, or kept although it is similar, in its order; or only the newest so many.

    The conditions may have lists of numbers as parameters (see `is_in`).
    """
    number, query = sql.drops.id, _select_dropped.where(*sql.drops_of(namespace))
    if kept:
        is_kept = sql.claims.differs.is_not(None)
        number, query = sql.claims.id, _select_kept.where(*sql.claims_of(namespace), is_kept)
    query = query.where(*conditions, *selection.conditions(number.table))
    pages: Iterable[Sequence[Any]] = sql.read_in_pages(namespace, query, number)
    if newest is not None:
        last = query.order_by(number.desc()).limit(newest)
        pages = [namespace.read(last, **numbers)[::-1]]
    for row in chain.from_iterable(pages):
        record = _record(namespace, row)
        if selection.has(record.url):
            yield record


def _record(namespace: NamespaceRow, row: Any) -> Record:
    named = {name: value for name, value in row._mapping.items() if name in Record._fields}
    named |= {
        "id": None if row.action == KEPT else f"{namespace.id}-{row.id}",
        "namespace": namespace.name,
        "group": None if row.origin is None else group_name(namespace.id, row.origin),
        "status": status_of(row.action),
        "places": (row.text, row.claim or 0),
    }
    return Record(**named)


def count(
    namespace: NamespaceRow, column: ColumnElement[Any], selection: Selection = EVERYTHING
) -> Counter[Any]:
    """How often a column of claims, or of duplicates, has each value."""
    is_claim = column.table is schema.claims
    conditions = sql.claims_of(namespace) if is_claim else sql.drops_of(namespace)
    query = select(column, func.count()).where(*conditions, column.is_not(None))
    found = namespace.read(query.where(*selection.conditions(column.table)).group_by(column))
    return Counter(dict(found))


def read_contents(namespace: NamespaceRow, numbers: Iterable[int]) -> dict[int, Content]:
    """What is kept of stored and left out items, by the numbers of their texts."""
    row = schema.texts.c
    query = select(row.id, row.text).where(row.namespace == namespace.id, is_in(row.id, "numbers"))
    found = namespace.read(query, numbers=numbers)
    return {number: Content(*unpack_text(packed)) for number, packed in found}


def with_contents(
    namespace: NamespaceRow, records: Iterable[Record], scheme: Scheme | None
) -> Iterator[Record]:
    """Records with what is kept of both items.

    Similarities that are unknown or estimates are computed, if both texts are kept and there is a
    scheme that has shingles.
    """
    records = iter(records)
    while part := list(islice(records, _PART)):
        kept = read_contents(namespace, {place for record in part for place in record.places})
        for record in part:
            own, stored = (kept.get(place, NOTHING) for place in record.places)
            found = record._replace(own=own, stored=stored)
            is_exact = record.similarity is not None and not record.estimated
            if scheme and own.text and stored.text and not is_exact:
                one, other = (scheme.sketch(text).shingles for text in (own.text, stored.text))
                if one is not None and other is not None:
                    found = found._replace(similarity=jaccard(one, other), estimated=False)
            yield found


def _is_one(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for what was dropped; items with the action "report" were stored."""
    row = sql.drops
    return [row.namespace == namespace.id, row.action.in_(("drop", SAME, RESTORED))]


def choose_drops(
    namespace: NamespaceRow, selection: Selection = EVERYTHING, *, orphans: bool = False
) -> tuple[list[int], Counter[str]]:
    """The numbers of the dropped items of a selection, or only of orphans, the oldest first.

    Also how many are not among them: those that were restored since they were dropped last, and
    older drops of the same items.
    """
    row, was_restored = sql.drops, sql.drops.action == RESTORED
    has_item = or_(row.item.is_not(None), was_restored).label("has_item")
    columns = row.id, row.identity, row.run, row.action, row.key, url_of(schema.sightings), has_item
    query = select(*columns).where(*_is_one(namespace), *selection.conditions(schema.sightings))
    if orphans:
        query = query.where(or_(row.orphaned, was_restored))
    found, newest = list[tuple[Row[Any], tuple[bool, int]]](), dict[int, tuple[bool, int]]()
    for rows in sql.read_in_pages(namespace, query, row.id):
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
    older = len(found) - restored - len(numbers)
    return numbers, Counter({"restored before": restored, "older drops of these items": older})


def count_unlisted(namespace: NamespaceRow, selection: Selection) -> int:
    """How many items runs left out without a row, as they had not changed at all."""
    if not selection.runs or selection.site:
        return 0
    of_runs = [row.counts for row in read_runs(namespace, selection)]
    rows = select(func.count()).where(*_is_one(namespace), *selection.conditions(schema.sightings))
    return max(0, sum(one[2] for one in of_runs if one) - int(namespace.read(rows)[0][0]))


def read_items(
    namespace: NamespaceRow, numbers: Sequence[int]
) -> Iterator[tuple[Record, bytes | None, str]]:
    """The dropped items of these numbers, in their order: packed if it is kept, and its type."""
    query = (
        _select_dropped.add_columns(sql.drops.item, sql.drops.item_type)
        .where(*_is_one(namespace), is_in(sql.drops.id, "numbers"))
        .order_by(sql.drops.id)
    )
    for start in range(0, len(numbers), _ITEMS_AT_ONCE):
        for row in namespace.read(query, numbers=numbers[start : start + _ITEMS_AT_ONCE]):
            record = _record(namespace, row)
            if row.action == RESTORED:
                # It stands for itself now.
                record = record._replace(original_page=None, original_key=None)
            yield record, row.item, row.item_type or ""
