"""Documents in the order in which they were met, with what is needed to decide on them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import CONFIRMED, EXACT, url_of
from scrapy_simhash.history.drops import (
    LONGEST_URL,
    SAME,
    claim_columns,
    drop_columns,
    of_namespace,
)
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.verdict import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sqlalchemy import Connection, Select
    from sqlalchemy import Row as Stored

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["Documents", "documents"]

_COLUMNS = (
    *("created", "owner", "run", "basis", "fingerprint", "size", "digest", "facts", "minhash"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """What was met, in the order in which it was: element i of each belongs to document i.

    Attributes:
        rows: what would stand in the table if it were claimed, without key and packed keys; their
            ids are 1, 2, 3 and so on.
        places: its claim, or the one it is a duplicate of; and 0, or its number as a duplicate.
        left_out: older claims that were not read.
    """

    rows: Sequence[Row]
    places: Sequence[tuple[int, int]]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.rows)


def documents(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int
) -> Documents:
    """The stored claims and duplicates, for a replay.

    A page counts once, however many of its items were dropped for its text, and what an owner's
    own earlier version stands for not at all. Of a duplicate neither the rest of its page is
    stored nor which others were listed on it.

    Args:
        database: where they are.
        namespace: in which one.
        run: up to the end of this run, which alone has its duplicates counted; otherwise all.
        limit: the newest so many claims, and as many duplicates.
    """
    of_claims, of_drops = _queries(namespace, run, limit)

    def read(connection: Connection) -> tuple[list[Stored[Any]], list[Stored[Any]], int]:
        claims = list(connection.execute(of_claims))
        total = connection.scalar(
            select(func.count()).select_from(of_claims.limit(None).order_by(None).subquery())
        )
        return claims, list(connection.execute(of_drops)), (total or 0) - len(claims)

    claims, drops, left_out = database.read(read)
    visits = _Visits(claims)
    met = [(_claimed(namespace, claim), (claim.claim, 0)) for claim in claims]
    seen = set()
    for drop in reversed(drops):
        page = (drop.run, drop.owner, drop.fingerprint)
        if drop.basis != EXACT and page in seen:
            continue
        seen.add(page)
        met.append((_dropped(namespace, drop, visits), (drop.claim, drop.id)))
    # What is remembered together with claims was decided on before them.
    met.sort(key=lambda document: (document[0].created, document[1][1] == 0, document[1]))
    return Documents(
        [row._replace(id=number) for number, (row, _) in enumerate(met, 1)],
        [place for _, place in met],
        left_out,
    )


def _queries(
    namespace: NamespaceRow, run: int | None, limit: int
) -> tuple[Select[Any], Select[Any]]:
    """What reads the claims, and what reads the duplicates, the newest first."""
    of_runs = schema.runs.c
    of_claims = (
        select(
            *(claim_columns[name] for name in _COLUMNS),
            func.substr(url_of(schema.claims), 1, LONGEST_URL).label("url"),
            claim_columns.id.label("claim"),
            *(claim_columns[name] for name in ("token", "visit", "generation", "fetch", "rest")),
            of_runs.generation.label("made_in"),
        )
        .select_from(schema.claims.outerjoin(schema.runs, of_runs.id == claim_columns.run))
        .where(claim_columns.namespace == namespace.id, is_valid())
        .order_by(claim_columns.id.desc())
        .limit(limit)
    )
    if run is not None:
        of_claims = of_claims.where(claim_columns.run <= run)
    of_drops = (
        select(
            *(drop_columns[name] for name in _COLUMNS),
            func.substr(url_of(schema.duplicates), 1, LONGEST_URL).label("url"),
            drop_columns.claim,
            drop_columns.id,
            of_runs.generation.label("made_in"),
        )
        .select_from(schema.duplicates.outerjoin(schema.runs, of_runs.id == drop_columns.run))
        .where(*of_namespace(namespace, run), drop_columns.action != SAME)
        .order_by(drop_columns.id.desc())
        .limit(limit)
    )
    return of_claims, of_drops


class _Visits:
    """Which visit of its owner a duplicate is of, which is not stored with it."""

    def __init__(self, claims: Sequence[Stored[Any]]) -> None:
        self.has_generations = any(claim.generation for claim in claims)
        self._of_claim: dict[int, tuple[int, int]] = {
            claim.claim: (claim.owner, claim.visit) for claim in claims
        }
        # The last claim of a run and an owner stands; they come the newest first.
        self._of_run: dict[tuple[int, int], int] = {}
        for claim in claims:
            self._of_run.setdefault((claim.run, claim.owner), claim.visit)

    def of(self, drop: Stored[Any]) -> int:
        owner, visit = self._of_claim.get(drop.claim, (None, 0))
        if owner != drop.owner:
            # Stored numbers are positive.
            return self._of_run.setdefault((drop.run, drop.owner), -1 - len(self._of_run))
        # Of an earlier visit it would have been the same thing again.
        return visit


def _claimed(namespace: NamespaceRow, claim: Stored[Any]) -> Row:
    return _row(
        namespace,
        claim,
        token=claim.token,
        visit=claim.visit,
        # That of the claim itself may be a later one, which it was met again in.
        generation=(claim.made_in or 0) if claim.generation else 0,
        fetch=claim.fetch,
        rest=claim.rest,
    )


def _dropped(namespace: NamespaceRow, drop: Stored[Any], visits: _Visits) -> Row:
    return _row(
        namespace,
        drop,
        token=-drop.id,
        visit=visits.of(drop),
        generation=(drop.made_in or 0) if visits.has_generations else 0,
        fetch=0,
        rest=None,
    )


def _row(namespace: NamespaceRow, stored: Stored[Any], **of_visit: Any) -> Row:
    columns: Mapping[str, Any] = {name: getattr(stored, name) for name in _COLUMNS}
    return Row(
        namespace=namespace.id,
        id=0,
        state=CONFIRMED,
        nearest=None,
        seen=stored.created,
        key="",
        url=stored.url,
        packed_keys=None,
        beside=None,
        differs=None,
        **columns,
        **of_visit,
    )
