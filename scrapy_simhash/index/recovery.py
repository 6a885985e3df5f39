"""Recovery: the runs that died are found, and what they left is deleted in small steps."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, func, or_, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.schema import ALL_VOID, NOT_VOID, PENDING_VOID
from scrapy_simhash.db.statements import is_in, list_parameter
from scrapy_simhash.exceptions import NamespaceGone
from scrapy_simhash.index.budgets import UsageCounters
from scrapy_simhash.index.deletion import DELETION_COLUMNS
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.process import host_id, is_alive
from scrapy_simhash.index.writer import Writer
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sqlalchemy import Connection, Row, Select

    from scrapy_simhash.db.transactions import Database

__all__ = ["HEARTBEAT", "LEASE", "STEP", "WATCH", "Recovery", "fate"]

logger = logging.getLogger(__name__)

#: Seconds between two signs of life of a run.
HEARTBEAT = 10.0

#: A run on another host that gave none for as many seconds is suspected, and dead if it gave none
#: for as many after that: a clock that is set makes all runs look silent, but not twice.
LEASE, WATCH = 60.0, 2.5 * HEARTBEAT

#: Seconds that one step of deleting takes about. Others wait for it meanwhile.
STEP = 0.02

# So many claims are deleted in a step at first, at least and at most.
_FIRST, _LEAST, _MOST = 100, 10, 2000


def fate(on_crash: str) -> int:
    """Which claims of a run with this policy are void once it is dead."""
    return ALL_VOID if on_crash == "release" else PENDING_VOID


class _Place(NamedTuple):
    """How far the claims of a run are deleted."""

    run: int
    void: int
    namespace: int
    last: int


class Recovery:
    """Finds the runs that died, and deletes what they left.

    Args:
        database: where they are.
        me: the number of the run that does this.

    Attributes:
        runs: the numbers of those that were found dead.
        claims: how many claims of theirs were deleted.
        has_work: whether there may be claims that count no more.
    """

    def __init__(self, database: Database, me: int) -> None:
        self.runs: list[int] = []
        self.claims = 0
        self._database = database
        self._me = me
        self.has_work = False
        self._place: _Place | None = None
        self._chunk = _FIRST

    def look(self) -> None:
        """Find the runs that died since: from now on what they left counts no more.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        row = schema.runs.c
        is_open = and_(row.settled.is_(False), row.recovered.is_(None), row.id != self._me)
        columns = (
            *(row.id, row.spider, row.host, row.process, row.heartbeat, row.beats),
            *(row.suspected, row.on_crash, row.recovered, row.settled),
        )

        def read(connection: Connection) -> tuple[list[Row[Any]], float]:
            found = select(*columns).where(or_(is_open, row.void > NOT_VOID)).order_by(row.id)
            return list(connection.execute(found)), self._database.clock(connection)

        found, now = self._database.read(read)
        unsettled = [run for run in found if not run.settled and run.recovered is None]
        self.has_work |= len(found) > len(unsettled)
        for run in unsettled:
            if self._is_dead(run, now):
                self._bury(run, now)

    def _is_dead(self, run: Row[Any], now: float) -> bool:
        if run.host == host_id():
            return not is_alive(run.process)
        if now - run.heartbeat <= LEASE:
            return False
        if run.suspected is None:
            self._change(run, suspected=now)
            return False
        return bool(now - run.suspected >= WATCH)

    def _bury(self, run: Row[Any], now: float) -> None:
        """Make the claims of a dead run void."""
        if not self._change(run, recovered=now, void=fate(run.on_crash)):
            return
        self.runs.append(run.id)
        self.has_work = True
        logger.info(
            "Run %d (spider %r, on %s) never closed: what it claimed%s counts no more, and is "
            "stored again when it is met",
            run.id,
            run.spider,
            shortened(run.host.partition(" ")[0]),
            "" if run.on_crash == "release" else " and did not confirm",
        )

    def _change(self, run: Row[Any], **columns: Any) -> bool:
        """Change the row of a run, if that has neither given a sign of life since, nor closed."""
        row = schema.runs.c
        as_seen = (row.id == run.id, row.beats == run.beats, row.settled.is_(False))
        change = update(schema.runs).where(*as_seen, row.recovered.is_(None)).values(columns)
        return self._database.transact(lambda connection: connection.execute(change).rowcount > 0)

    def clear(self, seconds: float = 0.0) -> bool:
        """Delete some of the claims that count no more, a step of about 20 ms at a time.

        Args:
            seconds: no further step begins after so many; one is done in any case.

        Returns:
            whether there may be others left.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        deadline = time.monotonic() + seconds
        while self.has_work:
            self._step()
            if time.monotonic() >= deadline:
                break
        return self.has_work

    def _step(self) -> None:
        if self._place is None:
            self._place = self._database.read(_first)
            if self._place is None:
                self.has_work = False
                return
        place = self._place
        numbers = self._database.read(partial(_numbers, place, self._chunk))
        if numbers:
            started = time.monotonic()
            self.claims += self._forget(place.namespace, numbers) * (place.run != self._me)
            self._place = place._replace(last=numbers[-1])
            self._adapt(time.monotonic() - started)
            return
        namespace = self._database.read(partial(_next_namespace, place))
        if namespace is None:
            self._database.transact(partial(_finish, place))
            self._place = None
        else:
            self._place = place._replace(namespace=namespace, last=0)

    def _adapt(self, spent: float) -> None:
        """So many at a time as take about as long as they may."""
        factor = min(2.0, max(0.5, STEP / max(spent, 1e-9)))
        self._chunk = int(min(_MOST, max(_LEAST, self._chunk * factor)))

    def _forget(self, namespace: int, numbers: Sequence[int]) -> int:
        """Delete claims, but for those that count again because their run woke."""
        row = schema.claims.c
        wanted = select(*(row[name] for name in DELETION_COLUMNS)).where(
            row.namespace == namespace,
            is_in(self._database.dialect, row.id, "numbers"),
            ~is_valid(),
        )
        parameters = {"numbers": list_parameter(self._database.dialect, numbers)}

        def forget(connection: Connection) -> int:
            held = lock(connection, namespace)
            rows = connection.execute(wanted, parameters).all()
            usage = UsageCounters(connection, namespace, held)
            writer = Writer(connection, namespace, held, usage)
            writer.forget([tuple(found) for found in rows], orphaned=True)
            usage.record()
            return len(rows)

        try:
            return self._database.transact(forget, namespace)
        except NamespaceGone:
            # They went with it.
            return 0


def _first(connection: Connection) -> _Place | None:
    row = schema.runs.c
    found = connection.execute(
        select(row.id, row.void).where(row.void > NOT_VOID).order_by(row.id).limit(1)
    ).one_or_none()
    return None if found is None else _Place(found.id, found.void, 0, 0)


def _numbers(place: _Place, count: int, connection: Connection) -> list[int]:
    """The next claims of a run in a namespace that may be void."""
    row = schema.claims.c
    wanted: Select[Any] = (
        select(row.id)
        .where(
            row.run == place.run,
            row.namespace == place.namespace,
            row.id > place.last,
            row.state < place.void,
        )
        .order_by(row.id)
        .limit(count)
    )
    return list(connection.execute(wanted).scalars())


def _next_namespace(place: _Place, connection: Connection) -> int | None:
    row = schema.claims.c
    following = select(func.min(row.namespace)).where(
        row.run == place.run, row.namespace > place.namespace
    )
    found: int | None = connection.scalar(following)
    return found


def _finish(place: _Place, connection: Connection) -> None:
    """Nothing is left of a run, unless it woke, or something else of it became void meanwhile."""
    row = schema.runs.c
    connection.execute(
        update(schema.runs).where(row.id == place.run, row.void == place.void).values(void=NOT_VOID)
    )
