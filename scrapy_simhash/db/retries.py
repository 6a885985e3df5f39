"""Which database errors are worth another attempt, and what is said of the others."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TypeGuard

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.visible import visible, without_passwords

# Codes of errors are states of PostgreSQL, numbers of MariaDB, or small numbers of SQLite.

# Another writer is in the way: deadlock, lock not available, record changed; busy, locked. 57014 is
# that of a statement that took too long: it may have waited for several locks, one after the other.
_BUSY = frozenset({"40001", "40P01", "55P03", "57014", 1213, 1205, 1020, 5, 6})

# The server is read-only: a replica, or a node without its cluster. Another host may be writable.
_READ_ONLY = frozenset({"25006", 1047, 1290, 1836})

# The server closes the connection because it shuts down, is asked to, or is still starting.
# The last three are its time limits: idle in a transaction, for a transaction, idle at all.
_ENDED = frozenset({"57P01", "57P02", "57P03", "25P03", "25P04", "57P05"})

# There is such a table.
_EXISTS = frozenset({"42P07", 1050})

# Unknown user, unknown database, no schema to create tables in, permission denied; of SQLite:
# read-only, damaged, can't be opened, not a database.
_PERMANENT = frozenset(
    {"28000", "28P01", "3D000", "3F000", "42501", 1044, 1045, 1049, 1142, 1698, 8, 11, 14, 26}
)
# PostgreSQL refuses a connection without an error code. Messages in another language are not
# recognised and therefore retried.
_REFUSED = re.compile(
    r"authentication failed for user|no password supplied|no pg_hba\.conf entry"
    # The first name only, so that a long line is read once.
    r"|^(?>.*?(?:database|role) \").*\" does not exist|permission denied for database"
)

_SQLITE_ADVICE = {
    8: "the file or its folder is read-only",
    10: "reading or writing the file failed",
    11: "the file is damaged: move it away (the crawl then starts a new index) or repair it with "
    "the sqlite3 command '.recover'; it was not touched",
    13: "the disk is full",
    14: "the file can't be opened: its folder must exist and be writable",
    26: "the file is not an SQLite database; it was not touched",
}


def is_busy(error: BaseException) -> TypeGuard[DBAPIError]:
    """Whether another writer is in the way, so that waiting helps."""
    return isinstance(error, DBAPIError) and not _BUSY.isdisjoint(_codes(error.orig))


def note_end(context: ExceptionContext) -> None:
    """Mark a connection as disconnected as soon as the server announces that it closes it.

    The driver may not have noticed yet; SQLAlchemy would then try to roll back and log a failure.
    """
    if _needs_another_connection(context.original_exception):
        context.is_disconnect = True


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if not isinstance(error, DBAPIError) or _is_permanent(error):
        return False
    # SQLite calls everything an operational error.
    is_of_server = isinstance(error, OperationalError) and not _sqlite_code(error)
    return (
        error.connection_invalidated
        or is_of_server
        or is_busy(error)
        or _is_creation_race(error)
        or _needs_another_connection(error.orig)
    )


def _needs_another_connection(error: BaseException | None) -> bool:
    """Whether the server closes the connection, or can't be written to while another one may be."""
    return not (_ENDED | _READ_ONLY).isdisjoint(_codes(error))


def _is_creation_race(error: DBAPIError) -> bool:
    """Whether another process has just created the same row or table, which is there next time."""
    return (
        isinstance(error, IntegrityError)
        or not _EXISTS.isdisjoint(_codes(error.orig))
        # SQLite has no code for it.
        or "already exists" in str(error.orig)
    )


def unavailable(database: str, error: SQLAlchemyError) -> IndexUnavailable:
    """The exception to raise: names the database, its message, and what can be done about it."""
    message = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    reason = visible(without_passwords(message.splitlines()[0]))
    if advice := _SQLITE_ADVICE.get(_sqlite_code(error)):
        reason = f"{reason}; {advice}"
    kind = IndexUnusable if _is_permanent(error) else IndexUnavailable
    return kind(f"{database}: {reason}")


def _is_permanent(error: SQLAlchemyError) -> bool:
    """Whether waiting will not change the answer."""
    if not isinstance(error, DBAPIError):
        return False
    if not _PERMANENT.isdisjoint(_codes(error.orig)):
        return True
    # A driver that gives a state to each error of a server reports one without.
    if not isinstance(error, OperationalError) or getattr(error.orig, "sqlstate", "") is not None:
        return False
    # With several hosts there is a line for each: one of the others may come back.
    lines = str(error.orig).splitlines()
    lines = [line for line in lines if line.startswith("- ")] or lines[:1]
    return bool(lines) and all(map(_REFUSED.search, lines))


def _codes(error: BaseException | None) -> set[object]:
    """The codes that the driver of any engine gives to an error."""
    number = error.args[:1] if error is not None else ()
    return {getattr(error, "sqlstate", None), getattr(error, "sqlite_errorcode", 0) & 0xFF, *number}


def _sqlite_code(error: SQLAlchemyError) -> int:
    return int(getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)) & 0xFF


@dataclass(slots=True)
class Liveness:
    """Shows that a database works. One thread writes, any thread reads."""

    #: When it last answered, or another transaction was seen to commit: :func:`time.monotonic`.
    last: float = float("-inf")

    def note(self) -> None:
        """The database works at this moment."""
        self.last = time.monotonic()
