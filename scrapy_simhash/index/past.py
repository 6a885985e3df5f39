"""What earlier visits left of the items of a batch: places, short values, addresses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from scrapy_simhash.index import queries
from scrapy_simhash.index.journal import change_of, changed_values, content_of
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.queries import Hits
from scrapy_simhash.index.verdict import Change, Document, Place, Row
from scrapy_simhash.index.visits import Decision
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.text.packed import unpack_text


def places_of(connection: Connection, lookup: Lookup, hits: Hits) -> dict[int, Place]:
    """What is known of the identities that were duplicates when they were last met."""
    ids = {
        number
        for identity, numbers in hits.places.items()
        if identity not in hits.newest
        for number in numbers
    }
    if not ids or lookup.rule.known is None:
        return {}
    # The last one of an identity counts: that of the last run, which may have moved an old row.
    rows = queries.places.ask(connection, lookup.here(ids=ids)).rows
    return {place.identity: place for place in map(Place._make, rows)}


def changes_of_batch(
    connection: Connection,
    lookup: Lookup,
    documents: Sequence[Document],
    rows: Sequence[Row],
    decisions: Sequence[Decision],
) -> list[Change]:
    """What documents are, compared with earlier visits, with the values that changed."""
    changed = {
        number: content_of(decision.before)
        for number, decision in enumerate(decisions)
        if decision.status == "changed" and decision.before is not None
    }
    values = _values(connection, lookup, set(changed.values()))
    # Items that moved and were left out have no claims of their own.
    moved = {
        decision.before.id
        for decision in decisions
        if isinstance(decision.before, Row) and decision.status in {"changed", "moved"}
    }
    last = _last_urls(connection, lookup, moved) if lookup.rule.known == "drop" else {}
    found = []
    for number, (row, decision) in enumerate(zip(rows, decisions, strict=True)):
        change, before = change_of(row, decision), decision.before
        if change.origin and isinstance(before, Row) and before.id in last:
            change = replace(change, origin=last[before.id])
        if (old := values.get(changed.get(number, (0, 0)))) is not None:
            change = replace(
                change, fields=changed_values(row, before, documents[number].values, old)
            )
        found.append(change)
    return found


def _values(
    connection: Connection, lookup: Lookup, wanted: Collection[tuple[int, int]]
) -> dict[tuple[int, int], dict[str, str]]:
    """The short values kept of claims, and of duplicates of them (0 for the claim itself)."""
    if not wanted:
        return {}
    ids, duplicates = ({pair[place] for pair in wanted} for place in (0, 1))
    here = lookup.here(ids=ids, duplicates=duplicates)
    rows = queries.contents.ask(connection, here).rows
    return {(claim, number): unpack_text(packed)[1] for claim, number, packed in rows}


def _last_urls(connection: Connection, lookup: Lookup, claims: Collection[int]) -> dict[int, str]:
    """Where items that were left out for claims were met last."""
    if not claims:
        return {}
    rows = queries.last_urls.ask(connection, lookup.here(ids=claims)).rows
    return {claim: address_of(key, url) for _, claim, key, url in sorted(rows)}
