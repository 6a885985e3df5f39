"""Namespaces and their runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, and_, case, exists, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import State
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.history import sql
from scrapy_simhash.history.sql import EVERYTHING, NO_DROPS, NamespaceRow, Selection


class RunRow(NamedTuple):
    """A run, and what a namespace still has of it.

    Times are seconds since the epoch; `closed` is None if it is running or crashed, and its stats
    are empty then. `settled`: its items are known to be stored. `recovered`: another run released
    its unconfirmed claims. It is counted what it has: claims, those whose item is not known to be
    stored, duplicates, and duplicates whose original was not stored in the end.
    """

    id: int
    visit: int
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

    @property
    def counts(self) -> tuple[int, int, int] | None:
        """The items that the run checked, kept and dropped.

        None if it has not closed, or if other namespaces have some of them.
        """
        dropped = self.stats.get("simhash/dropped")
        if dropped is None or self.stats.get("simhash/index/namespaces") != 1:
            return None
        checked = self.stats.get("simhash/checked", 0)
        return int(checked), int(checked - dropped), int(dropped)


# The size of a stored fingerprint of the namespace, in bytes.
_width = (
    select(func.length(sql.claims.fingerprint))
    .where(sql.claims.namespace == schema.namespaces.c.id)
    .limit(1)
    .scalar_subquery()
)


def read_namespaces(database: Database, name: str | None = None) -> list[NamespaceRow]:
    """All namespaces, in the order of their names, or the named one. Raises NotFound."""
    row = schema.namespaces.c
    query = select(
        row.id,
        row.name,
        row.scheme,
        row.plan,
        row.created,
        row.size,
        row.text_bytes,
        row.item_bytes,
        _width.label("width"),
    ).order_by(row.name)
    rows = sql.read(database, query)
    found = [NamespaceRow._make((*row[:-1], _bits(row), database)) for row in rows]
    named = [namespace for namespace in found if name in {None, namespace.name}]
    if name is not None and not named:
        listed = ", ".join(repr(namespace.name) for namespace in found) or "none yet"
        raise NotFound(f"{database} has no namespace {name!r}; it has {listed}")
    return named


def _bits(found: Row[Any]) -> int:
    if named := re.search(r"\bbits=(\d+)", found.scheme):
        return int(named[1])
    return 128 if found.width is None else 8 * int(found.width)


def choose_namespace(database: Database, name: str | None) -> NamespaceRow:
    """The namespace of that name; without a name, the only one."""
    found = read_namespaces(database, name)
    if not found:
        raise NotFound(f"{database} has no namespace yet: nothing was stored in it")
    if len(found) > 1:
        listed = ", ".join(repr(namespace.name) for namespace in found)
        raise NotFound(f"{database} has several namespaces, choose one with --namespace: {listed}")
    return found[0]


def namespaces_of(database: Database, name: str | None, runs: Sequence[int]) -> list[NamespaceRow]:
    """The namespaces with items of some runs, by default of the newest; or only the named one."""
    known = read_namespaces(database, name)
    if not runs and len(known) < 2:
        return [choose_namespace(database, name)]
    numbers, columns = [one.id for one in known], schema.runs.c
    is_here = exists().where(sql.drops.run == columns.id, sql.drops.namespace.in_(numbers))
    newest = select(columns.id).where(is_here).order_by(columns.id.desc()).limit(1)
    is_met = sql.drops.run.in_(runs) if runs else sql.drops.run == newest.scalar_subquery()
    met = select(sql.drops.run, sql.drops.namespace).where(is_met).distinct()
    found = sql.read(database, met.where(sql.drops.namespace.in_(numbers)))
    missing = [f"run {run}" for run in runs if run not in {row.run for row in found}]
    if missing or not found:
        where = f" in the namespace {name!r}" if name else ""
        raise NotFound(f"{database} has no {', '.join(missing) or 'run'} with items{where}")
    used = {row.namespace for row in found}
    return [one for one in known if one.id in used]


def read_runs(namespace: NamespaceRow, selection: Selection = EVERYTHING) -> list[RunRow]:
    """The runs that met anything in a namespace, those of a selection; newest first."""
    claim, drop = sql.claims, sql.drops
    is_drop = drop.action.not_in(NO_DROPS)
    is_lost = and_(is_drop, drop.orphaned, drop.action != "report")
    of_claims = (
        select(claim.run, func.count(), _count(claim.state == State.PENDING))
        .where(*sql.claims_of(namespace))
        .group_by(claim.run)
    )
    of_sightings = (
        select(drop.run, _count(is_drop), _count(is_lost))
        .where(drop.namespace == namespace.id)
        .group_by(drop.run)
    )
    claimed, dropped = (
        {run: (int(every), int(some)) for run, every, some in namespace.read(query)}
        for query in (of_claims, of_sightings)
    )
    columns = schema.runs.c
    query = (
        select(*(columns[name] for name in RunRow._fields[:11]))
        .where(is_in(columns.id, "numbers"), columns.opened >= selection.since)
        .order_by(columns.id.desc())
    )
    numbers = {*claimed, *dropped}
    if selection.runs is not None:
        numbers &= {*selection.runs}
    found = []
    for row in namespace.read(query, numbers=numbers):
        counts = (*claimed.get(row.id, (0, 0)), *dropped.get(row.id, (0, 0)))
        # What follows the name of the host identifies the system.
        host = row.host.partition(" ")[0]
        found.append(RunRow._make((*row[:-1], _stats(row.stats), *counts))._replace(host=host))
    return found


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _stats(stored: str | None) -> dict[str, Any]:
    """The stats of a run; none if they can't be read."""
    try:
        stats = json.loads(stored or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return stats if isinstance(stats, dict) else {}
