"""Statements that are compiled once, and executed past SQLAlchemy's overhead.

Under a lock, every answer that is waited for costs the next writer a round trip. PostgreSQL is
sent all statements that do not depend on an answer at once and executes them in order, so a
statement that follows the one that takes the lock sees everything committed before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, Self, cast

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import UserDefinedType

from scrapy_simhash.db.errors import needs_another_connection

# The key in `Connection.info` of the pipeline that a connection is in.
_PIPELINE = "simhash_pipeline"


class Result(NamedTuple):
    """An answer that has been received: the rows of a query, and how many rows were changed."""

    rows: Sequence[tuple[Any, ...]]
    changed: int


class _Pending:
    """An answer that may not have been received yet."""

    __slots__ = ("_connection", "_cursor", "_statement")

    def __init__(self, connection: sa.Connection, cursor: Any, statement: str) -> None:
        self._connection, self._cursor, self._statement = connection, cursor, statement

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        self._wait()
        rows: Sequence[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    @property
    def changed(self) -> int:
        self._wait()
        return int(self._cursor.rowcount)

    def _wait(self) -> None:
        if self._cursor.pgresult is None:
            try:
                self._connection.info[_PIPELINE].sync()
            except self._connection.dialect.loaded_dbapi.Error as error:
                raise _wrapped(self._connection, self._statement, error) from error


Answer = Result | _Pending


def execute(
    connection: sa.Connection, statement: str, parameters: Any, *, replans: bool = False
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
def pipelined(connection: sa.Connection) -> Iterator[None]:
    """Within this context, psycopg sends statements without waiting for earlier answers.

    Only :func:`execute`, commit and rollback may be used inside. Other drivers are not affected.
    """
    if connection.dialect.driver != "psycopg":
        yield
        return
    driver: Any = connection.connection.dbapi_connection
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


def _wrapped(connection: sa.Connection, statement: str, error: Any) -> DBAPIError:
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


# Drivers whose parameters and results need no conversion for the types of these tables.
_DIRECT = frozenset({"pysqlite", "psycopg", "pymysql"})


class _Numbers(UserDefinedType[Any]):
    """Integers that SQLite gets as one JSON text."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        # Python prints a list of integers as JSON does.
        return lambda numbers: str(list(numbers)) if dialect.name == "sqlite" else list(numbers)


def numbers_parameter(name: str) -> sa.FromClause:
    """The rows, with one column "value", of a list of integers; for SQLite only."""
    return sa.func.json_each(sa.bindparam(name, type_=_Numbers())).table_valued("value")


class is_in(FunctionElement[bool]):  # noqa: N801 - used as a function
    """The condition that a column is one of the integers bound as `name`.

    On SQLite and PostgreSQL it binds one parameter for any number of values, so that a statement is
    prepared once.
    """

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, column: ColumnElement[int], name: str) -> None:
        super().__init__(column, sa.bindparam(name, type_=_Numbers()))

    def self_group(self, against: Any = None) -> Self:
        """Never compared with 1, as SQLAlchemy does on SQLite, which uses no index then."""
        return self


@compiles(is_in)
def _expanding(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    return compiler.process(column.in_(sa.bindparam(str(numbers.key), expanding=True)), **kwargs)


@compiles(is_in, "sqlite")
def _from_json(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    listed = numbers_parameter(str(numbers.key))
    return compiler.process(column.in_(sa.select(listed.c.value)), **kwargs)


@compiles(is_in, "postgresql")
def _from_array(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    kind = sa.BigInteger() if isinstance(column.type, sa.BigInteger) else sa.Integer()
    array = sa.bindparam(str(numbers.key), type_=sa.ARRAY(kind))
    return compiler.process(column == sa.func.any(array), **kwargs)


class CompiledStatement:
    """A statement that is compiled once per engine, since compiling costs more than executing.

    SQLAlchemy must not have to convert its parameters or its result. `replans` is that of
    :func:`execute`.
    """

    def __init__(self, statement: sa.Executable, *, replans: bool = False) -> None:
        self._statement = statement
        self._replans = replans
        self._forms: dict[str, _Form | None] = {}

    def ask(
        self, connection: sa.Connection, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> Answer:
        """Execute it, once or with many sets of parameters.

        In a pipeline this does not wait for the answer; reading the answer does.
        """
        form = self.form(connection)
        if form is None:
            if isinstance(parameters, Mapping):
                parameters = {
                    name: list(value) if isinstance(value, AbstractSet) else value
                    for name, value in parameters.items()
                }
            result = connection.execute(self._statement, parameters)
            return Result(result.fetchall() if result.returns_rows else (), result.rowcount)
        if isinstance(parameters, Mapping):
            return execute(connection, form.sql, form.bind(parameters), replans=self._replans)
        return execute(connection, form.sql, list(map(form.bind, parameters)))

    def form(self, connection: sa.Connection) -> _Form | None:
        """The driver's own form; None if SQLAlchemy has to process each execution."""
        dialect = connection.dialect
        if dialect.driver not in self._forms:
            self._forms[dialect.driver] = _form(self._statement, dialect)
        return self._forms[dialect.driver]


@cache
def _insertion(dialect: str, table: sa.Table) -> CompiledStatement:
    """PostgreSQL gets a list for each column, since its driver sends rows one by one."""
    if dialect != "postgresql":
        return CompiledStatement(sa.insert(table))
    names = table.columns.keys()
    lists = (sa.bindparam(column.name, type_=sa.ARRAY(column.type)) for column in table.columns)
    rows = sa.func.unnest(*lists).table_valued(*names).render_derived()
    return CompiledStatement(sa.insert(table).from_select(names, sa.select(*rows.c)))


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows, each with all columns in the order of the table, in one statement if possible.

    The SQLite driver releases the GIL for each statement; re-acquiring it while the event loop is
    busy can take 5 ms.
    """
    if not rows:
        return
    dialect, names = connection.dialect.name, table.columns.keys()
    statement = _insertion(dialect, table)
    if dialect == "postgresql":
        lists = map(list, zip(*rows, strict=True))
        statement.ask(connection, dict(zip(names, lists, strict=True)))
    elif dialect == "sqlite" and (form := statement.form(connection)) is not None:
        driver = cast("sqlite3.Connection", connection.connection.dbapi_connection)
        at_once = driver.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // len(names)
        head, _, row = form.sql.rpartition(" VALUES ")
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            values = tuple(chain.from_iterable(some))
            execute(connection, f"{head} VALUES {', '.join([row] * len(some))}", values)
    else:
        statement.ask(connection, [dict(zip(names, row, strict=True)) for row in rows])


class _Form(NamedTuple):
    sql: str
    names: Sequence[str] | None
    constants: Mapping[str, Any]
    #: What converts lists, by the names of their parameters.
    lists: Mapping[str, Callable[[Any], Any]]

    def bind(self, parameters: Mapping[str, Any]) -> Any:
        if self.constants:
            parameters = {**self.constants, **parameters}
        if self.lists:
            converted = {name: convert(parameters[name]) for name, convert in self.lists.items()}
            parameters = {**parameters, **converted}
        return parameters if self.names is None else tuple(map(parameters.__getitem__, self.names))


def _form(statement: sa.Executable, dialect: Dialect) -> _Form | None:
    compiled: Any = cast("ClauseElement", statement).compile(dialect=dialect)
    # Expanding lists are rendered for each execution; other drivers may need conversions.
    if compiled.post_compile_params or dialect.driver not in _DIRECT:
        return None
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    convert = _Numbers().bind_processor(dialect)
    lists = {
        name: convert
        for name, one in compiled.binds.items()
        if isinstance(one.type, (_Numbers, sa.ARRAY))
    }
    return _Form(compiled.string, compiled.positiontup, constants, lists)
