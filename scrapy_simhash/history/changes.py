"""What is new, changed, moved, missing, gone and back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, literal, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import State
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.record import NOTHING, Record, differing_values
from scrapy_simhash.history.sql import NamespaceRow, Selection
from scrapy_simhash.index.queries import is_dead
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.item.keys import UNIDENTIFIED, item_url
from scrapy_simhash.text.packed import unpack_bytes

_row, _run = schema.sightings.c, schema.runs.c
_is_dead = is_dead(schema.runs)

# What visits have met, by "at" with its identity or "of" with its claim, and the visit.
_Met = defaultdict[tuple[str, int | None, int], list[Row[Any]]]


def read_changes(
    namespace: NamespaceRow,
    selection: Selection,
    statuses: Collection[str],
    *conditions: ColumnElement[bool],
) -> Iterator[Record]:
    """What happened, the oldest first; each content of an item comes once.

    An item at a new URL is a copy if its former URL has shown the same visit what it did before,
    and new if that has shown anything else, or if the item has a passage more. A new item is left
    out if a known item has changed to the same content. One that is similar to an item that went
    at the same visit has its URL and the values that differ.
    """
    told = set[tuple[int, int, str]]()
    query = _query(namespace, selection, statuses).where(*conditions)
    for rows in sql.read_in_pages(namespace, query, _row.id):
        met, found = _met(namespace, rows), []
        for row in rows:
            for status in _statuses(row, met):
                key = row.identity, row.claim, status
                if status in statuses and key not in told:
                    told.add(key)
                    change = _change(namespace, row, status, met)
                    found += [change] * selection.has(change.url)
        yield from _with_values(namespace, found)


def _query(namespace: NamespaceRow, selection: Selection, statuses: Collection[str]) -> Select[Any]:
    # What changed at a new URL may be new.
    wanted = {*statuses, *(["changed"] if "new" in statuses else [])} - {"back"}
    is_told = or_(_row.status.in_(wanted), and_(_row.back, literal("back" in statuses)))
    # What was stored, but whose claim was replaced since, has no claim.
    is_stored = or_(sql.claims.state.is_(None), sql.claims.state == State.CONFIRMED)
    joined = sql.drops_with_claims.join(schema.runs, _run.id == _row.run)
    return (
        select(
            schema.sightings,
            url_of(schema.sightings).label("place"),
            sql.claims.similar_claim,
        )
        .select_from(joined)
        .where(_row.namespace == namespace.id, is_told, _row.status != RELEASED, ~_is_dead)
        .where(or_(_row.status != "new", is_stored), *selection.conditions(schema.sightings))
    )


def _met(namespace: NamespaceRow, rows: Sequence[Row[Any]]) -> _Met:
    """What the visits of sightings have met at former URLs, and of the claims that these name."""
    from_elsewhere = [row for row in rows if row.source not in (0, row.identity)]
    new = [row for row in rows if row.status == "new"]
    columns = "id", "identity", "visit", "claim", "status", "before", "key"
    content = sql.text_number.label("content")
    query = select(*(_row[name] for name in columns), url_of(schema.sightings), content).where(
        *(_row.namespace == namespace.id, is_in(_row.visit, "visits"), _row.status != RELEASED),
        or_(
            is_in(_row.identity, "identities"),
            and_(is_in(_row.claim, "claims"), _row.status.in_(("changed", "unchanged", *ABSENT))),
        ),
    )
    lists = {
        "visits": {row.visit for row in (*from_elsewhere, *new)},
        "identities": {row.source for row in from_elsewhere},
        "claims": {row.before for row in from_elsewhere if row.status == "moved"}
        | {claim for row in new for claim in (row.claim, row.similar_claim) if claim},
    }
    met = _Met(list)
    for one in namespace.read(query, **lists) if lists["visits"] else ():
        met["at", one.identity, one.visit].append(one)
        met["of", one.claim, one.visit].append(one)
    return met


def _former(row: Row[Any], met: _Met) -> Sequence[Row[Any]]:
    """What the former URLs of an item have shown in the visit.

    Of a moved item, all URLs are former ones that go on showing what it was. One that shows the
    same change, as a copy, is left out: then the item has changed.
    """
    if row.source in (0, row.identity) or row.status == "new":
        return ()
    of_claim = met["of", row.before, row.visit] if row.status == "moved" else ()
    return [
        one
        for one in met["at", row.source, row.visit]
        if one.status not in ABSENT and (one.status, one.before) != ("copy", row.before)
    ] + [one for one in of_claim if one.status == "unchanged"]


def _statuses(row: Row[Any], met: _Met) -> Iterator[str]:
    """What has happened to an item, given what the visit has met."""
    status, former = row.status, _former(row, met)
    is_apart = row.status == "changed" and row.similar_claim is not None
    if not is_apart and any(_shows_still(one, row) for one in former):
        return
    if former and status == "changed":
        status = "new"
    of_claim = met["of", row.claim, row.visit]
    is_known = any(one.status == "changed" and one.id != one.claim for one in of_claim)
    if status != "new" or not is_known:
        yield status
    if row.back:
        yield "back"


def _shows_still(former: Row[Any], row: Row[Any]) -> bool:
    """Whether a former URL has shown what it did before an item was met at a new one."""
    is_unchanged = former.status == "unchanged" and former.before == row.before
    return is_unchanged or row.before in (former.content, former.claim) or former.claim == row.claim


def _with_values(namespace: NamespaceRow, changes: Sequence[Record]) -> Iterator[Record]:
    """Changes; entries without a URL with what is kept of them.

    New items that have been elsewhere get the values that differ from those there.
    """
    asked = [one for one in changes if one.formerly or one.key.startswith(UNIDENTIFIED)]
    kept = read_contents(namespace, {place for one in asked for place in one.places})
    for one in changes:
        own, then = (kept.get(place, NOTHING) for place in one.places)
        noted = differing_values(own.values, then.values) if one.formerly else one.noted
        yield one._replace(own=own, noted=noted)


def _change(namespace: NamespaceRow, row: Row[Any], status: str, met: _Met) -> Record:
    try:
        fields = json.loads(unpack_bytes(row.fields)) if row.fields is not None else {}
    except ValueError:
        fields = {}
    is_new, before, formerly = status == "new", row.before, None
    # The similar claim may be an earlier version of what went.
    for which in (("at", row.source), ("of", row.similar_claim)):
        for one in met[*which, row.visit] if is_new else ():
            if one.status in ABSENT:
                before, formerly = one.claim, item_url(one.key, one.url)
    is_left_out = status == "changed" and row.claim != row.id
    return Record(
        status=status,
        page=row.place,
        key=row.key,
        original_page=row.original if status in ("changed", "moved") else None,
        created=row.created,
        run=row.run,
        namespace=namespace.name,
        group=group_name(namespace.id, row.origin) if is_new else None,
        # The similarity of what is left out is that to its original.
        similarity=None if is_new or is_left_out else row.similarity,
        noted={} if is_new else fields,
        formerly=formerly,
        places=(row.claim if row.text_digest is None or status in ABSENT else row.id, before),
    )
