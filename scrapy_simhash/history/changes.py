"""What is new, changed, moved, removed and back, since a time or in a run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from heapq import merge
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, union

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.values import State
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history import sql
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.text.packed import unpack_bytes

# Later than all times, and than all numbers of claims. Databases have no infinity.
_NEVER = 1 << 62

# Rows read at once.
_PAGE = 1000

_row, _run = schema.changes.c, schema.runs.c
# What a dead run had stored is released, unless its claims are kept.
_is_dead = and_(_run.recovered.is_not(None), _run.on_crash == "release")


class Window(NamedTuple):
    """The time that is looked at, in seconds since the epoch, and the only run that counts."""

    since: float
    until: float = _NEVER
    run: int | None = None


def read_window(namespace: NamespaceRow, *, since: float | None, run: int | None) -> Window:
    """The window since a time; of a run if it is given; by default since the last run was opened.

    The time is in seconds since the epoch or, as an int, the run that it was the start of.
    """
    if isinstance(since, float):
        return Window(since)
    number = run or since
    runs = select(_run.id, _run.opened, _run.closed, _is_dead.label("is_dead"))
    if number is not None:
        runs = runs.where(_run.id == number)
    else:
        claims, changes, drops = schema.claims.c, _row, schema.duplicates.c
        here = union(
            *(
                select(table.run).where(table.namespace == namespace.id)
                for table in (claims, changes, drops)
            ),
            select(claims.last_run).where(claims.namespace == namespace.id),
        )
        runs = runs.where(_run.id.in_(here), ~_is_dead).order_by(_run.id.desc()).limit(1)
    found = namespace.read(runs)
    if not found:
        raise NotFound(f"there is no run {number}" if number else "no crawl has stored anything")
    if found[0].is_dead and run:
        raise NotFound(f"what run {run} had stored was released: it crashed, or its feeds failed")
    until = found[0].closed if run and found[0].closed is not None else _NEVER
    return Window(found[0].opened, until, run)


def read_changes(
    namespace: NamespaceRow, window: Window, statuses: Collection[str]
) -> Iterator[Record]:
    """What happened in a window, the oldest first."""
    noted = [status for status in statuses if status != "new"]
    found = [_noted(namespace, window, noted)] if noted else []
    if "new" in statuses:
        found.append(_new(namespace, window))
    return merge(*found, key=attrgetter("created"))


def _noted(namespace: NamespaceRow, window: Window, statuses: Collection[str]) -> Iterator[Record]:
    dead = select(_run.id).where(_is_dead)
    query: Select[Any] = (
        select(schema.changes, url_of(schema.changes).label("place"))
        .where(_row.namespace == namespace.id, _row.status.in_(statuses), _row.run.not_in(dead))
        .order_by(_row.created, _row.id)
        .limit(_PAGE)
    )
    if window.run is not None:
        query = query.where(_row.run == window.run)
    following: ColumnElement[bool] = _row.created >= window.since
    while rows := namespace.read(query.where(following)):
        yield from (_change(namespace, row) for row in rows)
        last = rows[-1]
        is_later = or_(_row.created > last.created, _row.id > last.id)
        following = and_(_row.created >= last.created, is_later)


def _change(namespace: NamespaceRow, row: Row[Any]) -> Record:
    try:
        fields = json.loads(unpack_bytes(row.fields)) if row.fields is not None else {}
    except ValueError:
        fields = {}
    return Record(
        status=row.status,
        page=row.place,
        key=row.key,
        original_page=row.moved_from,
        created=row.created,
        run=row.run,
        namespace=namespace.name,
        similarity=row.similarity,
        noted=fields,
        places=((row.claim, 0), (row.before, row.duplicate)),
    )


def _new(namespace: NamespaceRow, window: Window) -> Iterator[Record]:
    """The things whose first version was made in the window.

    Where that version is gone, its number tells the time. A copy that became another thing is
    noted as changed.
    """
    noted = select(_row.claim).where(
        _row.namespace == namespace.id, _row.created >= window.since, _row.status == "changed"
    )
    changed = {claim for (claim,) in namespace.read(noted)}
    first = _first_number(namespace, window.since)
    row = sql.claims
    conditions = [*sql.claims_of(namespace), row.state == State.CONFIRMED, row.origin >= first]
    if window.run is not None:
        # Or a later version of what it met first.
        conditions.append(row.origin < _first_number(namespace, window.until))
        conditions.append(or_(row.run == window.run, row.created >= window.until))
    query = select(row.id, row.origin, row.created, row.run, row.key, url_of(schema.claims))
    seen: set[int] = set()
    for rows in sql.read_in_pages(
        namespace, query.where(*conditions, row.id >= first), row.id, _PAGE
    ):
        for found in rows:
            if found.origin not in seen:
                seen.add(found.origin)
                if found.id == found.origin and found.id in changed:
                    continue
                yield Record(
                    status="new",
                    page=found.url,
                    key=found.key,
                    created=found.created,
                    run=found.run,
                    namespace=namespace.name,
                    group=group_name(namespace.id, found.origin),
                )


def _first_number(namespace: NamespaceRow, time: float) -> int:
    """The smallest number of a claim that is known to be made since a time.

    Claims are numbered in the order of time; a claim that is gone may have had a smaller one.
    """
    if time <= namespace.created:
        return 0
    claim = sql.claims
    made = select(func.min(claim.id)).where(claim.namespace == namespace.id, claim.created >= time)
    noted = select(func.min(_row.claim)).where(
        _row.namespace == namespace.id, _row.created >= time, _row.claim > 0
    )
    found = [namespace.read(query)[0][0] for query in (made, noted)]
    return min((int(number) for number in found if number is not None), default=_NEVER)
