"""What is new, changed, moved, missing, gone and back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.text.packed import unpack_bytes

_row, _run = schema.sightings.c, schema.runs.c
_is_dead = is_dead(schema.runs)


def read_changes(
    namespace: NamespaceRow,
    selection: Selection,
    statuses: Collection[str],
    *conditions: ColumnElement[bool],
) -> Iterator[Record]:
    """What happened, the oldest first; each content of an item comes once.

    An item at a new URL is a copy if its former URL has shown the same visit what it did before,
    and new if that has shown anything else, or if the item has a passage more. A new item is left out if a known item has
    changed to the same content. One that is similar to an item that went at the same visit has its
    URL and the values that differ.
    """
    told = set[tuple[int, int, str]]()
    query = _query(namespace, selection, statuses).where(*conditions)
    for rows in sql.read_in_pages(namespace, query, _row.id):
        former, gone = _former(namespace, rows), _gone(namespace, rows)
        known = _known(namespace, rows)
        found = []
        for row in rows:
            for status in _statuses(row, former[row.id]):
                key = row.identity, row.claim, status
                is_known = status == "new" and (row.claim, row.visit) in known
                if status in statuses and key not in told and not is_known:
                    told.add(key)
                    formerly = gone.get((row.similar_claim, row.visit))
                    change = _change(namespace, row, status, formerly)
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


def _former(namespace: NamespaceRow, rows: Sequence[Row[Any]]) -> Mapping[int, list[Row[Any]]]:
    """What the former URLs of items have shown in the visit, by the numbers of sightings.

    Of a moved item, all URLs are former ones that go on showing what it was. One that shows the
    same change, as a copy, is left out: then the item has changed.
    """
    moved = [row for row in rows if row.source and row.source != row.identity]
    found = defaultdict[int, list[Row[Any]]](list)
    if not moved:
        return found
    content = sql.text_number.label("content")
    query = select(_row.identity, _row.visit, _row.claim, _row.status, _row.before, content).where(
        _row.namespace == namespace.id,
        or_(is_in(_row.identity, "identities"), is_in(_row.claim, "claims")),
        is_in(_row.visit, "visits"),
        _row.status.not_in((*ABSENT, RELEASED)),
    )
    lists = {
        "identities": {row.source for row in moved},
        "claims": {row.before for row in moved if row.status == "moved"},
        "visits": {row.visit for row in moved},
    }
    shown = defaultdict[tuple[str, int, int], list[Row[Any]]](list)
    for one in namespace.read(query, **lists):
        shown["at", one.identity, one.visit].append(one)
        if one.status == "unchanged":
            shown["of", one.claim, one.visit].append(one)
    for row in moved:
        found[row.id] += [
            one
            for one in shown["at", row.source, row.visit]
            if (one.status, one.before) != ("copy", row.before)
        ]
        if row.status == "moved":
            found[row.id] += shown["of", row.before, row.visit]
    return found


def _gone(namespace: NamespaceRow, rows: Sequence[Row[Any]]) -> dict[tuple[int | None, int], str]:
    """The URLs of what went at the visits of new items that are similar, by claim and visit."""
    similar = {row.similar_claim for row in rows if row.status == "new" and row.similar_claim}
    if not similar:
        return {}
    query = select(_row.claim, _row.visit, _row.key, url_of(schema.sightings)).where(
        *(_row.namespace == namespace.id, is_in(_row.claim, "claims")),
        *(is_in(_row.visit, "visits"), _row.status.in_(ABSENT)),
    )
    found = namespace.read(query, claims=similar, visits={row.visit for row in rows})
    return {(row.claim, row.visit): item_url(row.key, row.url) for row in found}


def _known(namespace: NamespaceRow, rows: Sequence[Row[Any]]) -> set[tuple[int, int]]:
    """The claims of new items that known items have changed to, each with the visit."""
    query = select(_row.claim, _row.visit).where(
        *(_row.namespace == namespace.id, is_in(_row.claim, "claims"), _row.id != _row.claim),
        *(is_in(_row.visit, "visits"), _row.status == "changed"),
    )
    new = [row for row in rows if row.status == "new"]
    lists = {"claims": {row.claim for row in new}, "visits": {row.visit for row in new}}
    return {(row.claim, row.visit) for row in namespace.read(query, **lists)} if new else set()


def _statuses(row: Row[Any], former: Sequence[Row[Any]]) -> Iterator[str]:
    """What has happened to an item, given what its former URL has shown in the visit."""
    if row.source not in (0, row.identity) and former:
        is_apart = row.status == "changed" and row.similar_claim is not None
        if not is_apart and any(_shows_still(one, row) for one in former):
            return
        yield "new" if row.status == "changed" else row.status
    else:
        yield row.status
    if row.back:
        yield "back"


def _shows_still(former: Row[Any], row: Row[Any]) -> bool:
    """Whether a former URL has shown what it did before an item was met at a new one."""
    is_unchanged = former.status == "unchanged" and former.before == row.before
    return is_unchanged or row.before in (former.content, former.claim) or former.claim == row.claim


def _with_values(namespace: NamespaceRow, changes: Sequence[Record]) -> Iterator[Record]:
    """Changes; new items that have been elsewhere with the values that differ from those there."""
    places = {place for one in changes if one.formerly for place in one.places}
    kept = read_contents(namespace, places) if places else {}
    for one in changes:
        own, then = (kept.get(place, NOTHING).values for place in one.places)
        yield one._replace(noted=differing_values(own, then)) if one.formerly else one


def _change(namespace: NamespaceRow, row: Row[Any], status: str, formerly: str | None) -> Record:
    try:
        fields = json.loads(unpack_bytes(row.fields)) if row.fields is not None else {}
    except ValueError:
        fields = {}
    is_new = status == "new"
    is_left_out = status == "changed" and row.claim != row.id
    before = row.similar_claim if is_new and formerly else row.before
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
        formerly=formerly if is_new else None,
        places=(row.claim if row.text_digest is None else row.id, before),
    )
