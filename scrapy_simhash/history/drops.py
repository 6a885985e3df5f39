"""What the database remembers, read for people: the queries behind the command and the report.

Nothing here writes, and nothing takes the lock of a crawl.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import case, func, or_, select, true

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import PENDING
from scrapy_simhash.db.transactions import among, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Connection, Row

    from scrapy_simhash.db.transactions import Database

__all__ = [
    "SAME",
    "Documents",
    "Drop",
    "Namespace",
    "Page",
    "RunRow",
    "choose_namespace",
    "count_drops",
    "documents",
    "drops",
    "kept_times",
    "largest_groups",
    "namespaces",
    "nearest_kept",
    "pages",
    "quarantined",
    "runs",
    "texts",
    "urls",
]

#: The action on a page that had not changed since its owner's own earlier version.
SAME = "same"

# Items that are read at once: each may be as large as an item can be.
_PAGE = 100

# A URL of a hostile site may be as long as a book, and there may be many.
_LONGEST_URL = 2000

_claims, _duplicates = schema.claims.c, schema.duplicates.c


class Namespace(NamedTuple):
    """A namespace as it stands in the database.

    Attributes:
        id: its number.
        name: its name.
        scheme: the id of the scheme of its fingerprints.
        plan: the id of its keys.
        created: seconds since the epoch.
        size: how many claims it has.
        text_bytes: compressed texts kept.
        item_bytes: compressed items kept.
    """

    id: int
    name: str
    scheme: str
    plan: str
    created: float
    size: int
    text_bytes: int
    item_bytes: int

    @property
    def bits(self) -> int:
        """The width of its fingerprints."""
        found = re.search(r"\bbits=(\d+)", self.scheme)
        return int(found[1]) if found else 128


def namespaces(database: Database) -> list[Namespace]:
    """All namespaces, by name."""
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
    ).order_by(row.name)
    return database.read(
        lambda connection: [Namespace(*found) for found in connection.execute(query)]
    )


def choose_namespace(database: Database, name: str | None) -> Namespace:
    """The namespace of that name; without a name, the only one there is.

    Raises:
        LookupError: there is none of that name, or none at all, or no name and several.
    """
    found = namespaces(database)
    listed = ", ".join(repr(namespace.name) for namespace in found)
    if not found:
        raise LookupError(f"{database} has no namespace yet: nothing was claimed in it")
    if name is None and len(found) > 1:
        raise LookupError(f"{database} has several namespaces, say which one: {listed}")
    for namespace in found:
        if name in {None, namespace.name}:
            return namespace
    raise LookupError(f"{database} has no namespace {name!r}; it has {listed}")


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


def runs(database: Database, namespace: Namespace) -> list[RunRow]:
    """The runs that the namespace has something of, the newest first."""
    row = schema.runs.c
    of_claims = (
        select(
            _claims.run,
            func.count().label("claims"),
            _count_if(_claims.state == PENDING).label("pending"),
        )
        .where(_claims.namespace == namespace.id)
        .group_by(_claims.run)
    )
    of_drops = (
        select(
            _duplicates.run,
            func.count().label("drops"),
            _count_if(_duplicates.orphaned == true()).label("orphans"),
        )
        .where(_duplicates.namespace == namespace.id)
        .group_by(_duplicates.run)
    )

    def read(connection: Connection) -> list[RunRow]:
        claimed = {found.run: found for found in connection.execute(of_claims)}
        dropped = {found.run: found for found in connection.execute(of_drops)}
        numbers = values(database.dialect, {*claimed, *dropped})
        rows = connection.execute(
            select(schema.runs)
            .where(among(database.dialect, row.id, "numbers"))
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
                json.loads(found.stats) if found.stats else {},
                claimed[found.id].claims if found.id in claimed else 0,
                int(claimed[found.id].pending) if found.id in claimed else 0,
                dropped[found.id].drops if found.id in dropped else 0,
                int(dropped[found.id].orphans) if found.id in dropped else 0,
            )
            for found in rows
        ]

    return database.read(read)


class Drop(NamedTuple):
    """A near-duplicate that was met, and what it is one of. URLs are cut to 2,000 characters.

    Attributes:
        id: its number.
        run: that met it.
        created: seconds since the epoch.
        url: where it was found.
        key: its owner key.
        claim: the number of the claim that it is a duplicate of.
        distance: of the two fingerprints, in bits.
        action: what was done: "drop", "skip", "report", or "same" for an unchanged page.
        orphaned: whether that claim was released.
        original: the claim's URL; None if it is gone.
        first_seen: when the claim was made; None if it is gone.
    """

    id: int
    run: int
    created: float
    url: str
    key: str
    claim: int
    distance: int
    action: str
    orphaned: bool
    original: str | None
    first_seen: float | None


_drop = select(
    _duplicates.id,
    _duplicates.run,
    _duplicates.created,
    func.substr(_duplicates.url, 1, _LONGEST_URL).label("url"),
    func.substr(_duplicates.key, 1, _LONGEST_URL).label("key"),
    _duplicates.claim,
    _duplicates.distance,
    _duplicates.action,
    _duplicates.orphaned,
    func.substr(_claims.url, 1, _LONGEST_URL).label("original"),
    _claims.created.label("first_seen"),
).select_from(
    schema.duplicates.outerjoin(
        schema.claims,
        (_claims.namespace == _duplicates.namespace) & (_claims.id == _duplicates.claim),
    )
)


def count_drops(database: Database, namespace: Namespace, run: int | None = None) -> dict[str, int]:
    """How many duplicates are remembered, by what was done to them: see :class:`Drop`."""
    query = (
        select(_duplicates.action, func.count())
        .where(*_of(namespace, run))
        .group_by(_duplicates.action)
    )
    return database.read(lambda connection: {row[0]: row[1] for row in connection.execute(query)})


def drops(
    database: Database, namespace: Namespace, run: int | None = None, *, limit: int | None = None
) -> list[Drop]:
    """The duplicates that are remembered, in their order.

    Args:
        database: where they are.
        namespace: in which one.
        run: of this run; of all runs otherwise.
        limit: the newest so many only.
    """
    query = _drop.where(*_of(namespace, run)).order_by(_duplicates.id.desc()).limit(limit)
    found = database.read(lambda connection: [Drop(*row) for row in connection.execute(query)])
    return found[::-1]


def largest_groups(
    database: Database, namespace: Namespace, run: int | None = None, *, limit: int = 20
) -> list[tuple[int, int, str | None]]:
    """The claims with the most duplicates: number of the claim, of duplicates, and its URL."""
    count = func.count().label("count")
    grouped = (
        select(_duplicates.claim, count)
        .where(*_of(namespace, run), _duplicates.action != SAME)
        .group_by(_duplicates.claim)
        .order_by(count.desc(), _duplicates.claim)
        .limit(limit)
        .subquery()
    )
    query = (
        select(grouped.c.claim, grouped.c.count, _claims.url)
        .select_from(
            grouped.outerjoin(
                schema.claims,
                (_claims.namespace == namespace.id) & (_claims.id == grouped.c.claim),
            )
        )
        .order_by(grouped.c.count.desc(), grouped.c.claim)
    )
    return database.read(
        lambda connection: [(row[0], row[1], row[2]) for row in connection.execute(query)]
    )


def kept_times(
    database: Database, namespace: Namespace, run: int | None = None
) -> NDArray[np.float64]:
    """When the claims were made: seconds since the epoch, in no order."""
    query = select(_claims.created).where(_claims.namespace == namespace.id)
    if run is not None:
        query = query.where(_claims.run == run)
    return database.read(
        lambda connection: np.fromiter(connection.execute(query).scalars(), np.float64)
    )


def nearest_kept(
    database: Database, namespace: Namespace, run: int | None = None
) -> dict[int, int]:
    """How many claims had their nearest other claim, of those that were met, at each distance."""
    query = (
        select(_claims.nearest, func.count())
        .where(_claims.namespace == namespace.id, _claims.nearest.is_not(None))
        .group_by(_claims.nearest)
    )
    if run is not None:
        query = query.where(_claims.run == run)
    return database.read(lambda connection: {row[0]: row[1] for row in connection.execute(query)})


def texts(
    database: Database, namespace: Namespace, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """The texts that are kept.

    Args:
        database: where they are.
        namespace: in which one.
        wanted: a claim's number with 0 for its own text, or with the number of a duplicate.
    """
    row = schema.texts.c
    pairs = set(wanted)
    claims = sorted({claim for claim, _ in pairs})
    numbers = sorted({duplicate for _, duplicate in pairs})
    query = select(row.claim, row.duplicate, row.text).where(
        row.namespace == namespace.id,
        among(database.dialect, row.claim, "claims"),
        among(database.dialect, row.duplicate, "duplicates"),
    )

    def read(connection: Connection) -> dict[tuple[int, int], str]:
        found = connection.execute(
            query,
            {
                "claims": values(database.dialect, claims),
                "duplicates": values(database.dialect, numbers),
            },
        )
        return {
            (claim, duplicate): zlib.decompress(text).decode("utf-8", "replace")
            for claim, duplicate, text in found
            if (claim, duplicate) in pairs
        }

    return database.read(read) if pairs else {}


def urls(
    database: Database, namespace: Namespace, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """Where documents were found, asked for as in :func:`texts`."""
    pairs = set(wanted)
    of_claims = select(_claims.id, _claims.url).where(
        _claims.namespace == namespace.id, among(database.dialect, _claims.id, "numbers")
    )
    of_drops = select(_duplicates.claim, _duplicates.id, _duplicates.url).where(
        _duplicates.namespace == namespace.id, among(database.dialect, _duplicates.id, "numbers")
    )

    def read(connection: Connection) -> dict[tuple[int, int], str]:
        claims = values(database.dialect, [claim for claim, number in pairs if not number])
        drops = values(database.dialect, [number for _, number in pairs if number])
        found = {(row[0], 0): row[1] for row in connection.execute(of_claims, {"numbers": claims})}
        found.update(
            {(row[0], row[1]): row[2] for row in connection.execute(of_drops, {"numbers": drops})}
        )
        return found

    return database.read(read)


@dataclass(frozen=True, slots=True)
class Page:
    """Everything known of a page.

    Attributes:
        claims: its own claims, each a version of it, the oldest first.
        drops: when it was a near-duplicate itself.
        duplicates: the newest of what was a near-duplicate of it.
        duplicate_count: how many of those there are.
    """

    claims: Sequence[Row[Any]]
    drops: Sequence[Drop]
    duplicates: Sequence[Drop]
    duplicate_count: int


def pages(
    database: Database, namespace: Namespace, url: str, owners: Iterable[int], *, limit: int = 20
) -> Page:
    """Look a page up by its URL, its owner key or the number of its owner.

    The two latter have an index; the URL is searched for through the whole namespace.
    """
    owned = among(database.dialect, _claims.owner, "owners")
    parameters = {"owners": values(database.dialect, owners)}
    own = (
        select(schema.claims)
        .where(_claims.namespace == namespace.id, or_(owned, _claims.url == url))
        .order_by(_claims.id)
    )
    dropped = _drop.where(
        _duplicates.namespace == namespace.id,
        or_(_duplicates.url == url, among(database.dialect, _duplicates.owner, "owners")),
    ).order_by(_duplicates.id.desc())

    def read(connection: Connection) -> Page:
        claims = connection.execute(own, parameters).all()
        itself = [Drop(*row) for row in connection.execute(dropped.limit(limit), parameters)]
        others = (
            _duplicates.namespace == namespace.id,
            among(database.dialect, _duplicates.claim, "numbers"),
        )
        numbers = {"numbers": values(database.dialect, [claim.id for claim in claims])}
        newest = _drop.where(*others).order_by(_duplicates.id.desc()).limit(limit)
        return Page(
            claims,
            itself,
            [Drop(*row) for row in connection.execute(newest, numbers)],
            connection.scalar(
                select(func.count()).select_from(schema.duplicates).where(*others), numbers
            )
            or 0,
        )

    return database.read(read)


def quarantined(
    database: Database,
    namespace: Namespace,
    *,
    orphans: bool = False,
    run: int | None = None,
    since: float | None = None,
    min_distance: int | None = None,
) -> Iterator[Row[Any]]:
    """The dropped items, the oldest first: ``id``, ``item`` (packed, or None) and ``item_type``.

    Args:
        database: where they are.
        namespace: in which one.
        orphans: only those that no claim stands for any more.
        run: only those of this run.
        since: only those dropped since then, in seconds since the epoch.
        min_distance: only those at this distance or farther.
    """
    conditions = list(_of(namespace, run))
    # What was only reported was stored as well.
    conditions.append(_duplicates.action != "report")
    if orphans:
        conditions.append(_duplicates.orphaned == true())
    if since is not None:
        conditions.append(_duplicates.created >= since)
    if min_distance is not None:
        conditions.append(_duplicates.distance >= min_distance)
    query = select(_duplicates.id, _duplicates.item, _duplicates.item_type).where(*conditions)
    last = -1
    while True:
        page = query.where(_duplicates.id > last).order_by(_duplicates.id).limit(_PAGE)
        rows = database.read(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
        yield from rows
        if len(rows) < _PAGE:
            return
        last = rows[-1].id


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """What was met, in the order in which it was: row i of each array belongs to document i.

    Attributes:
        fingerprints: shape (n, bytes), uint8, big-endian.
        owners: shape (n,), int64.
        sizes: shape (n,), int64: numbers of features.
        runs: shape (n,), int64.
        kept: shape (n,), bool: whether it was claimed rather than dropped.
        claims: shape (n,), int64: its claim, or the one it is a duplicate of.
        numbers: shape (n,), int64: 0, or its number as a duplicate.
        left_out: older documents that were not read.
    """

    fingerprints: NDArray[np.uint8]
    owners: NDArray[np.int64]
    sizes: NDArray[np.int64]
    runs: NDArray[np.int64]
    kept: NDArray[np.bool_]
    claims: NDArray[np.int64]
    numbers: NDArray[np.int64]
    left_out: int

    def __len__(self) -> int:
        return len(self.owners)


def documents(
    database: Database, namespace: Namespace, run: int | None = None, *, limit: int
) -> Documents:
    """The stored fingerprints of claims and duplicates, for a replay.

    A page counts once, however many of its items were dropped, and what an owner's own earlier
    version stands for not at all.

    Args:
        database: where they are.
        namespace: in which one.
        run: up to the end of this run, which alone has its duplicates counted; otherwise all.
        limit: the newest so many claims, and as many duplicates.
    """
    columns = ("created", "owner", "run", "fingerprint", "size")
    of_claims = (
        select(*(_claims[name] for name in columns), _claims.id.label("claim"))
        .where(_claims.namespace == namespace.id)
        .order_by(_claims.id.desc())
        .limit(limit)
    )
    if run is not None:
        of_claims = of_claims.where(_claims.run <= run)
    of_drops = (
        select(*(_duplicates[name] for name in columns), _duplicates.claim, _duplicates.id)
        .where(*_of(namespace, run), _duplicates.action != SAME)
        .order_by(_duplicates.id.desc())
        .limit(limit)
    )

    def read(connection: Connection) -> tuple[list[tuple[Any, ...]], int]:
        claims: list[tuple[Any, ...]] = [(*row, 0) for row in connection.execute(of_claims)]
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in connection.execute(of_drops):
            rows[row.run, row.owner, row.fingerprint] = tuple(row)
        total = connection.scalar(
            select(func.count()).select_from(of_claims.limit(None).order_by(None).subquery())
        )
        return sorted([*claims, *rows.values()], key=lambda row: row[0]), total - len(claims)  # type: ignore[operator]

    rows, left_out = database.read(read)
    width = -(-namespace.bits // 8)
    packed = b"".join(bytes(row[3]) for row in rows)
    numbers = np.array(
        [(row[1], row[2], row[4], row[5], row[6]) for row in rows], np.int64
    ).reshape(-1, 5)
    owners, of_run, sizes, claims, duplicates = numbers.T
    return Documents(
        np.frombuffer(packed, np.uint8).reshape(-1, width),
        owners,
        sizes,
        of_run,
        duplicates == 0,
        claims,
        duplicates,
        left_out,
    )


def _of(namespace: Namespace, run: int | None) -> tuple[ColumnElement[bool], ...]:
    here = _duplicates.namespace == namespace.id
    return (here,) if run is None else (here, _duplicates.run == run)


def _count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))
