"""Runs: which crawl made a claim, whether it still lives, and what becomes of what it left behind.

A claim is only as good as the run that made it: what a run confirmed is known to be stored once the
run has closed and its feeds with it. The claims of a run that never closes, or closes without
having stored what it scraped, count no more from the moment that this is known, so that the pages
they stand for are delivered again rather than lost.
"""

from __future__ import annotations

import json
import logging
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import NOT_VOID, PENDING_VOID, TEXT_LENGTH
from scrapy_simhash.db.statements import storable
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.process import host_id, register, unregister
from scrapy_simhash.index.recovery import HEARTBEAT, LEASE, Recovery, fate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, Self

    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database

__all__ = ["Run"]

logger = logging.getLogger(__name__)

#: Seconds that closing takes at most to delete what counts no more; others do the rest.
_CLOSING = 1.0


class Run:
    """One process that makes claims. Open it with :meth:`open`.

    Attributes:
        id: its number.
        generation: the least number of the runs that were open together with this one: one visit
            of the web.
        recovery: what becomes of the runs that die.
    """

    def __init__(self, database: Database, number: int, process: str, on_crash: str) -> None:
        self.database = database
        self.id = number
        self.generation = number
        self.recovery = Recovery(database, number)
        self._on_crash = on_crash
        self._closed = False
        self._beaten = time.time()
        # One that nobody holds any more can't close.
        self._leave = weakref.finalize(self, unregister, process)

    @classmethod
    def open(
        cls,
        database: Database,
        *,
        spider: str = "",
        job: str = "",
        on_crash: Literal["release", "keep"] = "release",
    ) -> Self:
        """Enter this process as a run, and find the runs that died.

        Args:
            database: where the claims are.
            spider: its name.
            job: what tells this crawl from others of the spider, such as its JOBDIR.
            on_crash: whether its confirmed claims are released like those that pend, should it die.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        host, process = host_id(), register()

        def insert_row(connection: Connection, retried: bool) -> int:
            row = schema.runs.c
            if retried and (
                entered := connection.scalar(select(row.id).where(row.process == process))
            ):
                return int(entered)
            now = database.clock(connection)
            made = connection.execute(
                insert(schema.runs).values(
                    spider=storable(spider, 255),
                    job=storable(job, TEXT_LENGTH),
                    host=host,
                    process=process,
                    opened=now,
                    heartbeat=now,
                    on_crash=on_crash,
                )
            )
            return int(made.inserted_primary_key[0])  # type: ignore[index]

        try:
            run = cls(database, database.transact_once(insert_row), process, on_crash)
        except BaseException:
            unregister(process)
            raise
        run.recovery.look()
        # After that: who died before is no company.
        run.generation = database.transact(run._join)
        return run

    def _join(self, connection: Connection) -> int:
        """Find out with whom this run is open together, one run after the other."""
        connection.execute(
            update(schema.meta)
            .where(schema.meta.c.name == "version")
            .values(value=schema.meta.c.value)
        )
        row = schema.runs.c
        company = connection.scalar(
            select(func.min(row.generation)).where(
                row.settled.is_(False),
                row.recovered.is_(None),
                # Who is silent on another host may be dead.
                row.heartbeat > self.database.clock(connection) - LEASE,
                row.generation > 0,
                row.id != self.id,
            )
        )
        generation = min(self.id, company or self.id)
        mine = update(schema.runs).where(row.id == self.id).values(generation=generation)
        connection.execute(mine)
        return generation

    def beat(self) -> None:
        """If that is due, give a sign of life, and look for runs that died.

        A run that slept may have been taken for dead. With this it lives again, and what is left
        of its claims counts; so whoever claims does this first.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        # By the clock that goes on while a machine sleeps. If it is set, this is due at once.
        if self._closed or 0 <= time.time() - self._beaten < HEARTBEAT:
            return
        # Should this fail, the next one need not wait as long, but all others must not fail too.
        self._beaten = time.time() - HEARTBEAT + 1
        if self.database.transact(self._give_sign) is not None:
            logger.warning(
                "Run %d gave no sign of life for so long that it was taken for dead; it goes on. "
                "What it had claimed may have been stored by others meanwhile",
                self.id,
            )
        self._beaten = time.time()
        self.recovery.look()

    def _give_sign(self, connection: Connection) -> float | None:
        """Returns when the run was taken for dead, if it was."""
        row = schema.runs.c
        mine = row.id == self.id
        found = connection.execute(select(row.recovered).where(mine)).one_or_none()
        if found is None:
            raise IndexUnavailable(f"{self.database}: run {self.id} is gone: all was reset")
        now = self.database.clock(connection)
        connection.execute(
            update(schema.runs)
            .where(mine)
            .values(
                heartbeat=now,
                beats=row.beats + 1,
                suspected=None,
                recovered=None,
                void=NOT_VOID,
            )
        )
        recovered: float | None = found.recovered
        return recovered

    def close(self, *, settled: bool, reason: str, stats: Mapping[str, Any] | None = None) -> None:
        """Close the run: what is still pending is released.

        Args:
            settled: whether everything that was confirmed is known to be stored. Otherwise that is
                released too, unless the run was opened to keep it.
            reason: why it ended.
            stats: of the crawl, kept for the report.

        Raises:
            IndexUnavailable: the database did not answer in time: the run is dead.
        """
        if self._closed:
            return
        self._closed = True
        now = self.database.now()
        try:
            # What was dropped is in the quarantine for good when nobody will fetch it again.
            with self.database.durable():
                self.mark(
                    heartbeat=now,
                    closed=now,
                    settled=settled,
                    recovered=None if settled else now,
                    void=PENDING_VOID if settled else fate(self._on_crash),
                    reason=storable(reason, TEXT_LENGTH),
                    stats=json.dumps(stats, default=str) if stats is not None else None,
                )
        finally:
            self._leave()
        self.recovery.has_work = True
        # It is closed; what is left over somebody else deletes.
        with suppress(IndexUnavailable):
            self.recovery.clear(_CLOSING)

    def abandon(self) -> None:
        """Give the run up without closing it: it is dead, though this process may live on."""
        self._closed = True
        self._leave()

    def mark(self, **columns: Any) -> None:
        """Set columns of the run's row."""
        self.database.transact(
            lambda connection: connection.execute(
                update(schema.runs).where(schema.runs.c.id == self.id).values(columns)
            )
        )
