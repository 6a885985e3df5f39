"""What is recorded of a document: its sighting, and how it has changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection

from scrapy_simhash.db.values import storable
from scrapy_simhash.index import queries
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.seen import Seen
from scrapy_simhash.index.verdict import OF_TEXT, ClaimRow, Document, Sighting, Verdict
from scrapy_simhash.item.facts import OTHERS, REST_KEY, REST_OF_ITEM, Facts, changed_facts, keys_of
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.text.packed import pack_bytes, unpack_text

# Characters of the URL of an original that are stored.
_LONGEST_URL = 2000

# Where a sighting has its URL, and how many columns behind it tell what it showed.
_URL = Sighting._fields.index("url")
_SHOWN = 3


def sighting_row(verdict: Verdict, seen: Seen, visit: int) -> tuple[Any, ...]:
    """The row of the sighting of a document, in the order of the table."""
    row, match = cast("ClaimRow", verdict.row), verdict.match
    one = seen.added[row.id]._replace(visit=visit)
    original, compared = verdict.moved_from, None
    if verdict.claim is None and match is not None:
        compared = match
        if verdict.status not in ("changed", "moved"):
            original = item_url(match.key, match.url)
    elif verdict.similarity is not None:
        compared = match
    return (
        row.namespace,
        *one[:_URL],
        None if one.url == one.key else one.url,
        *((None,) * _SHOWN if one.of_claim else one[_URL + 1 : _URL + 1 + _SHOWN]),
        row.created,
        compared and compared.distance,
        compared and compared.similarity,
        bool(compared and compared.estimated),
        original and storable(original, _LONGEST_URL),
        pack_bytes(json.dumps(verdict.fields).encode(), 1) if verdict.fields else None,
        verdict.is_back,
        *("", False, None, None, 0),
    )


def _changed(
    verdict: Verdict,
    new: Mapping[str, str],
    old: Mapping[str, str] | None,
    ignored: Collection[int],
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of a document that changed, by field: the old one and the new one."""
    row, before = cast("ClaimRow", verdict.row), cast("Sighting", verdict.before)
    # Without its old values, nothing is known of the fields.
    old = new if old is None else old
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


def changed_fields(
    connection: Connection,
    lookup: Lookup,
    documents: Sequence[Document],
    verdicts: Sequence[Verdict],
) -> dict[int, dict[str, tuple[str | None, str | None]]]:
    """The short values that changed of the documents that did, by their numbers."""
    changed = {
        number: verdict.before.content
        for number, verdict in enumerate(verdicts)
        if verdict.before and verdict.status == "changed"
    }
    if not changed:
        return {}
    rows = connection.execute(queries.texts, lookup.here(ids={*changed.values()}))
    kept = {number: unpack_text(packed)[1] for number, packed in rows}
    ignored = lookup.rule.ignored_keys
    return {
        number: _changed(verdicts[number], documents[number].values, kept.get(then), ignored)
        for number, then in changed.items()
    }
