"""Stored items and duplicates in their order, with the data to decide on them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, Table, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import CONFIRMED, EXACT
from scrapy_simhash.history.pairs import SAME, Place
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    read,
    short_url,
)
from scrapy_simhash.index.verdict import Row

# Columns of claims and duplicates; and those that only claims have.
_COLUMNS = (
    *("created", "identity", "run", "compared_by", "fingerprint", "size"),
    *("digest", "text_digest", "facts", "minhash"),
)
_OF_VISIT = ("token", "visit", "epoch", "listing", "page_sketch")


class Documents(NamedTuple):
    """Documents in their order: element i of each sequence belongs to document i.

    Rows are those that claims on them would have, with the ids 1, 2, 3 and so on, without keys. A
    place is its claim or the one it is a duplicate of, and 0 or its number as a duplicate. Older
    claims that were not read are counted.
    """

    rows: Sequence[Row]
    places: Sequence[Place]
    left_out: int = 0


def read_documents(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int
) -> Documents:
    """The documents to decide on again: each as the newest run that stored or dropped it met it.

    A page counts once, however many of its items were dropped for its text. Of a duplicate, the
    index stores neither its page sketch nor its listing page.

    The newest so many claims, and as many duplicates; for a run, claims up to it, and its own
    duplicates only.
    """
    conditions = claims_of(namespace)
    if run is not None:
        conditions.append(claim_columns.run <= run)
    claims = read(database, _newest(schema.claims, _OF_VISIT, limit).where(*conditions))
    of_drops = _newest(schema.duplicates, ["claim"], limit)
    is_copy = drop_columns.action != SAME
    drops = read(database, of_drops.where(*drops_of(namespace, run), is_copy))
    total = read(database, select(func.count()).where(*conditions))[0][0]
    found = [
        (
            _row(namespace, claim, **{name: getattr(claim, name) for name in _OF_VISIT}),
            (claim.id, 0),
        )
        for claim in claims
    ]
    # What a run met of one identity is of one visit.
    visits, seen = {(claim.run, claim.identity): claim.visit for claim in claims}, set()
    for drop in reversed(drops):
        page = (drop.run, drop.identity, drop.fingerprint)
        if drop.compared_by == EXACT or page not in seen:
            visit = visits.setdefault(page[:2], -drop.id)
            found.append(
                (_row(namespace, drop, token=-drop.id, visit=visit), (drop.claim, drop.id))
            )
        seen.add(page)
    newest: dict[int, int] = {}
    for row, _ in found:
        newest[row.identity] = max(row.run, newest.get(row.identity, 0))
    found = [one for one in found if one[0].run == newest[one[0].identity]]
    # The index decides on duplicates before the claims of the same transaction.
    found.sort(key=lambda document: (document[0].created, document[1][1] == 0, document[1]))
    return Documents(
        [row._replace(id=number) for number, (row, _) in enumerate(found, 1)],
        [place for _, place in found],
        total - len(claims),
    )


def _newest(table: Table, more: Iterable[str], limit: int) -> Select[Any]:
    columns = (table.c[name] for name in ("id", *_COLUMNS, *more))
    query = select(*columns, short_url(table).label("url"))
    return query.order_by(table.c.id.desc()).limit(limit)


def _row(namespace: NamespaceRow, stored: Any, **of_visit: Any) -> Row:
    columns = {name: getattr(stored, name) for name in (*_COLUMNS, "url")}
    return Row(namespace=namespace.id, seen=stored.created, state=CONFIRMED, **columns, **of_visit)
