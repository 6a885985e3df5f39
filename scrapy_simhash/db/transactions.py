"""A database that keeps its promises: engines, their settings, and transactions that are retried.

One rule makes concurrent writers safe on every engine, a Galera cluster included: READ COMMITTED,
and the first statement of a writing transaction updates the row of the namespace it writes to. Who
comes second waits there, or fails and is retried, before having read anything.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Integer,
    StaticPool,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Column, Connection, CursorResult, Executable
    from sqlalchemy.engine import Dialect
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.sql import ClauseElement, ColumnElement

    T = TypeVar("T")

__all__ = ["Database", "Held", "Prepared", "among", "check_url", "lock", "values"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 60
# A server that can't be written to: a node without its cluster, a replica. Another host may do.
_HELPLESS_STATES = frozenset({"25006"})
_HELPLESS_ERRNOS = frozenset({1047, 1290, 1836})
_TRANSIENT_STATES = _HELPLESS_STATES | {"40001", "40P01", "55P03", "57P01", "57P02", "57P03"}
# Deadlock, lock wait timeout, record changed, shutting down, table being made, and the
# connection's own.
_TRANSIENT_ERRNOS = _HELPLESS_ERRNOS | {1213, 1205, 1020, 1053, 1684, 2002, 2003, 2006, 2013, 2055}
# Drivers that take and give what the tables hold as it is.
_DIRECT = frozenset({"pysqlite", "psycopg", "pymysql"})
_SQLITE_BUSY, _SQLITE_LOCKED = 5, 6
_SQLITE_ADVICE = {
    8: "the file or its folder is read-only",
    10: "reading or writing the file failed",
    11: "the file is damaged: move it away (the crawl then starts a new index) or repair it with "
    "the sqlite3 command '.recover'; it was not touched",
    13: "the disk is full",
    14: "the file can't be opened: its folder must exist and be writable",
    26: "the file is not an SQLite database; it was not touched",
}


class Database:
    """An engine with its tables.

    Args:
        url: any SQLAlchemy URL. Tested: SQLite, PostgreSQL (psycopg), MariaDB (PyMySQL) alone and
            as a Galera cluster. The last two take several hosts, the next of which is asked when
            one does not answer: ``mariadb+pymysql://user@/database?host=a:3306&host=b:3306``.
        options: passed to :func:`sqlalchemy.create_engine`.
        timeout: seconds after which a transaction that can't get through is given up.

    Raises:
        ValueError: the URL can't be read, or its driver is not installed.
        IndexUnavailable: no answer, or a file that can't be used.
        SchemaMismatch: the tables were made by a newer version.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.url = check_url(url)
        self.timeout = timeout
        # PyMySQL knows one host alone; psycopg does by itself what is done for it here.
        single, self._hosts = _hosts(self.url)
        each = timeout / max(1, len(self._hosts))
        try:
            self.engine = create_engine(single, **_options(single, timeout, each, options or {}))
        except ModuleNotFoundError as error:
            raise ValueError(_missing_driver(self.url, error)) from error
        except ArgumentError as error:
            raise ValueError(str(error)) from error
        if self._hosts:
            event.listen(self.engine, "do_connect", self._connect)
        event.listen(self.engine, "connect", self._on_connect)
        self.dialect = self.engine.dialect.name
        self._offset = 0.0
        try:
            self._prepare()
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def now(self) -> float:
        """Seconds since the epoch by the database's clock, which all its users share."""
        return time.time() + self._offset

    def transact(self, work: Callable[[Connection, bool], T]) -> T:
        """Run `work` in one transaction, again if another writer got in its way.

        `work` gets the connection and whether this is a retry: then an earlier attempt may have
        been committed although its answer was lost, so it must look for its own rows first.

        Raises:
            IndexUnavailable: it did not get through within the timeout, or the database refused.
        """
        deadline = time.monotonic() + self.timeout
        for attempt in range(_ATTEMPTS):
            try:
                with self.engine.begin() as connection:
                    try:
                        return work(connection, attempt > 0)
                    except DBAPIError as error:
                        if _is_helpless(error):
                            connection.invalidate()
                            self._hosts.rotate(-1)
                        raise
            except SQLAlchemyError as error:
                pause = random.random() * min(0.25, 0.004 * 2**attempt)
                if (
                    not _is_transient(error)
                    or attempt == _ATTEMPTS - 1
                    or time.monotonic() + pause > deadline
                ):
                    raise self._unavailable(error) from error
                time.sleep(pause)
        raise AssertionError("unreachable")

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which only reads, without taking any lock.

        Raises:
            IndexUnavailable: as :meth:`transact`.
        """
        return self.transact(lambda connection, _retried: work(connection))

    def _prepare(self) -> None:
        def prepare(connection: Connection, _retried: bool) -> None:
            found = None
            if inspect(connection).has_table(schema.meta.name):
                found = connection.scalar(_version)
            if found is None:
                # The version is written last: whoever finds it finds all tables.
                schema.metadata.create_all(connection)
                connection.execute(
                    insert(schema.meta).values(name="version", value=str(schema.VERSION))
                )
            elif int(found) < schema.VERSION:
                self._migrate(connection)
            elif int(found) > schema.VERSION:
                raise SchemaMismatch(
                    f"{self}: its tables have version {found}, this version of scrapy_simhash "
                    f"works with version {schema.VERSION}; upgrade scrapy_simhash or use another "
                    "database"
                )
            self._offset = _clock(connection) - time.time()

        # Two processes that start together both create the tables; one of them fails, and finds
        # them there the next time.
        for _ in range(20):
            try:
                self.transact(prepare)
            except IndexUnavailable as error:
                if not _is_creation_race(error.__cause__):
                    raise
                time.sleep(0.05 + random.random() * 0.1)
            else:
                return
        self.transact(prepare)

    def _migrate(self, connection: Connection) -> None:
        """Bring older tables up to date, in the same transaction where the engine can do that."""
        if self.dialect == "sqlite":
            # Its driver begins no transaction for a change of a table.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        # First, so that a second process that wants to do the same waits here.
        in_force = schema.meta.c.name == "version"
        connection.execute(update(schema.meta).where(in_force).values(value=schema.meta.c.value))
        found = int(connection.scalar(_version) or 0)
        for version in range(found, schema.VERSION):
            logger.info("%s: upgrading the tables from version %d", self, version)
            schema.MIGRATIONS[version](connection)
            connection.execute(update(schema.meta).where(in_force).values(value=str(version + 1)))

    def _connect(
        self, dialect: Dialect, _record: object, arguments: list[Any], options: dict[str, Any]
    ) -> DBAPIConnection:
        """Connect to the first host that answers, from the one that did last."""
        for remaining in reversed(range(len(self._hosts))):
            host, port = self._hosts[0]
            try:
                return dialect.connect(*arguments, **{**options, "host": host, "port": port})
            except dialect.loaded_dbapi.Error:
                self._hosts.rotate(-1)
                if not remaining:
                    raise
        raise AssertionError("unreachable")

    def _on_connect(self, connection: DBAPIConnection, _record: object) -> None:
        milliseconds = int(self.timeout * 1000)
        statements = {
            "sqlite": (
                "PRAGMA journal_mode=WAL",
                "PRAGMA synchronous=NORMAL",
                "PRAGMA cache_size=-65536",
                "PRAGMA wal_autocheckpoint=16000",
                "PRAGMA temp_store=MEMORY",
            ),
            "postgresql": (f"SET statement_timeout = {milliseconds}", "COMMIT"),
            "mysql": (f"SET SESSION innodb_lock_wait_timeout = {max(1, milliseconds // 1000)}",),
            "mariadb": (
                f"SET SESSION innodb_lock_wait_timeout = {max(1, milliseconds // 1000)}",
                # Long IN lists are joined as a table otherwise, which costs more than the probes.
                "SET SESSION in_predicate_conversion_threshold = 0",
            ),
        }.get(self.engine.dialect.name, ())
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()

    def _unavailable(self, error: SQLAlchemyError) -> IndexUnavailable:
        said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
        reason = said.splitlines()[0]
        code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
        if advice := _SQLITE_ADVICE.get(code):
            reason = f"{reason}; {advice}"
        return IndexUnavailable(f"{self}: {reason}")


def among(dialect: str, column: Column[int], name: str) -> ColumnElement[bool]:
    """The condition that `column` is among the integers bound as `name`, in the engine's best form.

    Each form binds one parameter whatever the number of values, so that a statement is prepared
    once. :func:`values` makes the parameter.
    """
    if dialect == "sqlite":
        listed = func.json_each(bindparam(name)).table_valued("value")
        return column.in_(select(listed.c.value))
    if dialect == "postgresql":
        kind = BigInteger() if isinstance(column.type, BigInteger) else Integer()
        return column == func.any(bindparam(name, type_=ARRAY(kind)))
    return column.in_(bindparam(name, expanding=True))


def values(dialect: str, numbers: Iterable[int]) -> str | list[int]:
    """The parameter for :func:`among`."""
    return json.dumps(list(numbers)) if dialect == "sqlite" else list(numbers)


class Prepared:
    """A statement that is compiled once for each engine: doing that costs more than running it.

    Args:
        statement: without anything that needs SQLAlchemy to convert its parameters or its result.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._forms: dict[str, _Form | None] = {}

    def run(
        self, connection: Connection, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> CursorResult[Any]:
        """Execute it, once or with many sets of parameters."""
        dialect = connection.dialect
        if dialect.driver not in self._forms:
            self._forms[dialect.driver] = _form(self._statement, dialect)
        form = self._forms[dialect.driver]
        if form is None:
            return connection.execute(self._statement, parameters)
        if isinstance(parameters, Mapping):
            return connection.exec_driver_sql(form.sql, form.bind(parameters))
        return connection.exec_driver_sql(form.sql, list(map(form.bind, parameters)))


class _Form(NamedTuple):
    sql: str
    names: Sequence[str] | None
    constants: Mapping[str, Any]

    def bind(self, parameters: Mapping[str, Any]) -> Any:
        if self.constants:
            parameters = {**self.constants, **parameters}
        return parameters if self.names is None else tuple(map(parameters.__getitem__, self.names))


def _form(statement: Executable, dialect: Dialect) -> _Form | None:
    """The driver's own form; None where SQLAlchemy has to see to each execution."""
    compiled: Any = cast("ClauseElement", statement).compile(dialect=dialect)
    # A list may have to be spelt out anew; what other drivers need converted is not known.
    if compiled.post_compile_params or dialect.driver not in _DIRECT:
        return None
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return _Form(compiled.string, compiled.positiontup, constants)


class Held(NamedTuple):
    """The row of a namespace whose lock is held.

    Attributes:
        last: the last number of a claim that is taken.
        text_bytes: how much text is kept.
        item_bytes: how much is kept of dropped items.
        plan: the id of the keys.
        first_slot: the slot of the first of them.
        next_plan: the id of those that are being made, if any.
    """

    last: int
    text_bytes: int
    item_bytes: int
    plan: str
    first_slot: int
    next_plan: str | None


_version = select(schema.meta.c.value).where(schema.meta.c.name == "version")
_row = schema.namespaces.c
_held = (
    _row.counter,
    _row.text_bytes,
    _row.item_bytes,
    _row.plan,
    _row.first_slot,
    _row.next_plan,
)
_here = _row.id == bindparam("here")
_update = update(schema.namespaces).where(_here).values(counter=_row.counter + bindparam("more"))
_take = Prepared(_update)
_take_and_read = Prepared(_update.returning(*_held))
_read = Prepared(select(*_held).where(_here))


def lock(connection: Connection, namespace: int, new_claims: int = 0) -> Held:
    """Take the namespace's lock; with it come the numbers of `new_claims` new claims.

    Raises:
        IndexUnavailable: there is no such namespace any more.
    """
    # One more, so that the row changes in any case: some engines do not lock one that does not.
    parameters = {"here": namespace, "more": new_claims + 1}
    if connection.dialect.update_returning:
        row = _take_and_read.run(connection, parameters).one_or_none()
    else:
        _take.run(connection, parameters)
        row = _read.run(connection, {"here": namespace}).one_or_none()
    if row is None:
        raise IndexUnavailable(f"namespace {namespace} is gone: it was reset by somebody else")
    return Held._make(row)


def check_url(url: str | URL) -> URL:
    """Read a database URL.

    Raises:
        ValueError: it can't be read, or there is no such database or driver. Does not repeat the
            URL, which may hold a password.
    """
    try:
        parsed = make_url(url)
        parsed.get_dialect()
    except NoSuchModuleError as error:
        raise ValueError(f"no database driver of that name: {error}") from error
    except (SQLAlchemyError, ValueError) as error:
        raise ValueError(
            "not a database URL that SQLAlchemy can read; wanted is, for instance, "
            "sqlite:///seen.db or postgresql+psycopg://user:password@host/database"
        ) from error
    return parsed


def _missing_driver(url: URL, error: ModuleNotFoundError) -> str:
    extra = {"postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb"}.get(
        url.get_backend_name()
    )
    hint = f"; install it with: pip install 'scrapy-simhash[{extra}]'" if extra else ""
    return f"the driver for {url.drivername} is not installed ({error.name}){hint}"


def _hosts(url: URL) -> tuple[URL, deque[tuple[str, int]]]:
    """The URL without the several hosts in its query, and these, for drivers that know but one."""
    given = url.query.get("host", ())
    if url.get_driver_name() != "pymysql" or not given:
        return url, deque()
    names = [given] if isinstance(given, str) else given
    hosts = deque[tuple[str, int]]()
    for name in ",".join(names).split(","):
        host, _, port = name.strip().rpartition(":") if ":" in name else (name.strip(), "", "3306")
        if not host or not port.isdecimal():
            raise ValueError(f"host {name!r}: a host is wanted, or host:port")
        hosts.append((host, int(port)))
    return url.difference_update_query(["host"]), hosts


def _options(
    url: URL, timeout: float, timeout_of_host: float, given: Mapping[str, Any]
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    connect: dict[str, Any] = {}
    match url.get_backend_name():
        case "sqlite":
            connect["timeout"] = timeout
            if url.database in {None, "", ":memory:"}:
                options["poolclass"] = StaticPool
            elif (
                (path := url.database)
                and not path.startswith("file:")
                and not Path(path).parent.is_dir()
            ):
                raise IndexUnavailable(f"{url}: there is no folder {Path(path).parent}")
        case "postgresql":
            options["isolation_level"] = "READ COMMITTED"
            connect["connect_timeout"] = max(2, int(timeout))
        case "mysql" | "mariadb":
            options["isolation_level"] = "READ COMMITTED"
            if url.get_driver_name() == "pymysql":
                connect["connect_timeout"] = max(1, int(timeout_of_host))
                connect["read_timeout"] = connect["write_timeout"] = max(1, int(timeout))
    return {**options, **given, "connect_args": {**connect, **given.get("connect_args", {})}}


def _clock(connection: Connection) -> float:
    match connection.dialect.name:
        case "postgresql":
            return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))
        case "mysql" | "mariadb":
            return float(connection.scalar(text("SELECT unix_timestamp(now(6))")))
        case _:
            # SQLite has the clock of the machine; how to ask others is not known.
            return time.time()


def _is_helpless(error: DBAPIError) -> bool:
    first = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return getattr(error.orig, "sqlstate", None) in _HELPLESS_STATES or first in _HELPLESS_ERRNOS


def _is_transient(error: BaseException) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    original = error.orig
    if error.connection_invalidated:
        return True
    state = getattr(original, "sqlstate", None) or ""
    if state in _TRANSIENT_STATES or state.startswith("08"):
        return True
    code = getattr(original, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in (_SQLITE_BUSY, _SQLITE_LOCKED)
    first = original.args[0] if original is not None and original.args else None
    return first in _TRANSIENT_ERRNOS


def _is_creation_race(error: BaseException | None) -> bool:
    return isinstance(error, IntegrityError) or (
        isinstance(error, DBAPIError)
        and any(word in str(error.orig).lower() for word in ("exist", "duplicate"))
    )
