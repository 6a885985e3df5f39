"""Executes statements past SQLAlchemy's overhead; on PostgreSQL several without waiting.

Under a lock, every answer that is waited for costs the next writer a round trip. PostgreSQL is
sent all statements that do not depend on an answer at once and executes them in order, so a
statement that follows the one that takes the lock sees everything committed before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from scrapy_simhash.db.errors import needs_another_connection

if TYPE_CHECKING:
    import psycopg

# The key in `Connection.info` of the pipeline that a connection is in.
_PIPELINE = "simhash_pipeline"


class Result(NamedTuple):
    """An answer that has been received: the rows of a query, and how many rows were changed."""

    rows: Sequence[tuple[Any, ...]]
    changed: int


class _Pending:
    """An answer that may not have been received yet."""

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
                raise _wrapped(self._connection, self._statement, error) from error


Answer = Result | _Pending


def execute(
    connection: Connection, statement: str, parameters: Any, *, replans: bool = False
) -> Answer:
    """Execute a statement in the driver's own form, or once for each of a list of parameters.

    SQLite and PostgreSQL are called directly: SQLAlchemy's overhead is several times the time of
    most statements, and it does not support pipelines. With `replans`, PostgreSQL plans it each
    time, as the table may have grown since it was prepared. Errors are SQLAlchemy's.
    """
    dialect = connection.dialect
    if dialect.driver not in {"pysqlite", "psycopg"}:
        result = connection.exec_driver_sql(statement, parameters)
        return Result(result.fetchall() if result.returns_rows else (), result.rowcount)
    driver: Any = connection.connection.dbapi_connection
    cursor = driver.cursor()
    try:
        if isinstance(parameters, list):
            cursor.executemany(statement, parameters)
        else:
            how = {"prepare": False} if replans and dialect.driver == "psycopg" else {}
            cursor.execute(statement, parameters, **how)
        if dialect.driver == "psycopg":
            return _Pending(connection, cursor, statement)
        return Result(cursor.fetchall(), cursor.rowcount)
    except dialect.loaded_dbapi.Error as error:
        raise _wrapped(connection, statement, error) from error


@contextmanager
def pipelined(connection: Connection) -> Iterator[None]:
    """Within this context, psycopg sends statements without waiting for earlier answers.

    Only :func:`execute`, commit and rollback may be used inside. Other drivers are not affected.
    """
    if connection.dialect.driver != "psycopg":
        yield
        return
    driver = cast("psycopg.Connection[Any]", connection.connection.dbapi_connection)
    driver_error, info = connection.dialect.loaded_dbapi.Error, connection.info
    failed: BaseException | None = None
    # At its end everything is committed or the error is known; psycopg would log it once more.
    with suppress(driver_error), ExitStack() as stack:
        try:
            info[_PIPELINE] = stack.enter_context(driver.pipeline())
        except driver_error as error:
            raise _wrapped(connection, "BEGIN", error) from error
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            failed = error
        finally:
            del info[_PIPELINE]
    if failed is not None:
        raise failed


def _wrapped(connection: Connection, statement: str, error: Any) -> DBAPIError:
    """A driver's error as SQLAlchemy would raise it."""
    dialect = connection.dialect
    driver = connection.connection.dbapi_connection
    is_lost = needs_another_connection(error) or dialect.is_disconnect(error, driver, None)
    wrapped = DBAPIError.instance(
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
    return cast("DBAPIError", wrapped)
