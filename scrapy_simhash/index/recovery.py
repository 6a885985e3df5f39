"""Recovery: finds runs that died, and deletes their invalidated claims in small steps."""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Row, and_, exists, literal_column, or_, select, update

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

_run, _claim = schema.runs.c, schema.claims.c
# Adding 0 makes the engine search for claims by their runs, not read all claims.
_is_of_run = _claim.run == _run.id + literal_column("0")
_is_invalidated = and_(_is_of_run, _claim.state < _run.invalidated)
_has_died = _run.invalidated > Invalidated.NONE
_invalidated = select(_claim.namespace, _claim.id).where(_has_died, _is_invalidated).limit(_STEP)
# Ends the recovery of dead runs that have no invalidated claims any more.
_finish = (
    update(schema.runs)
    .where(_has_died, ~exists().where(_is_invalidated))
    .values(invalidated=Invalidated.NONE)
)

#: The runs of this process by their names, until they are closed or garbage collected.
living = WeakValueDictionary[str, object]()


def fate(on_crash: str) -> int:
    """Which claims of a run with this policy are invalidated once it is dead."""
    return Invalidated.ALL if on_crash == "release" else Invalidated.PENDING


class Recovery:
    """Finds runs that died, and deletes their invalidated claims.

    Attributes:
        runs: the numbers of the runs that were found dead.
        claims: how many of their claims were deleted.
        has_work: whether there may be invalidated claims.
    """

    def __init__(self, database: Database) -> None:
        self.runs: list[int] = []
        self.claims = 0
        self.database = database
        self.has_work = False

    def look(self, *, elsewhere: bool = False) -> None:
        """Find the runs that have died, and invalidate their claims.

        Those on other hosts are found only if asked for, by a run whose own heartbeats are regular:
        after an outage, or when the clock of the database was set, all runs look silent.
        """
        is_open = and_(_run.settled.is_(False), _run.recovered.is_(None))
        names = ("id", "spider", "host", "process", "heartbeat", "on_crash")
        columns = (*(_run[name] for name in names), is_open.label("is_open"))
        wanted = select(*columns).where(or_(is_open, _has_died)).order_by(_run.id)

        def read(connection: Connection) -> tuple[list[Row[Any]], float]:
            return list(connection.execute(wanted)), self.database.clock(connection)

        found, now = self.database.read(read)
        for run in found:
            if not run.is_open:
                self.has_work = True
            elif run.host == host_id():
                if not is_alive(run.process):
                    self._declare_dead(run, now)
            elif elsewhere and abs(now - run.heartbeat) > LEASE:
                self._declare_dead(run, now)

    def finish(self) -> None:
        """Find the runs of this host that have died, and delete all invalidated claims."""
        self.look()
        self.clear(math.inf)

    def _declare_dead(self, run: Row[Any], now: float) -> None:
        """Invalidate the claims of a run, unless it acted since its row was read."""
        as_seen = (_run.id == run.id, _run.heartbeat == run.heartbeat, _run.settled.is_(False))
        change = (
            update(schema.runs)
            .where(*as_seen, _run.recovered.is_(None))
            .values(recovered=now, invalidated=fate(run.on_crash))
        )
        if not self.database.transact(lambda connection: connection.execute(change).rowcount):
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
        some = self.database.read(lambda connection: connection.execute(_invalidated).all())
        if some:
            namespace = some[0].namespace
            self._delete(namespace, [one.id for one in some if one.namespace == namespace])
        else:
            self.database.transact(lambda connection: connection.execute(_finish))
            self.has_work = False

    def _delete(self, namespace: int, numbers: Sequence[int]) -> None:
        """Delete claims, except those that are valid again because their run revived."""

        def delete(connection: Connection) -> int:
            with writing(connection, namespace) as writer:
                rows = claims_of(connection, namespace, numbers, ~is_valid())
                writer.delete(rows, orphaned=True)
            return len(rows)

        # If the namespace was reset, its claims are gone with it.
        with suppress(NamespaceGone):
            self.claims += self.database.transact(delete)


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


def new_process_name() -> str:
    """A name for a run of this process.

    It consists of the process number, the time (numbers are reused), and a random part (a process
    may have several runs).
    """
    # Linux counts the start of a process from the boot: the clock may be set.
    is_linux = hasattr(time, "CLOCK_BOOTTIME")
    now = time.clock_gettime(time.CLOCK_BOOTTIME) if is_linux else time.time()
    return f"{os.getpid()} {now:.2f} {secrets.token_hex(8)}"


def is_alive(name: str) -> bool:
    """Whether a run of a process of this system, given by its name, may still go on."""
    import psutil  # noqa: PLC0415  (slow, and only needed if there are others)

    number, _, rest = name.partition(" ")
    try:
        found = psutil.Process(int(number))
        started = found.create_time() - (psutil.boot_time() if psutil.LINUX else 0)
        # A zombie is dead; its parent has not waited for it yet.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        # One that started later has got the number of the one that is named.
        lives = not is_zombie and started < float(rest.partition(" ")[0]) + 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True
    return lives and (found.pid != os.getpid() or name in living)
