"""What documents are, compared with earlier visits, and the journal of what changed.

The journal says what changed, moved, disappeared and came back, with the values of both sides.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection, delete, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index import queries
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import (
    OF_TEXT,
    ClaimRow,
    Document,
    LastDuplicate,
    Verdict,
    random_number,
)
from scrapy_simhash.index.writer import in_parts, writing
from scrapy_simhash.item.facts import (
    OTHERS,
    REST_KEY,
    REST_OF_ITEM,
    Facts,
    changed_facts,
    keys_of,
)
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.item.urls import same_site
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
    claims = database.read(partial(_missing, namespace, run))
    numbers = [number for number, identity in claims if everything or identity in pages]
    in_parts(run.transact, numbers, partial(_mark, database, namespace, run))
    return len(numbers)


def _missing(namespace: int, this_run: Run, connection: Connection) -> list[tuple[int, int]]:
    """The claims whose group was not met, with their identities; one of each group."""
    row, run, this = schema.claims.c, schema.runs.c, schema.runs.alias("mine")
    duplicate = schema.duplicates.c
    of_visit = select(run.id).where(run.epoch == this_run.epoch)
    alike = (run.spider == this.c.spider, run.arguments == this.c.arguments)
    before = select(run.id).where(this.c.id == this_run.id, *alike, run.epoch != this_run.epoch)
    met = select(row.origin).where(row.namespace == namespace, row.last_run.in_(of_visit))
    met_as_copy = (
        select(row.origin)
        .join(schema.duplicates, duplicate.claim == row.id)
        .where(row.namespace == namespace, duplicate.namespace == namespace)
        .where(duplicate.run.in_(of_visit))
    )
    wanted = (
        select(row.id, row.identity, row.origin)
        .where(row.namespace == namespace, row.last_run.in_(before), is_valid())
        .where(row.origin.not_in(met), row.origin.not_in(met_as_copy))
        .order_by(row.id)
    )
    # The newest claim of each group.
    groups = {claim.origin: (claim.id, claim.identity) for claim in connection.execute(wanted)}
    return sorted(groups.values())


def _mark(
    database: Database, namespace: int, run: Run, numbers: Sequence[int], connection: Connection
) -> None:
    """Note that things are gone; all claims of their groups say so."""
    row = schema.claims.c
    in_namespace = row.namespace == namespace
    with writing(connection, namespace):
        here = {"namespace": namespace, "ids": list(numbers)}
        claims = list(map(ClaimRow._make, connection.execute(queries.details, here)))
        group = update(schema.claims).where(in_namespace, is_in(row.origin, "numbers"))
        origins = {"numbers": list({claim.origin for claim in claims})}
        connection.execute(group.values(last_run=0), origins)
        gone = {"run": run.id, "created": database.clock(connection), "status": "removed"}
        record(
            connection,
            [_entry(claim, id=random_number(), before=claim.id, **gone) for claim in claims],
        )


def entries(verdict: Verdict, change: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The rows of the journal for a document: that it changed or moved, and that it is back."""
    row, before = cast("ClaimRow", verdict.row), verdict.before
    claim, duplicate = (0, 0) if before is None else content_of(before)
    fields = change.get("fields")
    statuses = {verdict.status} & {"changed", "moved"} | ({"back"} if verdict.is_back else set())
    for status in statuses:
        yield _entry(
            row,
            id=row.token ^ (status == "back"),
            run=row.run,
            created=row.created,
            status=status,
            moved_from=change.get("moved_from"),
            claim=0 if verdict.claim is None else row.id,
            before=claim,
            duplicate=duplicate,
            similarity=verdict.similarity,
            fields=pack_bytes(json.dumps(fields).encode(), 1) if fields else None,
        )


def _entry(of: ClaimRow, **columns: Any) -> dict[str, Any]:
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


def record(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to the journal; needs the lock of their namespace."""
    if rows:
        connection.execute(insert(schema.changes), list(rows))


def forget(connection: Connection, namespace: int, tokens: Collection[int]) -> None:
    """Remove what was noted of documents that were not stored; needs the lock."""
    if tokens:
        row = schema.changes.c
        numbers = [*tokens, *(token ^ 1 for token in tokens)]
        gone = delete(schema.changes).where(row.namespace == namespace, is_in(row.id, "numbers"))
        connection.execute(gone, {"numbers": numbers})


def content_of(before: ClaimRow | LastDuplicate) -> tuple[int, int]:
    """The claim and the duplicate (0 for the claim itself) whose text and values something had."""
    return (before.id, 0) if isinstance(before, ClaimRow) else (before.claim, before.id)


def read_changes(
    connection: Connection,
    lookup: Lookup,
    documents: Sequence[Document],
    verdicts: Sequence[Verdict],
) -> list[dict[str, Any]]:
    """How each document has changed, as its verdict tells: `moved_from` and `fields`."""
    changed = {
        content_of(verdict.before)
        for verdict in verdicts
        if verdict.before and verdict.status == "changed"
    }
    kept = _values(connection, lookup, changed) if changed else {}
    moved = {
        verdict.before.id
        for verdict in verdicts
        if isinstance(verdict.before, ClaimRow) and verdict.status in {"changed", "moved"}
    }
    last_urls = defaultdict[int, list[str]](list)
    if moved and lookup.rule.known == "drop":
        # Items that moved and were left out have no claims of their own.
        rows = connection.execute(queries.last_urls, lookup.here(ids=moved)).all()
        for _, claim, key, url in sorted(rows, reverse=True):
            last_urls[claim].append(item_url(key, url))
    ignored = lookup.rule.ignored_keys
    return [
        {
            "moved_from": _moved_from(verdict, last_urls),
            "fields": _changed_fields(verdict, document.values, kept, ignored),
        }
        if verdict.before and verdict.status != "unchanged"
        else {}
        for document, verdict in zip(documents, verdicts, strict=True)
    ]


def _values(
    connection: Connection, lookup: Lookup, wanted: Collection[tuple[int, int]]
) -> dict[tuple[int, int], dict[str, str]]:
    """The short values kept of claims, and of duplicates of them (0 for the claim itself)."""
    ids, duplicates = map(set, zip(*wanted, strict=True))
    here = lookup.here(ids=ids, duplicates=duplicates)
    rows = connection.execute(queries.contents, here)
    return {(claim, number): unpack_text(packed)[1] for claim, number, packed in rows}


def _moved_from(verdict: Verdict, last_urls: Mapping[int, Sequence[str]]) -> str | None:
    """The URL where an item was found before, if that was another."""
    row, before = verdict.row, verdict.before
    if row is None or not isinstance(before, ClaimRow):
        return None
    old, new = item_url(before.key, before.url), item_url(row.key, row.url)
    # An item may be known by its page, and later by its own URL.
    if old == new or (before.identity == row.identity and before.url == row.url):
        return None
    # Copies on other sites have not moved.
    return next((url for url in last_urls[before.id] if same_site(url, row.url)), old)


def _changed_fields(
    verdict: Verdict,
    new: Mapping[str, str],
    kept: Mapping[tuple[int, int], Mapping[str, str]],
    ignored: Collection[int],
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of a document that changed, by field: the old one and the new one."""
    row, before = verdict.row, verdict.before
    if row is None or before is None or verdict.status != "changed":
        return {}
    # Without its old values, nothing is known of the fields.
    old = kept.get(content_of(before), new)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if row.facts and before.facts:
        # Other notations of one value are no change.
        changed = changed_facts(Facts.unpack(row.facts), Facts.unpack(before.facts), ignored)
        names = [name for name in names if not changed.isdisjoint(keys_of(name))]
        names += [REST_OF_ITEM] if REST_KEY in changed else []
    if not names and verdict.similarity in {None, 1.0}:
        # Another order of the words, or a value that is not kept.
        return {OF_TEXT if row.text_digest != before.text_digest else OTHERS: (None, None)}
    return {name: (old.get(name), new.get(name)) for name in sorted(names)}
