"""Recovery: finds runs that died, and deletes their invalidated claims in small steps."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select, update

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import Invalidated
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NamespaceGone
from scrapy_simhash.index.queries import claims_of, is_valid
from scrapy_simhash.index.writer import writing
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

#: Seconds between two heartbeats of a run.
HEARTBEAT = 10.0

#: A run on another host without a heartbeat for so many seconds is dead. A heartbeat far in the
#: future proves nothing: the clock was ahead when it was written.
LEASE = 90.0

# Claims deleted in one step; other writers wait meanwhile.
_STEP = 200

# The names that this process has registered and not unregistered.
_registered: set[str] = set()


def fate(on_crash: str) -> int:
    """Which claims of a run with this policy are invalidated once it is dead."""
    return Invalidated.ALL if on_crash == "release" else Invalidated.PENDING


class Recovery:
    """Finds runs that died, and deletes their invalidated claims; `me` is the run that does it.

    Attributes:
        runs: the numbers of the runs that were found dead.
        claims: how many of their claims were deleted.
        has_work: whether there may be invalidated claims.
    """

    def __init__(self, database: Database, me: int) -> None:
        self.runs: list[int] = []
        self.claims = 0
        self._database = database
        self._me = me
        self.has_work = False

    def look(self, *, elsewhere: bool = False) -> None:
        """Find the runs that have died, and invalidate their claims.

        Those on other hosts are found only if asked for, by a run whose own heartbeats are regular:
        after an outage, or when the clock of the database was set, all runs look silent.
        """
        row = schema.runs.c
        is_open = and_(row.settled.is_(False), row.recovered.is_(None), row.id != self._me)
        names = ("id", "spider", "host", "process", "heartbeat", "heartbeats", "on_crash")
        columns = (*(row[name] for name in names), is_open.label("is_open"))
        either = or_(is_open, row.invalidated > Invalidated.NONE)
        wanted = select(*columns).where(either).order_by(row.id)

        def read(connection: Connection) -> tuple[list[Row[Any]], float]:
            return list(connection.execute(wanted)), self._database.clock(connection)

        found, now = self._database.read(read)
        for run in found:
            if not run.is_open:
                self.has_work = True
            elif run.host == host_id():
                if not is_alive(run.process):
                    self._declare_dead(run, now)
            elif elsewhere and abs(now - run.heartbeat) > LEASE:
                self._declare_dead(run, now)

    def _declare_dead(self, run: Row[Any], now: float) -> None:
        """Invalidate the claims of a run, unless it acted since its row was read."""
        row = schema.runs.c
        as_seen = (row.id == run.id, row.heartbeats == run.heartbeats, row.settled.is_(False))
        change = (
            update(schema.runs)
            .where(*as_seen, row.recovered.is_(None))
            .values(recovered=now, invalidated=fate(run.on_crash))
        )
        if not self._database.transact(lambda connection: connection.execute(change).rowcount):
            return
        self.runs.append(run.id)
        self.has_work = True
        logger.info(
            "Run %d (spider %r, on %s) never closed: its %s are released, and their items are "
            "stored when they are seen again",
            run.id,
            run.spider,
            shortened(run.host.partition(" ")[0]),
            "claims" if run.on_crash == "release" else "unconfirmed claims",
        )

    def clear(self, seconds: float = 0.0) -> bool:
        """Delete some invalidated claims, in small steps; whether there may be more.

        No further step starts after so many seconds; one step is always done.
        """
        deadline = time.monotonic() + seconds
        while self.has_work:
            self._step()
            if time.monotonic() >= deadline:
                break
        return self.has_work

    def _step(self) -> None:
        run, some = self._database.read(_invalidated)
        if run is None:
            self.has_work = False
        elif not some:
            self._database.transact(partial(_finish, run))
        else:
            namespace = some[0].namespace
            numbers = [one.id for one in some if one.namespace == namespace]
            self.claims += self._delete(namespace, numbers) * (run.id != self._me)

    def _delete(self, namespace: int, numbers: Sequence[int]) -> int:
        """Delete claims, except those that are valid again because their run revived."""

        def delete(connection: Connection) -> int:
            with writing(connection, namespace) as writer:
                rows = claims_of(connection, namespace, numbers, ~is_valid())
                writer.delete(rows, orphaned=True)
            return len(rows)

        try:
            return self._database.transact(delete)
        except NamespaceGone:
            # It was reset, and its claims with it.
            return 0


def _invalidated(connection: Connection) -> tuple[Any, list[Row[Any]]]:
    """The first run with invalidated claims, None if there is none, and the first of its claims."""
    row, claim = schema.runs.c, schema.claims.c
    wanted = select(row.id, row.invalidated).where(row.invalidated > Invalidated.NONE)
    run = connection.execute(wanted.order_by(row.id).limit(1)).one_or_none()
    if run is None:
        return None, []
    left = (
        select(claim.namespace, claim.id)
        .where(claim.run == run.id, claim.state < run.invalidated)
        .order_by(claim.namespace, claim.id)
        .limit(_STEP)
    )
    return run, list(connection.execute(left))


def _finish(run: Row[Any], connection: Connection) -> None:
    """Nothing is left of a run, unless it revived, or more of it was invalidated meanwhile."""
    row = schema.runs.c
    is_same = row.id == run.id, row.invalidated == run.invalidated
    connection.execute(update(schema.runs).where(*is_same).values(invalidated=Invalidated.NONE))


def host_id() -> str:
    """Identifies this system: host name, boot and PID namespace, which containers do not share."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    if len(parts) == 1:
        # Host names are not unique: add the hardware address, or the random number in its place.
        parts.append(f"{uuid.getnode():012x}")
    return " ".join(parts)[:255]


def register() -> str:
    """A name for an activity of this process, which ends with the process at the latest.

    It consists of the process number, the time (numbers are reused), and a random part (a process
    may have several activities).
    """
    # Linux counts the start of a process from the boot: the clock may be set.
    is_linux = hasattr(time, "CLOCK_BOOTTIME")
    now = time.clock_gettime(time.CLOCK_BOOTTIME) if is_linux else time.time()
    name = f"{os.getpid()} {now:.2f} {secrets.token_hex(8)}"
    _registered.add(name)
    return name


def unregister(name: str) -> None:
    """End an activity, though the process lives on."""
    _registered.discard(name)


def is_alive(name: str) -> bool:
    """Whether an activity that was registered on this system has not ended."""
    import psutil  # noqa: PLC0415  (slow, and only needed if there are others)

    number, _, rest = name.partition(" ")
    try:
        found = psutil.Process(int(number))
        started = found.create_time() - (psutil.boot_time() if psutil.LINUX else 0)
        # A zombie is dead; its parent has not waited for it yet.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        # One that started later has got the number of the one that was registered.
        lives = not is_zombie and started < float(rest.partition(" ")[0]) + 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True
    return lives and (found.pid != os.getpid() or name in _registered)
