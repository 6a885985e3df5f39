"""Runs: the crawls that make claims, their heartbeat, and their end.

A claim is only as good as its run: what a run confirmed is known to be stored once the run has
closed, and its feeds with it. If a run never closes, or closes without having stored its items, its
claims are invalidated, so that their pages are delivered again rather than lost.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import Invalidated
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import TEXT_LENGTH, storable
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.index.queries import is_dead
from scrapy_simhash.index.recovery import (
    HEARTBEAT,
    LEASE,
    Recovery,
    fate,
    host_id,
    living,
    new_process_name,
)
from scrapy_simhash.index.seen import Visits
from scrapy_simhash.index.verdict import random_number

if TYPE_CHECKING:
    T = TypeVar("T")

logger = logging.getLogger(__name__)

# Seconds that closing spends on deleting invalidated claims; other runs delete the rest.
_CLOSING_SECONDS = 1.0


# Made once, as they are executed in each transaction.
_is_mine = and_(schema.runs.c.id == bindparam("number"), schema.runs.c.process == bindparam("name"))
_sign = update(schema.runs).where(_is_mine).values(signed=bindparam("token"))
# A server may still be committing the attempt before: then the row is locked.
_signed = select(schema.runs.c.signed).where(_is_mine).with_for_update()


class Run:
    """One process that makes claims. Open it with :meth:`open`.

    Attributes:
        id: its number.
        process: its name. A database restored from a backup may give the number of a run to another
            one, but not its name.
        visit: its visit: the smallest number of the runs that were open together.
        recovery: handles runs that died.
    """

    def __init__(self, database: Database, on_crash: str) -> None:
        self.database, self.recovery = database, Recovery(database)
        self.process = new_process_name()
        self.id = self.visit = 0
        # By namespaces, as of the last heartbeat.
        self._visits: dict[int, Visits] = {}
        self._on_crash = on_crash
        self._closed = self._is_gone = False
        self._last_heartbeat = time.time()
        living[self.process] = self

    @classmethod
    def open(
        cls,
        database: Database,
        *,
        spider: str = "",
        job: str = "",
        arguments: str = "",
        on_crash: Literal["release", "keep"] = "release",
    ) -> Self:
        """Register this process as a run, and find the runs that died.

        Args:
            database: of the claims.
            spider: its name.
            job: its JOBDIR: the runs of one are one visit until one has finished.
            arguments: equal for runs with the same arguments of the spider; at most 64 characters.
            on_crash: whether its confirmed claims are released, like the pending ones, if it dies.
        """
        run = cls(database, on_crash)
        # First: runs that died before do not share its visit.
        run.recovery.look()
        given = {
            "spider": storable(spider, 255),
            "job": storable(job, TEXT_LENGTH),
            "arguments": arguments,
            "host": host_id(),
            "process": run.process,
            "on_crash": on_crash,
        }
        run.id, run.visit = database.transact(partial(_insert, database, given))
        return run

    @property
    def _mine(self) -> ColumnElement[bool]:
        return and_(schema.runs.c.id == self.id, schema.runs.c.process == self.process)

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Like :meth:`Database.transact`, for work that must not take effect twice.

        The token of the transaction is written last, to the row of this run. An attempt that finds
        it there follows a committed one whose answer was lost, and returns that attempt's result.

        Raises:
            IndexUnusable: the database does not know this run, it may be restored from a backup.
        """
        token = random_number()
        done: list[T] = []
        mine = {"number": self.id, "name": self.process}

        def work_and_sign(connection: Connection) -> T:
            if not done or connection.scalar(_signed, mine) != token:
                done[:] = [work(connection)]
                self._check(connection.execute(_sign, {**mine, "token": token}).rowcount)
            return done[0]

        return self.database.transact(work_and_sign)

    def _check(self, row: object = True) -> None:
        """Raise an error, now and from now on, if the row of this run was not found."""
        self._is_gone |= not row
        if self._is_gone:
            raise IndexUnusable(
                f"{self.database} was reset or restored from a backup during this crawl, and does "
                f"not know its run {self.id} any more: start the crawl again to use the index"
            )

    def visits_in(self, namespace: int) -> Visits:
        """Which sightings of a namespace are those of now, as of the last heartbeat."""
        if namespace not in self._visits:
            read = partial(read_visits, run=self.id, visit=self.visit, namespace=namespace)
            self._visits[namespace] = self.database.read(read)
        return self._visits[namespace]

    def send_heartbeat(self) -> None:
        """If it is due, write a heartbeat and look for runs that died.

        A run whose machine slept may have been declared dead. The heartbeat revives it with the
        claims that are left, so it must be called before each claim.

        Raises:
            IndexUnavailable: the database did not answer in time; IndexUnusable, it does not know
                this run any more.
        """
        self._check()
        # The wall clock, which includes the time that a machine sleeps. If it is set back, a
        # heartbeat is due at once.
        if self._closed or 0 <= time.time() - self._last_heartbeat < HEARTBEAT:
            return
        # If this fails, the next attempt comes after a second, and calls in between succeed.
        self._last_heartbeat = time.time() - HEARTBEAT + 1
        was_dead, silence = self.database.transact(self._write_heartbeat)
        if was_dead:
            logger.warning(
                "Run %d had no heartbeat for so long that it was declared dead; it continues. "
                "Other runs may have stored its items again meanwhile",
                self.id,
            )
        self._last_heartbeat = time.time()
        # Half: the last heartbeat of others was somewhat earlier.
        self.recovery.look(elsewhere=abs(silence) < LEASE / 2)
        self._visits.clear()

    def _write_heartbeat(self, connection: Connection) -> tuple[bool, float]:
        """Whether the run was declared dead, and how long ago the last heartbeat was."""
        row = schema.runs.c
        wanted = select(row.recovered, row.heartbeat).where(self._mine)
        recovered, before = connection.execute(wanted).one_or_none() or (None, 0.0)
        now = self.database.clock(connection)
        self._set(connection, heartbeat=now, recovered=None, invalidated=Invalidated.NONE)
        return recovered is not None, now - before

    def close(
        self,
        *,
        settled: bool,
        reason: str,
        complete: bool = False,
        stats: Mapping[str, Any] | None = None,
    ) -> None:
        """Close the run; its pending claims are released, and so are confirmed ones unless settled.

        `settled` is whether everything that was confirmed is known to be stored, `complete` whether
        the run met everything that it was to meet, as far as it came. If the database does not
        answer in time, the run counts as dead.
        """
        if self._closed:
            return
        self._closed = True
        now = self.database.now()
        try:
            self.mark(
                heartbeat=now,
                closed=now,
                settled=settled,
                complete=complete,
                recovered=None if settled else now,
                invalidated=Invalidated.PENDING if settled else fate(self._on_crash),
                reason=storable(reason, TEXT_LENGTH),
                stats=json.dumps(stats, default=str) if stats is not None else None,
            )
        finally:
            living.pop(self.process, None)
        self.recovery.has_work = True
        # The run is closed; other runs delete what is left.
        with suppress(IndexUnavailable):
            self.recovery.clear(_CLOSING_SECONDS)

    def abandon(self) -> None:
        """Give the run up without closing it: it counts as dead, though this process lives on."""
        self._closed = True
        living.pop(self.process, None)

    def mark(self, **columns: Any) -> None:
        """Set columns of the run's row; raises IndexUnusable if it is gone."""
        # Dropped items must survive a power cut: their pages will not be fetched again.
        self.database.transact(partial(self._set, **columns), durable=True)

    def _set(self, connection: Connection, **columns: Any) -> None:
        change = update(schema.runs).where(self._mine).values(columns)
        self._check(connection.execute(change).rowcount)


def _insert(
    database: Database, given: Mapping[str, str], connection: Connection
) -> tuple[int, int]:
    """Insert a run; returns its number, and that of its visit. A lock serializes the runs."""
    row, version = schema.meta.c, schema.meta.c.name == "version"
    if database.dialect == "sqlite":
        connection.execute(update(schema.meta).where(version).values(value=row.value))
    else:
        connection.execute(select(row.value).where(version).with_for_update())
    row, now = schema.runs.c, database.clock(connection)
    # If an answer was lost, it is there.
    inserted = select(row.id, row.visit).where(row.process == given["process"])
    if found := connection.execute(inserted).one_or_none():
        return found.id, found.visit
    # The visit of the runs that are open now. A run on another host may be dead, unless it had a
    # heartbeat.
    is_alive = or_(row.host == given["host"], row.heartbeat.between(now - LEASE, now + LEASE))
    visit = connection.scalar(
        select(func.min(row.visit)).where(row.settled.is_(False), row.recovered.is_(None), is_alive)
    )
    known = [one for one in (visit, _continued(connection, given)) if one]
    made = connection.execute(insert(schema.runs).values(**given, opened=now, heartbeat=now))
    number = int(made.inserted_primary_key[0])  # type: ignore[index]
    visit = min(known, default=number)
    connection.execute(update(schema.runs).where(row.id == number).values(visit=visit))
    return number, visit


def _continued(connection: Connection, given: Mapping[str, str]) -> int | None:
    """The visit of the last run like a new one, if that continues its visit.

    A crawl with a JOBDIR goes on until it has finished; and what a crashed run stored may be kept.
    """
    row = schema.runs.c
    last = connection.execute(
        select(row.visit, row.job, row.reason, row.closed, row.on_crash)
        .where(*(row[name] == given[name] for name in ("spider", "job", "arguments")))
        .order_by(row.id.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return None
    is_kept = last.closed is None and last.on_crash == "keep"
    goes_on = last.job and last.reason != "finished"
    return int(last.visit) if is_kept or goes_on else None


def read_visits(connection: Connection, run: int, visit: int, namespace: int) -> Visits:
    """Which sightings of a namespace are those of now for a run of a visit."""
    row, this_run = schema.runs.c, schema.runs.alias("mine")
    last = (
        select(row.spider, func.max(row.visit).label("visit"))
        .where(this_run.c.id == run, row.spider != this_run.c.spider, ~is_dead(schema.runs))
        .where(or_(row.settled, row.recovered.is_not(None)), _has_met(row.id, namespace))
        .group_by(row.spider)
        .subquery()
    )
    others = select(row.id).where(row.spider == last.c.spider, row.visit >= last.c.visit)
    before, _ = last_complete(connection, run, namespace)
    return Visits(visit, before, frozenset(connection.scalars(others)))


def _has_met(run: ColumnElement[int], namespace: int) -> ColumnElement[bool]:
    """The condition that a run has met anything of a namespace: a spider may use several."""
    seen = schema.sightings.c
    return exists().where(seen.run == run, seen.namespace == namespace)


def last_complete(connection: Connection, run: int, namespace: int) -> tuple[int, list[int]]:
    """The last complete visit of a namespace by the same spider and arguments, with its runs.

    0 if there is none.
    """
    row, mine = schema.runs.c, schema.runs.alias("mine")
    alike = (row.spider == mine.c.spider, row.arguments == mine.c.arguments)
    columns = row.id, row.visit, row.complete, row.closed, row.reason
    runs = connection.execute(
        select(*columns, _has_met(row.id, namespace).label("has_met"))
        .where(mine.c.id == run, *alike, row.visit < mine.c.visit)
        .order_by(row.visit.desc(), row.id)
    )
    for visit, of_visit in groupby(runs, lambda one: one.visit):
        # What crashed was made again.
        some = [one for one in of_visit if one.closed]
        is_finished = any(one.has_met for one in some) and some[-1].reason == "finished"
        if is_finished and all(one.complete for one in some):
            return visit, [one.id for one in some]
    return 0, []


def is_complete(connection: Connection, run: int) -> bool:
    """Whether a visit has ended with this run, and met everything that it was to meet."""
    row, this_run = schema.runs.c, schema.runs.alias("mine")
    others = select(row.id, row.complete, row.closed, row.reason).where(
        this_run.c.id == run, row.visit == this_run.c.visit, row.spider == this_run.c.spider
    )
    return all(
        other.complete and other.closed and (other.id != run or other.reason == "finished")
        for other in connection.execute(others)
    )
