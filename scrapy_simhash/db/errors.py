"""What an error of a database means: wait for others, try again, or give up, perhaps for good."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import IndexUnavailable, IndexUnusable
from scrapy_simhash.visible import visible

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext

    from scrapy_simhash.db.passwords import Passwords

__all__ = [
    "has_waited_for_several",
    "is_busy",
    "is_creation_race",
    "is_helpless",
    "is_transient",
    "note_end",
    "unavailable",
]

# Another writer is in the way: a deadlock, a lock that was not to be had, a record that changed.
_BUSY_STATES = frozenset({"40001", "40P01", "55P03"})
_BUSY_ERRNOS = frozenset({1213, 1205, 1020})
_BUSY_SQLITE = frozenset({5, 6})

# What PostgreSQL says of a statement that took too long, and how the one ends that takes a lock.
_TOO_LONG, _LOCK = "57014", "FOR UPDATE"

# A server that can't be written to: a node without its cluster, a replica. Another host may do.
_HELPLESS_STATES = frozenset({"25006"})
_HELPLESS_ERRNOS = frozenset({1047, 1290, 1836})

# The server ends the connection, as it goes down or was told to; or takes none yet.
_ENDED_STATES = frozenset({"57P01", "57P02", "57P03"})
# And too many connections.
_TRANSIENT_STATES = _BUSY_STATES | _HELPLESS_STATES | _ENDED_STATES | {"53300"}
# Shutting down, too many connections, table being made, and the connection's own.
_TRANSIENT_ERRNOS = (
    _BUSY_ERRNOS | _HELPLESS_ERRNOS | {1053, 1040, 1203, 1684, 2002, 2003, 2006, 2013, 2055}
)

# Nobody of that name, no such database, not allowed.
_HOPELESS_STATES = frozenset({"28000", "28P01", "3D000", "42501"})
_HOPELESS_ERRNOS = frozenset({1044, 1045, 1049, 1142, 1698})
# Read-only, damaged, can't be opened, not a database.
_HOPELESS_SQLITE = frozenset({8, 11, 14, 26})
# What PostgreSQL says when it refuses a connection comes without a code. In another language it is
# not known, and tried again.
_REFUSED = re.compile(
    r"authentication failed for user|no password supplied|no pg_hba\.conf entry"
    r"|(?:database|role) \".*\" does not exist|permission denied for database"
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


def is_busy(error: BaseException) -> bool:
    """Whether others are in the way, who may be waited for."""
    return isinstance(error, DBAPIError) and (
        _state(error) in _BUSY_STATES
        or has_waited_for_several(error)
        or _errno(error) in _BUSY_ERRNOS
        or _sqlite_code(error) in _BUSY_SQLITE
        or _has_been_overtaken(error)
    )


def _has_been_overtaken(error: DBAPIError) -> bool:
    """Whether another one has used the same number.

    So it is where somebody asks PostgreSQL for REPEATABLE READ: who has waited for a lock sees what
    was there before. All that it has read is old, and it must begin anew.
    """
    numbered = (schema.claims.name, schema.usage.name)
    return isinstance(error, IntegrityError) and any(name in str(error.orig) for name in numbered)


def has_waited_for_several(error: DBAPIError) -> bool:
    """Whether it waited for one after the other, for none too long, and for all together was.

    PostgreSQL waits for whoever comes first, again and again, in a single statement.
    """
    return _state(error) == _TOO_LONG and (error.statement or "").endswith(_LOCK)


def note_end(context: ExceptionContext) -> None:
    """Have SQLAlchemy know that a connection has ended, as soon as the server says so.

    Its driver may not have seen it yet. SQLAlchemy would roll back what there is no more, and log
    that this failed.
    """
    if getattr(context.original_exception, "sqlstate", None) in _ENDED_STATES:
        context.is_disconnect = True


def is_helpless(error: DBAPIError) -> bool:
    """Whether this server can't be written to, and another one may."""
    return _state(error) in _HELPLESS_STATES or _errno(error) in _HELPLESS_ERRNOS


def is_transient(error: BaseException) -> bool:
    """Whether another try may get through."""
    if not isinstance(error, DBAPIError) or _is_hopeless(error):
        return False
    if error.connection_invalidated or is_busy(error):
        return True
    # PyMySQL says HY000 of most, as other drivers do of what they don't know.
    if _errno(error) in _TRANSIENT_ERRNOS:
        return True
    if (state := _state(error)) is None:
        return _is_about_the_connection(error) and not isinstance(_errno(error), int)
    return state in _TRANSIENT_STATES or state.startswith("08")


def is_creation_race(error: BaseException | None) -> bool:
    """Whether somebody else has just made the same table."""
    return isinstance(error, IntegrityError) or (
        isinstance(error, DBAPIError)
        and any(word in str(error.orig).lower() for word in ("exist", "duplicate"))
    )


def unavailable(database: str, error: SQLAlchemyError, passwords: Passwords) -> IndexUnavailable:
    """What to raise: the database, what it said, and what can be done about it."""
    said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    reason = visible(passwords.hide(said.splitlines()[0]))
    if advice := _SQLITE_ADVICE.get(_sqlite_code(error)):
        reason = f"{reason}; {advice}"
    kind = IndexUnusable if _is_hopeless(error) else IndexUnavailable
    return kind(f"{database}: {reason}")


def _is_hopeless(error: SQLAlchemyError) -> bool:
    """Whether waiting will not change it."""
    if not isinstance(error, DBAPIError):
        return False
    if _errno(error) in _HOPELESS_ERRNOS:
        return True
    if _state(error) is None and _is_about_the_connection(error):
        # Of several hosts there is a line for each: one of the others may come back.
        lines = str(error.orig).splitlines()
        lines = [line for line in lines if line.startswith("- ")] or lines[:1]
        return bool(lines) and all(map(_REFUSED.search, lines))
    return _state(error) in _HOPELESS_STATES or _sqlite_code(error) in _HOPELESS_SQLITE


def _is_about_the_connection(error: DBAPIError) -> bool:
    """Whether it is one of a driver that has codes for all that a server says, and without one."""
    return isinstance(error, OperationalError) and hasattr(error.orig, "sqlstate")


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _errno(error: DBAPIError) -> object:
    return error.orig.args[0] if error.orig is not None and error.orig.args else None


def _sqlite_code(error: SQLAlchemyError) -> int:
    return int(getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)) & 0xFF
