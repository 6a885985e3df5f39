"""What the queries share: columns, conditions, selections, namespaces and their runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Row, Select, and_, case, exists, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import RESTORED, State
from scrapy_simhash.exceptions import NotFound
from scrapy_simhash.index.queries import is_dead, is_valid
from scrapy_simhash.item.urls import host_of
from scrapy_simhash.visible import format_time, iso_time, plural, shortened


class NamespaceRow(NamedTuple):
    """A namespace of a database.

    Size is the number of its claims; the others are bytes of compressed texts and items.
    """

    id: int
    name: str
    scheme: str
    plan: str
    created: float
    size: int
    text_bytes: int
    item_bytes: int
    bits: int
    database: Database

    def read(self, query: Select[Any], **numbers: Iterable[int]) -> Sequence[Any]:
        """The rows of a query, see :func:`read`."""
        return read(self.database, query, **numbers)


#: Longer URLs are cut: a hostile site can make many that are very long.
LONGEST_URL = 2000
# Characters of the numbers of runs.
_LONGEST = 60
# Rows read at once.
_PAGE = 2000

#: The actions of sightings that leave nothing out.
NO_DROPS = ("", RESTORED)

#: Sightings are also what was left out, with the item.
claims, drops = schema.claims.c, schema.sightings.c

#: The number of the text of a sighting: that of its claim, unless it showed another.
text_number = case((drops.text_digest.is_(None), drops.claim), else_=drops.id)

_run = schema.runs.c
_is_dead = is_dead(schema.runs)

#: Sightings beside their claims, which may be gone.
drops_with_claims = schema.sightings.outerjoin(
    schema.claims, and_(claims.namespace == drops.namespace, claims.id == drops.claim, is_valid())
)

#: A claim beside which another one was kept; claims beside these, which may be gone.
others = schema.claims.alias("others")
claims_with_others = schema.claims.outerjoin(
    others,
    and_(
        others.c.namespace == claims.namespace,
        others.c.id == claims.similar_claim,
        is_valid(others),
    ),
)


def short_url(table: FromClause) -> ColumnElement[str]:
    """The URL of a row, cut."""
    return func.substr(url_of(table), 1, LONGEST_URL)


def claims_of(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for the valid claims of a namespace."""
    return [claims.namespace == namespace.id, is_valid()]


def drops_of(namespace: NamespaceRow) -> list[ColumnElement[bool]]:
    """Conditions for what was left out in a namespace."""
    return [drops.namespace == namespace.id, drops.action.not_in(NO_DROPS)]


def read(database: Database, query: Select[Any], **numbers: Iterable[int]) -> Sequence[Any]:
    """The rows of a query, whose parameters are lists of numbers (see `is_in`)."""
    lists = {name: list(given) for name, given in numbers.items()}
    return database.read(lambda connection: connection.execute(query, lists).all())


def read_in_pages(
    namespace: NamespaceRow, query: Select[Any], number: ColumnElement[int]
) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of their numbers, a page at a time."""
    page = query = query.order_by(number).limit(_PAGE)
    while rows := namespace.read(page):
        yield rows
        page = query.where(number > rows[-1].id)


class Selection(NamedTuple):
    """What some runs met, and what was met since a time, in seconds since the epoch, of a site.

    Everything by default. What the released runs among them had stored does not count.
    """

    runs: Sequence[int] | None = None
    since: float = 0.0
    site: str = ""
    released: Sequence[int] = ()

    def conditions(self, table: FromClause) -> list[ColumnElement[bool]]:
        """The conditions for claims or sightings, as far as they do not depend on the URL."""
        found = [table.c.created >= self.since] if self.since else []
        return found if self.runs is None else [*found, table.c.run.in_(self.runs)]

    def has(self, url: str) -> bool:
        """Whether a URL is of the site, or of a host below it."""
        return not self.site or f".{host_of(url)}".endswith(f".{self.site}")

    @property
    def options(self) -> str:
        """The options of commands that select it."""
        runs = f"--run {','.join(map(str, self.runs))}" if self.runs else ""
        since = f"--since {iso_time(self.since)}" if self.since else ""
        return " ".join(filter(None, (runs, since, self.site and f"--site {self.site}")))

    def __str__(self) -> str:
        of_site = f" on {self.site}" if self.site else ""
        if self.runs is None:
            return f"Since {format_time(self.since)} UTC{of_site}" if self.since else "Everything"
        numbers = shortened(", ".join(map(str, self.runs)), _LONGEST)
        lost = " (its crawl or its feeds failed: what it stored was released)"
        more = lost if self.released and len(self.runs) == 1 else ""
        return f"{plural(len(self.runs), 'Run').capitalize()} {numbers}{more}{of_site}"


#: What is looked at where nothing is chosen.
EVERYTHING = Selection()


def read_selection(
    namespace: NamespaceRow,
    *,
    runs: Sequence[int] = (),
    since: float | None = None,
    site: str = "",
) -> Selection:
    """What some runs met, or all since a time; by default the last visit of each spider.

    The time is in seconds since the epoch or, as an int, the run that it was the start of. The last
    visit may have met nothing, as the site was down.
    """
    if isinstance(since, float):
        return Selection(since=since, site=site)
    if numbers := runs or ([] if since is None else [since]):
        query = select(_run.id, _run.opened, _is_dead.label("is_dead"))
        found = {row.id: row for row in namespace.read(query.where(_run.id.in_(numbers)))}
        if unknown := {*numbers} - found.keys():
            raise NotFound(f"there is no run {min(unknown)}")
        if since is not None:
            return Selection(since=found[since].opened, site=site)
        released = [one for one in runs if found[one].is_dead]
        return Selection(runs, site=site, released=released)
    has_met = exists().where(drops.run == _run.id)
    is_here = has_met.where(drops.namespace == namespace.id)
    counts = ~_is_dead, or_(is_here, and_(~has_met, _run.closed.is_not(None)))
    spiders = select(_run.spider).where(~_is_dead, is_here)
    last = select(_run.spider, func.max(_run.visit).label("visit")).where(*counts)
    visits = last.where(_run.spider.in_(spiders)).group_by(_run.spider).subquery().c
    of_visits = _run.spider == visits.spider, _run.visit == visits.visit
    last_runs = namespace.read(select(_run.id).where(*counts, *of_visits).order_by(_run.id))
    if not last_runs:
        raise NotFound("no crawl has stored anything")
    return Selection([row.id for row in last_runs], site=site)


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
    select(func.length(claims.fingerprint))
    .where(claims.namespace == schema.namespaces.c.id)
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
    rows = read(database, query)
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
    is_here = exists().where(drops.run == columns.id, drops.namespace.in_(numbers))
    newest = select(columns.id).where(is_here).order_by(columns.id.desc()).limit(1)
    is_met = drops.run.in_(runs) if runs else drops.run == newest.scalar_subquery()
    met = select(drops.run, drops.namespace).where(is_met).distinct()
    found = read(database, met.where(drops.namespace.in_(numbers)))
    missing = [f"run {run}" for run in runs if run not in {row.run for row in found}]
    if missing or not found:
        where = f" in the namespace {name!r}" if name else ""
        raise NotFound(f"{database} has no {', '.join(missing) or 'run'} with items{where}")
    used = {row.namespace for row in found}
    return [one for one in known if one.id in used]


def read_runs(namespace: NamespaceRow, selection: Selection = EVERYTHING) -> list[RunRow]:
    """The runs that met anything in a namespace, those of a selection; newest first."""
    claim, drop = claims, drops
    is_drop = drop.action.not_in(NO_DROPS)
    is_lost = and_(is_drop, drop.orphaned, drop.action != "report")
    of_claims = (
        select(claim.run, func.count(), _count(claim.state == State.PENDING))
        .where(*claims_of(namespace))
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
