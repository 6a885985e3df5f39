"""What the documents of a batch are, compared with earlier visits, and which values changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from scrapy_simhash.index import queries
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.verdict import Change, Document, Place, Row
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.item.facts import REST_KEY, REST_OF_ITEM, Facts, changed_facts
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.text.packed import unpack_text


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
    values = _values(connection, lookup, changed) if changed else {}
    moved = {
        before.id
        for status, before in befores
        if isinstance(before, Row) and status in {"changed", "moved"}
    }
    last = {}
    if moved and lookup.rule.known == "drop":
        # Items that moved and were left out have no claims of their own.
        found = queries.last_urls.ask(connection, lookup.here(ids=moved)).rows
        last = {claim: address_of(key, url) for _, claim, key, url in sorted(found)}
    changes = []
    for document, mine, decision in zip(documents, rows, decisions, strict=True):
        change, before = _change_of(mine, decision), decision.before
        if before is not None:
            if change.origin and isinstance(before, Row) and before.id in last:
                change = replace(change, origin=last[before.id])
            if change.status == "changed" and (old := values.get(content_of(before))) is not None:
                change = replace(change, fields=_changed_values(mine, before, document.values, old))
        changes.append(change)
    return changes


def _values(
    connection: Connection, lookup: Lookup, wanted: Collection[tuple[int, int]]
) -> dict[tuple[int, int], dict[str, str]]:
    """The short values kept of claims, and of duplicates of them (0 for the claim itself)."""
    ids, duplicates = map(set, zip(*wanted, strict=True))
    here = lookup.here(ids=ids, duplicates=duplicates)
    rows = queries.contents.ask(connection, here).rows
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
    mine: Row, before: Row | Place, new: Mapping[str, str], old: Mapping[str, str]
) -> dict[str, tuple[str | None, str | None]]:
    """The short values that changed, by field: the old one and the new one."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if mine.facts and before.facts:
        # Other notations of one value are no change.
        changed = changed_facts(Facts.unpack(mine.facts), Facts.unpack(before.facts))
        names = [name for name in names if name_of(name).key in changed]
        if REST_KEY in changed:
            names.append(REST_OF_ITEM)
    return {name: (old.get(name), new.get(name)) for name in sorted(names)}
