"""The journal: what changed, moved, disappeared and came back, with the values of both sides."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Change, Place, Row, random_number
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.index.writer import in_parts, writing
from scrapy_simhash.item.facts import REST_KEY, REST_OF_ITEM, Facts, changed_facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.text.packed import pack_bytes


class Gone(NamedTuple):
    """What the end of a run finds missing."""

    run: Run
    #: Whether it met everything that the spider finds with these arguments; otherwise only what the
    #: site itself says is gone (404, 410): pages with these hashes of their keys.
    everything: bool
    identities: Collection[int] = ()


def find_removed(database: Database, namespace: int, gone: Gone) -> int:
    """Mark the things that are gone, and note them in the journal; returns how many.

    A thing is gone if the spider met it last in an earlier visit with the same arguments, and this
    visit met no member of its group: neither it, nor a copy, nor a newer version.
    """
    if not (gone.everything or gone.identities):
        return 0
    found = database.read(partial(_missing, namespace, gone))
    if not gone.everything:
        wanted = set(gone.identities)
        found = [(number, identity) for number, identity in found if identity in wanted]
    numbers = [number for number, _ in found]
    in_parts(database, namespace, numbers, partial(_mark, database, namespace, gone.run))
    return len(numbers)


def _missing(namespace: int, gone: Gone, connection: Connection) -> list[tuple[int, int]]:
    """The claims whose group was not met, with their identities; one of each group."""
    row, run, mine = schema.claims.c, schema.runs.c, schema.runs.alias("mine")
    duplicate = schema.duplicates.c
    of_visit = select(run.id).where(run.epoch == gone.run.epoch)
    alike = (run.spider == mine.c.spider, run.arguments == mine.c.arguments)
    before = select(run.id).where(mine.c.id == gone.run.id, *alike, run.epoch != gone.run.epoch)
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
    here = row.namespace == namespace
    columns = (row.id, row.identity, row.origin, row.key, schema.url_of(schema.claims))
    with writing(connection, namespace):
        parameters = {"numbers": list(numbers)}
        mine = select(*columns).where(here, is_in(row.id, "numbers"))
        claims = connection.execute(mine, parameters).all()
        origins = {"numbers": list({claim.origin for claim in claims})}
        group = update(schema.claims).where(here, is_in(row.origin, "numbers"))
        connection.execute(group.values(met=0), origins)
        now = database.clock(connection)
        record(
            connection,
            [
                entry(
                    namespace=namespace,
                    id=random_number(),
                    run=run.id,
                    created=now,
                    status="removed",
                    identity=claim.identity,
                    key=claim.key,
                    url=claim.url,
                    before=claim.id,
                )
                for claim in claims
            ],
        )


def content_of(before: Row | Place) -> tuple[int, int]:
    """The claim and the duplicate (0 for the claim itself) whose text and values something had."""
    return (before.id, 0) if isinstance(before, Row) else (before.claim, before.id)


def change_of(mine: Row, decision: Decision) -> Change:
    """What a document is, compared with earlier visits; without the values that changed."""
    status, before, match = decision.status, decision.before, decision.match
    since = mine.created if status != "unchanged" or before is None else before.created
    if not isinstance(before, Row):
        return Change(status, since)
    is_equal = mine.digest is not None and mine.digest == before.digest
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
        is_equal=is_equal,
    )


def changed_values(
    mine: Row, before: Row | Place | None, new: Mapping[str, str], old: Mapping[str, str]
) -> dict[str, tuple[str | None, str | None]]:
    """The short values that changed, by field: the old one and the new one."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if before is not None and mine.facts and before.facts:
        # Other notations of one value are no change.
        changed = changed_facts(Facts.unpack(mine.facts), Facts.unpack(before.facts))
        names = [name for name in names if name_of(name).key in changed]
        if REST_KEY in changed:
            names.append(REST_OF_ITEM)
    return {name: (old.get(name), new.get(name)) for name in sorted(names)}


def entries(mine: Row, decision: Decision, change: Change) -> Iterable[dict[str, Any]]:
    """The rows of the journal for a document: that it changed or moved, and that it is back."""
    before = decision.before
    if change.status not in {"changed", "moved"} and not change.is_back:
        return
    claim, duplicate = (0, 0) if before is None else content_of(before)
    row = entry(
        namespace=mine.namespace,
        id=mine.token,
        run=mine.run,
        created=mine.created,
        status=change.status,
        identity=mine.identity,
        key=mine.key,
        url=mine.url,
        moved_from=change.origin,
        claim=mine.id if decision.claims else 0,
        before=claim,
        duplicate=duplicate,
        similarity=change.similarity,
        fields=change.fields,
    )
    if change.is_back:
        yield {**row, "id": mine.token ^ 1, "status": "back"}
    if change.status in {"changed", "moved"}:
        yield row


def entry(
    *,
    key: str,
    url: str,
    fields: Mapping[str, Sequence[str | None]] | None = None,
    **columns: Any,
) -> dict[str, Any]:
    """A row of the journal."""
    packed = pack_bytes(json.dumps(fields).encode(), 1) if fields else None
    empty = {"moved_from": None, "claim": 0, "before": 0, "duplicate": 0, "similarity": None}
    return {
        **empty,
        "key": key,
        "url": None if url == key else url,
        "fields": packed,
        **columns,
    }


_insert = CompiledStatement(insert(schema.changes))


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
        _insert.ask(connection, list(rows))


def forget(connection: Connection, namespace: int, tokens: Collection[int]) -> None:
    """Remove what was noted of documents that were not stored; needs the lock."""
    if tokens:
        row = schema.changes.c
        numbers = [*tokens, *(token ^ 1 for token in tokens)]
        gone = delete(schema.changes).where(row.namespace == namespace, is_in(row.id, "numbers"))
        connection.execute(gone, {"numbers": numbers})
