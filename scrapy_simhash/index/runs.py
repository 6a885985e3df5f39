"""Runs: which crawl made a claim, whether it still lives, and what becomes of what it left behind.

A claim is only as good as the run that made it: what a run confirmed is known to be stored once the
run has closed and its feeds with it. A run that never closed, or closed without having stored what
it scraped, is recovered by the next one that opens: its claims are released, so that the pages they
stand for are delivered again rather than lost.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, insert, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.schema import PENDING
from scrapy_simhash.index.budgets import Books
from scrapy_simhash.index.process import host_id, is_alive, process_id
from scrapy_simhash.index.writer import FORGET, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, Self

    from sqlalchemy import Connection, Row

    from scrapy_simhash.db.transactions import Database

__all__ = ["HEARTBEAT", "LEASE", "Recovery", "Run"]

#: Seconds between two signs of life of a run.
HEARTBEAT = 20.0

#: A run on another host that gave none for as many seconds is dead.
LEASE = 300.0

_CHUNK = 1000


class Recovery(NamedTuple):
    """What was released because its run had died.

    Attributes:
        runs: the dead runs.
        claims: how many claims were released.
    """

    runs: list[int]
    claims: int


class Run:
    """One process that makes claims. Open it with :meth:`open`."""

    def __init__(self, database: Database, number: int) -> None:
        self.database = database
        self.id = number
        self.recovery = Recovery([], 0)
        #: The least number of the runs that were open together with this one: one visit of the web.
        self.generation = number
        self._closed = False

    @classmethod
    def open(
        cls,
        database: Database,
        *,
        spider: str = "",
        job: str = "",
        on_crash: Literal["release", "keep"] = "release",
    ) -> Self:
        """Enter this process as a run, and recover the runs that died.

        Args:
            database: where the claims are.
            spider: its name.
            job: what tells this crawl from others of the spider, such as its JOBDIR.
            on_crash: whether the confirmed claims of dead runs are released like the pending ones.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        host, process, now = host_id(), process_id(), database.now()

        def enter(connection: Connection, retried: bool) -> int:
            row = schema.runs.c
            if retried and (
                entered := connection.scalar(
                    select(row.id).where(
                        row.host == host, row.process == process, row.opened == now
                    )
                )
            ):
                return int(entered)
            made = connection.execute(
                insert(schema.runs).values(
                    spider=spider[:255],
                    job=job,
                    host=host,
                    process=process,
                    opened=now,
                    heartbeat=now,
                )
            )
            return int(made.inserted_primary_key[0])  # type: ignore[index]

        run = cls(database, database.transact_once(enter))
        run.recover(on_crash)
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
                row.closed.is_(None), row.recovered.is_(None), row.generation > 0, row.id != self.id
            )
        )
        generation = min(self.id, company or self.id)
        mine = update(schema.runs).where(row.id == self.id).values(generation=generation)
        connection.execute(mine)
        return generation

    def recover(self, on_crash: Literal["release", "keep"] = "release") -> Recovery:
        """Release what the runs that died since have left behind; see :meth:`open`.

        Raises:
            IndexUnavailable: the database did not answer in time.
        """
        self.recovery = _recover(self.database, self.id, host_id(), on_crash)
        return self.recovery

    def beat(self) -> None:
        """Give a sign of life."""
        self.mark(heartbeat=self.database.now())

    def close(self, *, settled: bool, reason: str, stats: Mapping[str, Any] | None = None) -> None:
        """Close the run: what is still pending is released.

        Args:
            settled: whether everything that was confirmed is known to be stored. Otherwise the
                next run that opens releases it.
            reason: why it ended.
            stats: of the crawl, kept for the report.
        """
        if self._closed:
            return
        self._closed = True
        _release(self.database, self.id, confirmed=False)
        now = self.database.now()
        # What was dropped is in the quarantine for good when nobody will fetch it again.
        with self.database.durable():
            self.mark(
                heartbeat=now,
                closed=now,
                settled=settled,
                reason=reason,
                stats=json.dumps(stats, default=str) if stats is not None else None,
            )

    def mark(self, **columns: Any) -> None:
        """Set columns of the run's row."""
        self.database.transact(
            lambda connection: connection.execute(
                update(schema.runs).where(schema.runs.c.id == self.id).values(columns)
            )
        )


def _recover(
    database: Database, me: int, host: str, on_crash: Literal["release", "keep"]
) -> Recovery:
    row = schema.runs.c
    unsettled = database.read(
        lambda connection: connection.execute(
            select(schema.runs).where(row.settled.is_(False), row.recovered.is_(None), row.id != me)
        ).all()
    )
    recovered, released = [], 0
    for run in unsettled:
        if not _is_over(run, host, database.now()):
            continue
        released += _release(database, run.id, confirmed=on_crash == "release")
        # Only now: a recovery that is itself interrupted is done again.
        Run(database, run.id).mark(recovered=database.now())
        recovered.append(run.id)
    return Recovery(recovered, released)


def _is_over(run: Row[Any], host: str, now: float) -> bool:
    if run.closed is not None:
        return True
    if run.host == host:
        return not is_alive(run.process)
    return bool(now - run.heartbeat > LEASE)


def _release(database: Database, run: int, *, confirmed: bool) -> int:
    """Release a run's pending claims, and its confirmed ones too if so wanted."""
    claims = schema.claims.c
    mine = (claims.run == run, *(() if confirmed else (claims.state == PENDING,)))
    namespaces = database.read(
        lambda connection: list(
            connection.execute(select(claims.namespace).where(*mine).distinct()).scalars()
        )
    )

    def release(namespace: int, connection: Connection) -> int:
        held = lock(connection, namespace)
        rows = connection.execute(
            select(*(claims[name] for name in FORGET))
            .where(claims.namespace == namespace, *mine)
            .limit(_CHUNK)
        ).all()
        books = Books(connection, namespace, held)
        writer = Writer(connection, namespace, held, books)
        writer.forget([tuple(row) for row in rows], orphaned=True)
        books.enter()
        return len(rows)

    total = 0
    for namespace in namespaces:
        while count := database.transact(partial(release, namespace)):
            total += count
    return total
