"""Classifies database errors: wait for other writers, try again, or give up, perhaps for good."""

from __future__ import annotations

import re
from typing import TypeGuard

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.visible import visible, without_passwords

# Another writer is in the way: deadlock, lock not available, record changed.
_BUSY_STATES = frozenset({"40001", "40P01", "55P03"})
_BUSY_ERRNOS = frozenset({1213, 1205, 1020})
_BUSY_SQLITE = frozenset({5, 6})

# PostgreSQL's statement timeout, and the beginning and the end of the statements that take a lock.
_TIMEOUT_STATE = "57014"
_LOCK_OF_NAMESPACE = f"UPDATE {schema.namespaces.name} "
_LOCK_OF_RUNS = "FOR UPDATE"

# The server is read-only: a replica, or a node without its cluster. Another host may be writable.
_READ_ONLY_STATES = frozenset({"25006"})
_READ_ONLY_ERRNOS = frozenset({1047, 1290, 1836})

# The server closes the connection because it shuts down, is asked to, or is still starting.
# The last three are its time limits: idle in a transaction, for a transaction, idle at all.
_ENDED_STATES = frozenset({"57P01", "57P02", "57P03", "25P03", "25P04", "57P05"})
# 53300: too many connections.
_TRANSIENT_STATES = _BUSY_STATES | _READ_ONLY_STATES | _ENDED_STATES | {"53300"}
# Shutdown, too many connections, table being created, and errors of the connection itself.
_TRANSIENT_ERRNOS = (
    _BUSY_ERRNOS | _READ_ONLY_ERRNOS | {1053, 1040, 1203, 1684, 2002, 2003, 2006, 2013, 2055}
)

# More than the server takes in one statement.
_LIMIT_STATE = "54000"
_PACKET_ERRNO = 1153
_CUT_ERRNOS = frozenset({2006, 2013})

# Unknown user, unknown database, no schema to create tables in, permission denied.
_PERMANENT_STATES = frozenset({"28000", "28P01", "3D000", "3F000", "42501"})
_PERMANENT_ERRNOS = frozenset({1044, 1045, 1049, 1142, 1698})
# Read-only, damaged, can't be opened, not a database.
_PERMANENT_SQLITE = frozenset({8, 11, 14, 26})
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
    return isinstance(error, DBAPIError) and (
        _state(error) in _BUSY_STATES
        or has_waited_for_several(error)
        or _errno(error) in _BUSY_ERRNOS
        or _sqlite_code(error) in _BUSY_SQLITE
        # Under REPEATABLE READ, PostgreSQL shows an old counter after a wait for the lock.
        or (isinstance(error, IntegrityError) and schema.claims.name in str(error.orig))
    )


def has_waited_for_several(error: DBAPIError) -> bool:
    """Whether PostgreSQL waited in one statement for several lock holders, one after the other.

    Together they exceeded the statement timeout, though none held the lock for too long.
    """
    statement = error.statement or ""
    is_lock = statement.startswith(_LOCK_OF_NAMESPACE) or statement.endswith(_LOCK_OF_RUNS)
    return is_lock and _state(error) == _TIMEOUT_STATE


def needs_another_connection(error: BaseException) -> bool:
    """Whether the server closes the connection, or can't be written to while another one may be."""
    number = error.args[0] if error.args else None
    return (
        getattr(error, "sqlstate", None) in _ENDED_STATES | _READ_ONLY_STATES
        or number in _READ_ONLY_ERRNOS
    )


def note_end(context: ExceptionContext) -> None:
    """Mark a connection as disconnected as soon as the server announces that it closes it.

    The driver may not have noticed yet; SQLAlchemy would then try to roll back and log a failure.
    """
    if needs_another_connection(context.original_exception):
        context.is_disconnect = True


def was_cut(error: SQLAlchemyError) -> bool:
    """Whether MariaDB closed the connection; it does so too if it is sent too much."""
    return isinstance(error, DBAPIError) and _errno(error) in _CUT_ERRNOS


def is_too_large(error: SQLAlchemyError, *, cuts: int) -> bool:
    """Whether the server refuses the size of what it is sent.

    `cuts` are the earlier attempts that :func:`was_cut` is true for after they had taken the lock:
    if it happens again, the server works otherwise.
    """
    if not isinstance(error, DBAPIError):
        return False
    is_refused = _state(error) == _LIMIT_STATE or _errno(error) == _PACKET_ERRNO
    return is_refused or (cuts > 0 and was_cut(error))


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if not isinstance(error, DBAPIError) or _is_permanent(error):
        return False
    if error.connection_invalidated or is_busy(error):
        return True
    # PyMySQL reports most errors as HY000, so the number decides first.
    if _errno(error) in _TRANSIENT_ERRNOS:
        return True
    if (state := _state(error)) is None:
        return _is_connection_error(error) and not isinstance(_errno(error), int)
    return state in _TRANSIENT_STATES or state.startswith("08")


def is_creation_race(error: BaseException | None) -> bool:
    """Whether another process has just created the same table."""
    return isinstance(error, IntegrityError) or (
        isinstance(error, DBAPIError)
        and any(word in str(error.orig).lower() for word in ("exist", "duplicate"))
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
    if _errno(error) in _PERMANENT_ERRNOS:
        return True
    if _state(error) is None and _is_connection_error(error):
        # With several hosts there is a line for each: one of the others may come back.
        lines = str(error.orig).splitlines()
        lines = [line for line in lines if line.startswith("- ")] or lines[:1]
        return bool(lines) and all(map(_REFUSED.search, lines))
    return _state(error) in _PERMANENT_STATES or _sqlite_code(error) in _PERMANENT_SQLITE


def _is_connection_error(error: DBAPIError) -> bool:
    """Whether a driver that gives a code to each server error reports one without a code."""
    return isinstance(error, OperationalError) and hasattr(error.orig, "sqlstate")


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _errno(error: DBAPIError) -> object:
    return error.orig.args[0] if error.orig is not None and error.orig.args else None


def _sqlite_code(error: SQLAlchemyError) -> int:
    return int(getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)) & 0xFF
