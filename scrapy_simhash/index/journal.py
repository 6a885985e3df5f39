"""What documents are, compared with earlier visits, and the journal of what changed.

The journal says what changed, moved, disappeared and came back, with the values of both sides.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index import queries
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import OF_TEXT, Change, Document, Place, Row, random_number
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.index.writer import in_parts, writing
from scrapy_simhash.item.addresses import address_of, same_site
from scrapy_simhash.item.facts import OTHERS, REST_KEY, REST_OF_ITEM, Facts, changed_facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.text.packed import pack_bytes, unpack_text


def find_removed(
    database: Database, namespace: int, run: Run, pages: Collection[int] = (), *, everything: bool
) -> int:
    """Mark the things that are gone, and note them in the journal; returns how many.

    A thing is gone if the spider met it last in an earlier visit with the same arguments, and this
    visit, which ends with a run, met no member of its group: neither it, nor a copy, nor a newer
    version. Unless the visit met `everything` that the spider finds with these arguments, only the
    `pages` count that the site itself says are gone (404, 410), given by the hashes of their keys.
    """
    if not (everything or pages):
        return 0
    found = database.read(partial(_missing, namespace, run))
    numbers = [number for number, identity in found if everything or identity in pages]
    in_parts(database, namespace, numbers, partial(_mark, database, namespace, run))
    return len(numbers)


def _missing(namespace: int, mine: Run, connection: Connection) -> list[tuple[int, int]]:
    """The claims whose group was not met, with their identities; one of each group."""
    row, run, this = schema.claims.c, schema.runs.c, schema.runs.alias("mine")
    duplicate = schema.duplicates.c
    of_visit = select(run.id).where(run.epoch == mine.epoch)
    alike = (run.spider == this.c.spider, run.arguments == this.c.arguments)
    before = select(run.id).where(this.c.id == mine.id, *alike, run.epoch != mine.epoch)
    met = select(row.origin).where(row.namespace == namespace, row.met.in_(of_visit))
    met_as_copy = (
        select(row.origin)
        .join(schema.duplicates, duplicate.claim == row.id)
        .where(row.namespace == namespace, duplicate.namespace == namespace)
        .where(duplicate.run.in_(of_visit))
    )
    wanted = (
        select(row.id, row.identity, row.origin)
        .where(row.namespace == namespace, row.met.in_(before), is_valid())
        .where(row.origin.not_in(met), row.origin.not_in(met_as_copy))
        .order_by(row.id)
    )
    # The newest claim of each group.
    groups = {found.origin: (found.id, found.identity) for found in connection.execute(wanted)}
    return sorted(groups.values())


def _mark(
    database: Database, namespace: int, run: Run, numbers: Sequence[int], connection: Connection
) -> None:
    """Note that things are gone; all claims of their groups say so."""
    row = schema.claims.c
    in_namespace = row.namespace == namespace
    with writing(connection, namespace):
        here = {"namespace": namespace, "ids": list(numbers)}
        claims = list(map(Row._make, connection.execute(queries.details, here)))
        group = update(schema.claims).where(in_namespace, is_in(row.origin, "numbers"))
        origins = {"numbers": list({claim.origin for claim in claims})}
        connection.execute(group.values(met=0), origins)
        gone = {"run": run.id, "created": database.clock(connection), "status": "removed"}
        record(
            connection,
            [_entry(claim, id=random_number(), before=claim.id, **gone) for claim in claims],
        )


def entries(mine: Row, decision: Decision, change: Change) -> Iterable[dict[str, Any]]:
    """The rows of the journal for a document: that it changed or moved, and that it is back."""
    claim, duplicate = (0, 0) if decision.before is None else content_of(decision.before)
    statuses = {change.status} & {"changed", "moved"} | ({"back"} if change.is_back else set())
    for status in statuses:
        yield _entry(
            mine,
            id=mine.token ^ (status == "back"),
            run=mine.run,
            created=mine.created,
            status=status,
            moved_from=change.origin,
            claim=mine.id if decision.claims else 0,
            before=claim,
            duplicate=duplicate,
            similarity=change.similarity,
            fields=pack_bytes(json.dumps(change.fields).encode(), 1) if change.fields else None,
        )


def _entry(of: Row, **columns: Any) -> dict[str, Any]:
    """A row of the journal about a document or a claim."""
    return {
        **dict.fromkeys(("moved_from", "similarity", "fields")),
        **dict.fromkeys(("claim", "duplicate"), 0),
        "namespace": of.namespace,
        "identity": of.identity,
        "key": of.key,
        "url": None if of.url == of.key else of.url,
        **columns,
    }


def record(
    connection: Connection, rows: Sequence[Mapping[str, Any]], *, retried: bool = False
) -> None:
    """Add rows to the journal; needs the lock of their namespace.

    If `retried`, an earlier attempt may have written them.
    """
    if rows and retried:
        row = schema.changes.c
        numbers = {"numbers": [one["id"] for one in rows]}
        mine = select(row.id).where(
            row.namespace == rows[0]["namespace"],
            is_in(row.id, "numbers"),
        )
        written = set(connection.execute(mine, numbers).scalars())
        rows = [one for one in rows if one["id"] not in written]
    if rows:
        connection.execute(insert(schema.changes), list(rows))


def forget(connection: Connection, namespace: int, tokens: Collection[int]) -> None:
    """Remove what was noted of documents that were not stored; needs the lock."""
    if tokens:
        row = schema.changes.c
        numbers = [*tokens, *(token ^ 1 for token in tokens)]
        gone = delete(schema.changes).where(row.namespace == namespace, is_in(row.id, "numbers"))
        connection.execute(gone, {"numbers": numbers})


def content_of(before: Row | Place) -> tuple[int, int]:
    """The claim and the duplicate (0 for the claim itself) whose text and values something had."""
    return (before.id, 0) if isinstance(before, Row) else (before.claim, before.id)


def changes_of_batch(
    connection: Connection,
    lookup: Lookup,
    documents: Sequence[Document],
    rows: Sequence[Row],
    decisions: Sequence[Decision],
) -> list[Change]:
    """What documents are, compared with earlier visits, with the values that changed."""
    befores = [(decision.status, decision.before) for decision in decisions if decision.before]
    changed = {content_of(before) for status, before in befores if status == "changed"}
    kept = _values(connection, lookup, changed) if changed else {}
    moved = {
        before.id
        for status, before in befores
        if isinstance(before, Row) and status in {"changed", "moved"}
    }
    last = defaultdict[int, list[str]](list)
    if moved and lookup.rule.known == "drop":
        # Items that moved and were left out have no claims of their own.
        found = connection.execute(queries.last_urls, lookup.here(ids=moved)).all()
        for _, claim, key, url in sorted(found, reverse=True):
            last[claim].append(address_of(key, url))
    changes = []
    for document, mine, decision in zip(documents, rows, decisions, strict=True):
        change, before = _change_of(mine, decision), decision.before
        if before is not None:
            if change.origin and isinstance(before, Row):
                # Copies on other sites have not moved.
                here = (one for one in last[before.id] if same_site(one, mine.url))
                change = replace(change, origin=next(here, change.origin))
            if change.status == "changed":
                old = kept.get(content_of(before), document.values)
                values = _changed_values(mine, before, document.values, old, lookup.rule.ignored)
                if not values and change.similarity in {None, 1.0}:
                    # Another order of the words, or a value that is not kept.
                    is_text = mine.text_digest != before.text_digest
                    values = {OF_TEXT if is_text else OTHERS: (None, None)}
                change = replace(change, fields=values)
        changes.append(change)
    return changes


def _values(
    connection: Connection, lookup: Lookup, wanted: Collection[tuple[int, int]]
) -> dict[tuple[int, int], dict[str, str]]:
    """The short values kept of claims, and of duplicates of them (0 for the claim itself)."""
    ids, duplicates = map(set, zip(*wanted, strict=True))
    here = lookup.here(ids=ids, duplicates=duplicates)
    rows = connection.execute(queries.contents, here)
    return {(claim, number): unpack_text(packed)[1] for claim, number, packed in rows}


def _change_of(mine: Row, decision: Decision) -> Change:
    """What a document is, compared with earlier visits; without the values that changed."""
    status, before, match = decision.status, decision.before, decision.match
    since = mine.created if status != "unchanged" or before is None else before.created
    if not isinstance(before, Row):
        return Change(status, since)
    old, new = (address_of(row.key, row.url) for row in (before, mine))
    # An item may be known by its page, and later by its own address.
    is_elsewhere = old != new and (before.identity != mine.identity or before.url != mine.url)
    is_revised = status == "changed" and match is not None and match.claim is before
    return Change(
        status,
        since,
        origin=old if is_elsewhere and status != "unchanged" else None,
        similarity=match.similarity if match is not None and is_revised else None,
        is_back=before.met == 0,
        is_equal=mine.digest is not None and mine.digest == before.digest,
    )


def _changed_values(
    mine: Row,
    before: Row | Place,
    new: Mapping[str, str],
    old: Mapping[str, str],
    ignored: Collection[int],
) -> dict[str, tuple[str | None, str | None]]:
    """The short values that changed, by field: the old one and the new one."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if mine.facts and before.facts:
        # Other notations of one value are no change.
        changed = changed_facts(Facts.unpack(mine.facts), Facts.unpack(before.facts), ignored)
        names = [name for name in names if name_of(name).key in changed]
        names += [REST_OF_ITEM] if REST_KEY in changed else []
    return {name: (old.get(name), new.get(name)) for name in sorted(names)}
