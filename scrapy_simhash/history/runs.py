"""Runs, and what a namespace still holds of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import case, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import PENDING
from scrapy_simhash.db.statements import is_in, list_parameter
from scrapy_simhash.history.drops import claim_columns, drop_columns
from scrapy_simhash.index.invalidated import is_orphan, is_valid

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import ColumnElement, Connection

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["RunRow", "runs"]


class RunRow(NamedTuple):
    """A run, and what the namespace still holds of it.

    Attributes:
        id: its number.
        spider: its name.
        host: where it ran.
        opened: seconds since the epoch.
        heartbeat: its last sign of life.
        closed: when it closed; None if it lives or crashed.
        reason: why it closed.
        settled: whether what it claimed is known to be stored.
        recovered: when another run released what it left behind.
        stats: its ``simhash/*`` stats; empty if it never closed.
        claims: claims of it.
        pending: those of them whose item is not known to be stored.
        drops: duplicates of it that are remembered.
        orphans: those of them that no claim stands for any more.
    """

    id: int
    spider: str
    host: str
    opened: float
    heartbeat: float
    closed: float | None
    reason: str | None
    settled: bool
    recovered: float | None
    stats: dict[str, Any]
    claims: int
    pending: int
    drops: int
    orphans: int


def runs(database: Database, namespace: NamespaceRow) -> list[RunRow]:
    """The runs that the namespace has something of, the newest first."""
    row = schema.runs.c
    of_claims = (
        select(
            claim_columns.run,
            func.count().label("claims"),
            _count_if(claim_columns.state == PENDING).label("pending"),
        )
        .where(claim_columns.namespace == namespace.id, is_valid())
        .group_by(claim_columns.run)
    )
    of_drops = (
        select(
            drop_columns.run,
            func.count().label("drops"),
            _count_if(is_orphan()).label("orphans"),
        )
        .where(drop_columns.namespace == namespace.id)
        .group_by(drop_columns.run)
    )

    def read(connection: Connection) -> list[RunRow]:
        claimed = {found.run: found for found in connection.execute(of_claims)}
        dropped = {found.run: found for found in connection.execute(of_drops)}
        numbers = list_parameter(database.dialect, {*claimed, *dropped})
        rows = connection.execute(
            select(schema.runs)
            .where(is_in(database.dialect, row.id, "numbers"))
            .order_by(row.id.desc()),
            {"numbers": numbers},
        ).all()
        return [
            RunRow(
                found.id,
                found.spider,
                # The rest tells systems apart and says nothing to people.
                found.host.partition(" ")[0],
                found.opened,
                found.heartbeat,
                found.closed,
                found.reason,
                found.settled,
                found.recovered,
                _stats(found.stats),
                claimed[found.id].claims if found.id in claimed else 0,
                int(claimed[found.id].pending) if found.id in claimed else 0,
                dropped[found.id].drops if found.id in dropped else 0,
                int(dropped[found.id].orphans) if found.id in dropped else 0,
            )
            for found in rows
        ]

    return database.read(read)


def _stats(stored: str | None) -> dict[str, Any]:
    """Those of a run; none where they can't be read."""
    try:
        stats = json.loads(stored or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return stats if isinstance(stats, dict) else {}


def _count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))
