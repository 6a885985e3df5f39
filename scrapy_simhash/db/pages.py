"""The pages that a project has downloaded, for SIMHASH_REVISIT: an SQLite file beside the index.

It is a cache: what is missing, damaged or deleted is downloaded again. It lies on the machine that
crawls, also where the index is on a server, as the event loop reads it.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.durable import make_private
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

# The version of the table: a file of another one is emptied.
_VERSION = 2

_TABLE = """
CREATE TABLE IF NOT EXISTS pages (
    key BLOB NOT NULL UNIQUE,
    url TEXT NOT NULL,
    checked REAL NOT NULL,
    interval INTEGER NOT NULL,
    checks INTEGER NOT NULL,
    never_fresh INTEGER NOT NULL,
    run INTEGER NOT NULL,
    vary BLOB NOT NULL,
    cookies BLOB NOT NULL,
    size INTEGER NOT NULL,
    headers BLOB NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS pages_checked ON pages (checked, size);
"""

# What makes room.
_OLDEST = "rowid IN (SELECT rowid FROM pages WHERE checked < ? ORDER BY checked LIMIT 1)"

# Seconds for which a writer waits for another crawl.
_TIMEOUT = 10.0

# What no value of a header has.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class StoredPage(NamedTuple):
    """A page as it was downloaded.

    Attributes:
        key: 16 bytes of a hash of its request.
        url: its URL.
        checked: when it was requested last, in epoch seconds.
        interval: for how many seconds "adaptive" does not request it again.
        checks: how many times its server has called it unmodified.
        never_fresh: whether it is always requested: a callback of it yielded requests, or nothing.
        run: the number of the run that downloaded it.
        vary: a hash of the headers of its request that its ``Vary`` names.
        cookies: a hash of the cookies with which it was requested last, empty without any.
        headers: the headers of the response, as HTTP writes them.
        body: its body, compressed as it came.
    """

    key: bytes
    url: str
    checked: float
    interval: int
    checks: int
    never_fresh: bool
    run: int
    vary: bytes
    cookies: bytes
    headers: bytes
    body: bytes


_COLUMNS = ", ".join(StoredPage._fields)


class PageFile:
    """The file of pages; `budget` bytes of bodies are kept.

    The pages that were checked longest ago make room for new ones, but those that this crawl has
    checked do not: where a site is larger than the budget, a part of it is always found. Reads and
    writes use connections of their own, as a thread writes. Errors are logged once.
    """

    def __init__(self, path: Path, budget: int) -> None:
        self._path, self._budget = path, budget
        self._opened = time.time()
        self._size = 0
        self._has_warned = False
        self._reader = self._writer = None
        try:
            self._writer = _open(path)
            self._reader = _open(path)
            query = "SELECT coalesce(sum(size), 0) FROM pages"
            self._size = self._writer.execute(query).fetchone()[0]
        except (sqlite3.Error, OSError) as error:
            self.close()
            self._warn("%s can't be opened, so all pages are downloaded (%s)", path, error)

    def find(self, key: bytes) -> StoredPage | None:
        """The page with a key; None for one that is unknown, or damaged."""
        if self._reader is None:
            return None
        query = f"SELECT {_COLUMNS}, size FROM pages WHERE key = ?"  # noqa: S608
        try:
            found = self._reader.execute(query, (key,)).fetchone()
            return None if found is None else _checked(found)
        except (sqlite3.Error, ValueError) as error:
            self._warn("A page in %s can't be read, and is downloaded again: %s", self._path, error)
            return None

    def write(self, page: StoredPage) -> None:
        """Store a page; called in a thread.

        One without a body replaces all but the body, the run and the URL of the stored one.
        """
        if self._writer is None:
            return
        try:
            with self._writer:
                self._write(self._writer, page)
        except sqlite3.Error as error:
            self._warn("Pages can't be written to %s, and are not kept: %s", self._path, error)

    def _write(self, connection: sqlite3.Connection, page: StoredPage) -> None:
        checked = page.checked, page.interval, page.checks, page.cookies, page.headers
        if not page.body:
            # Unless it was downloaded once more meanwhile.
            connection.execute(
                "UPDATE pages SET checked = ?, interval = ?, checks = ?, cookies = ?, headers = ?, "
                "never_fresh = max(never_fresh, ?) WHERE key = ? AND run = ?",
                (*checked, page.never_fresh, page.key, page.run),
            )
            return
        query = "SELECT coalesce(max(never_fresh), 0) FROM pages WHERE key = ?"
        was_never = bool(connection.execute(query, (page.key,)).fetchone()[0])
        page = page._replace(never_fresh=page.never_fresh or was_never)
        # Even if the new version exceeds the budget.
        self._delete(connection, "key = ?", page.key)
        if (size := len(page.body)) > self._budget:
            return
        while self._size + size > self._budget:
            if not self._delete(connection, _OLDEST, self._opened):
                return
        self._size += size
        connection.execute(
            f"INSERT INTO pages ({_COLUMNS}, size) VALUES ({', '.join('?' * 12)})",  # noqa: S608
            (*page, size),
        )

    def _delete(self, connection: sqlite3.Connection, which: str, value: object) -> bool:
        """Delete pages; whether there were any."""
        query = f"SELECT count(*), total(size) FROM pages WHERE {which}"  # noqa: S608
        count, size = connection.execute(query, (value,)).fetchone()
        if count:
            connection.execute(f"DELETE FROM pages WHERE {which}", (value,))  # noqa: S608
            self._size -= int(size)
        return bool(count)

    def close(self) -> None:
        """Close the file."""
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None

    def _warn(self, message: str, *values: object) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(f"{message}. More errors of this file are not logged", *values)


class PageFileSize(NamedTuple):
    """How many pages a file has, and the bytes of their bodies."""

    pages: int
    bytes: int


def file_size(path: Path) -> PageFileSize:
    """What a file of pages holds, if it exists; raises OSError if it can't be read."""
    if not path.exists():
        return PageFileSize(0, 0)
    with _existing(path) as connection:
        count, size = connection.execute("SELECT count(*), sum(size) FROM pages").fetchone()
        return PageFileSize(count, size or 0)


def delete_pages(path: Path, before: float) -> int:
    """Delete the pages that no crawl has checked since a time; returns how many."""
    if not path.exists():
        return 0
    with _existing(path) as connection:
        count = connection.execute("DELETE FROM pages WHERE checked < ?", (before,)).rowcount
        connection.commit()
        if count:
            connection.execute("VACUUM")
        return count


def delete_file(path: Path) -> None:
    """Delete a file of pages."""
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def _existing(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(_open(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error


def _open(path: Path) -> sqlite3.Connection:
    """Open a file, and make the table if there is none of this version."""
    # With what SQLite gives to files beside it: only the owner may read pages.
    make_private(path)
    connection = sqlite3.connect(path, timeout=_TIMEOUT, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            connection.executescript(
                f"DROP TABLE IF EXISTS pages; {_TABLE} PRAGMA user_version = {_VERSION};"
            )
        # A power cut may cost the last pages, which are downloaded again.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _checked(found: tuple[object, ...]) -> StoredPage:
    """A row of the file, in which anybody may have written; ValueError if it is damaged."""
    *values, size = found
    kinds = bytes, str, float, int, int, int, int, bytes, bytes, bytes, bytes
    if not all(map(isinstance, values, kinds)):
        raise ValueError(f"{shortened(str(values[1]))}: a value is of a wrong type")
    page = StoredPage._make(values)
    if len(page.body) != size or _CONTROL.search(page.headers.replace(b"\r\n", b"")):
        raise ValueError(f"{page.url}: it is damaged")
    return page
