"""Statements as the drivers execute them: at once, or sent one behind the other to PostgreSQL.

Under a lock every answer that is waited for costs whoever wants it next the way to the server and
back. PostgreSQL is sent all that does not hang on an answer together, and carries it out in order,
so what follows the statement that takes a lock reads what was committed before it was got.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import psycopg
    from sqlalchemy import Connection

__all__ = ["Answer", "Told", "execute", "pipelined"]

#: The name under which a connection has the pipeline that it is in.
_PIPELINE = "simhash_pipeline"


class Answer(Protocol):
    """What a statement gave."""

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """Those that a query found."""
        ...

    @property
    def changed(self) -> int:
        """How many rows it changed, as the driver says."""
        ...


class Told(NamedTuple):
    """An answer that is there."""

    rows: Sequence[tuple[Any, ...]]
    changed: int


class _Awaited:
    """An answer that may be on its way."""

    __slots__ = ("_connection", "_cursor", "_statement")

    def __init__(self, connection: Connection, cursor: psycopg.Cursor[Any], statement: str) -> None:
        self._connection = connection
        self._cursor = cursor
        self._statement = statement

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        self._wait()
        return self._cursor.fetchall()

    @property
    def changed(self) -> int:
        self._wait()
        return self._cursor.rowcount

    def _wait(self) -> None:
        if self._cursor.pgresult is None:
            try:
                self._connection.info[_PIPELINE].sync()
            except self._connection.dialect.loaded_dbapi.Error as error:
                raise _raised(self._connection, self._statement, error) from error


def execute(
    connection: Connection, statement: str, parameters: Any, *, replans: bool = False
) -> Answer:
    """Execute a statement in the driver's own form; with a list of parameters once for each.

    With `replans` PostgreSQL plans it each time, as the table may have grown since it was prepared.

    SQLite and PostgreSQL are asked past SQLAlchemy: what that does around a statement takes
    several times as long as most statements, and it knows no pipeline.

    Raises:
        DBAPIError: as SQLAlchemy would raise it.
    """
    dialect = connection.dialect
    if dialect.driver not in {"pysqlite", "psycopg"}:
        result = connection.exec_driver_sql(statement, parameters)
        return Told(result.fetchall() if result.returns_rows else (), result.rowcount)
    driver: Any = connection.connection.dbapi_connection
    cursor = driver.cursor()
    try:
        if isinstance(parameters, list):
            cursor.executemany(statement, parameters)
        else:
            how = {"prepare": False} if replans and dialect.driver == "psycopg" else {}
            cursor.execute(statement, parameters, **how)
        if dialect.driver == "psycopg":
            return _Awaited(connection, cursor, statement)
        return Told(cursor.fetchall(), cursor.rowcount)
    except dialect.loaded_dbapi.Error as error:
        raise _raised(connection, statement, error) from error


@contextmanager
def pipelined(connection: Connection) -> Iterator[None]:
    """Inside, PostgreSQL is sent statements without waiting for the answers of those before them.

    Only what :func:`execute` executes, a commit and a rollback. With other drivers nothing changes.
    """
    if connection.dialect.driver != "psycopg":
        yield
        return
    driver = cast("psycopg.Connection[Any]", connection.connection.dbapi_connection)
    driver_error, info = connection.dialect.loaded_dbapi.Error, connection.info
    failed: BaseException | None = None
    # When it ends all is committed, or what went wrong is known; psycopg would log it once more.
    with suppress(driver_error), ExitStack() as stack:
        try:
            info[_PIPELINE] = stack.enter_context(driver.pipeline())
        except driver_error as error:
            raise _raised(connection, "BEGIN", error) from error
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            failed = error
        finally:
            del info[_PIPELINE]
    if failed is not None:
        raise failed


def _raised(connection: Connection, statement: str, error: Any) -> DBAPIError:
    """An error of the driver as SQLAlchemy would raise it."""
    dialect = connection.dialect
    driver = connection.connection.dbapi_connection
    is_lost = dialect.is_disconnect(error, driver, None)
    raised = DBAPIError.instance(
        statement,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=connection.engine.hide_parameters,
        connection_invalidated=is_lost,
        dialect=dialect,
    )
    if is_lost:
        connection.invalidate(error)
    return cast("DBAPIError", raised)
