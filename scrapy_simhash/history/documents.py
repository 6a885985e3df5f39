"""Stored items and duplicates in their order, with the data to decide on them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, func, select
from sqlalchemy import Row as Stored

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import CONFIRMED, EXACT
from scrapy_simhash.history.pairs import SAME
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    short_url,
)
from scrapy_simhash.index.verdict import Row

# Columns of claims and duplicates; and those that only claims have.
_COLUMNS = (
    *("created", "identity", "run", "compared_by", "fingerprint", "size"),
    *("digest", "text_digest", "facts", "minhash"),
)
_OF_VISIT = ("token", "visit", "listing", "page_sketch")


class Documents(NamedTuple):
    """Documents in their order: element i of each sequence belongs to document i.

    Rows are those that claims on them would have, with the ids 1, 2, 3 and so on, without keys. A
    place is its claim or the one it is a duplicate of, and 0 or its number as a duplicate. Older
    claims that were not read are counted.
    """

    rows: Sequence[Row]
    places: Sequence[tuple[int, int]]
    left_out: int = 0


def read_documents(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int
) -> Documents:
    """The stored claims and duplicates, for a replay.

    A page counts once, however many of its items were dropped for its text. Unchanged pages do not
    count. Of a duplicate, the index stores neither its page sketch nor its listing page.

    The newest so many claims, and as many duplicates; for a run, claims up to it, and its own
    duplicates only.
    """
    conditions = claims_of(namespace)
    if run is not None:
        conditions.append(claim_columns.run <= run)
    of_claims = _newest(schema.claims, (*_OF_VISIT, "epoch"), limit).where(*conditions)
    of_drops = _newest(schema.duplicates, ["claim"], limit).where(
        *drops_of(namespace, run), drop_columns.action != SAME
    )
    count = select(func.count()).where(*conditions)

    def read(connection: Connection) -> tuple[list[Stored[Any]], list[Stored[Any]], int]:
        claims = list(connection.execute(of_claims))
        total = connection.scalar(count) or 0
        return claims, list(connection.execute(of_drops)), total - len(claims)

    claims, drops, left_out = database.read(read)
    found = []
    for claim in claims:
        # The claim's own epoch may be a later one, in which the page was found again.
        epoch = (claim.made_in or 0) if claim.epoch else 0
        of_visit = {name: getattr(claim, name) for name in _OF_VISIT}
        found.append((_row(namespace, claim, epoch=epoch, **of_visit), (claim.id, 0)))
    has_epochs, visit_of, seen = any(claim.epoch for claim in claims), _visits(claims), set()
    for drop in reversed(drops):
        page = (drop.run, drop.identity, drop.fingerprint)
        if drop.compared_by == EXACT or page not in seen:
            epoch = (drop.made_in or 0) if has_epochs else 0
            row = _row(namespace, drop, epoch=epoch, token=-drop.id, visit=visit_of(drop))
            found.append((row, (drop.claim, drop.id)))
        seen.add(page)
    # The index decides on duplicates before the claims of the same transaction.
    found.sort(key=lambda document: (document[0].created, document[1][1] == 0, document[1]))
    return Documents(
        [row._replace(id=number) for number, (row, _) in enumerate(found, 1)],
        [place for _, place in found],
        left_out,
    )


def _newest(table: Table, more: Iterable[str], limit: int) -> Select[Any]:
    run = schema.runs.c
    return (
        select(
            *(table.c[name] for name in ("id", *_COLUMNS, *more)),
            short_url(table).label("url"),
            run.epoch.label("made_in"),
        )
        .select_from(table.outerjoin(schema.runs, run.id == table.c.run))
        .order_by(table.c.id.desc())
        .limit(limit)
    )


def _visits(claims: Sequence[Stored[Any]]) -> Callable[[Stored[Any]], int]:
    """Finds the visits of duplicates, which are not stored with them."""
    of_claims = {claim.id: (claim.identity, claim.visit) for claim in claims}
    # Claims come newest first; the last one of a run and an identity is kept.
    of_runs = {(claim.run, claim.identity): claim.visit for claim in reversed(claims)}

    def of(drop: Stored[Any]) -> int:
        identity, visit = of_claims.get(drop.claim, (None, 0))
        # Had it been an earlier visit, the page would have been unchanged and not a duplicate.
        if identity == drop.identity:
            return int(visit)
        # Stored numbers are positive.
        return int(of_runs.setdefault((drop.run, drop.identity), -1 - len(of_runs)))

    return of


def _row(namespace: NamespaceRow, stored: Stored[Any], **of_visit: Any) -> Row:
    columns = {name: getattr(stored, name) for name in (*_COLUMNS, "url")}
    return Row(namespace=namespace.id, seen=stored.created, state=CONFIRMED, **columns, **of_visit)
