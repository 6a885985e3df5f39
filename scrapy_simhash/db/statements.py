"""Statements that are compiled once, and their parameters."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, NamedTuple, Self, cast

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Connection,
    Executable,
    FromClause,
    Insert,
    Integer,
    Table,
    bindparam,
    func,
    insert,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import UserDefinedType

from scrapy_simhash.db.pipeline import Answer, Result, execute

# Drivers whose parameters and results need no conversion for the types of these tables.
_DIRECT = frozenset({"pysqlite", "psycopg", "pymysql"})


class _Numbers(UserDefinedType[Any]):
    """Integers that SQLite gets as one JSON text."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        # Python prints a list of integers as JSON does.
        return lambda numbers: str(list(numbers)) if dialect.name == "sqlite" else list(numbers)


def numbers_parameter(name: str) -> FromClause:
    """The rows, with one column "value", of a list of integers; for SQLite only."""
    return func.json_each(bindparam(name, type_=_Numbers())).table_valued("value")


class is_in(FunctionElement[bool]):  # noqa: N801 - used as a function
    """The condition that a column is one of the integers bound as `name`.

    On SQLite and PostgreSQL it binds one parameter for any number of values, so that a statement is
    prepared once.
    """

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: ColumnElement[int], name: str) -> None:
        super().__init__(column, bindparam(name, type_=_Numbers()))

    def self_group(self, against: Any = None) -> Self:
        """Never compared with 1, as SQLAlchemy does on SQLite, which uses no index then."""
        return self


@compiles(is_in)
def _expanding(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    return compiler.process(column.in_(bindparam(_name(numbers), expanding=True)), **kwargs)


@compiles(is_in, "sqlite")
def _from_json(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    listed = numbers_parameter(_name(numbers))
    return compiler.process(column.in_(select(listed.c.value)), **kwargs)


@compiles(is_in, "postgresql")
def _from_array(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    kind = BigInteger() if isinstance(column.type, BigInteger) else Integer()
    array = bindparam(_name(numbers), type_=ARRAY(kind))
    return compiler.process(column == func.any(array), **kwargs)


def _name(parameter: Any) -> str:
    name: str = parameter.key
    return name


class CompiledStatement:
    """A statement that is compiled once per engine, since compiling costs more than executing.

    SQLAlchemy must not have to convert its parameters or its result. `replans` is that of
    :func:`~scrapy_simhash.db.pipeline.execute`.
    """

    def __init__(self, statement: Executable, *, replans: bool = False) -> None:
        self._statement = statement
        self._replans = replans
        self._forms: dict[str, _Form | None] = {}

    def ask(
        self, connection: Connection, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]]
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

    def form(self, connection: Connection) -> _Form | None:
        """The driver's own form; None if SQLAlchemy has to process each execution."""
        dialect = connection.dialect
        if dialect.driver not in self._forms:
            self._forms[dialect.driver] = _form(self._statement, dialect)
        return self._forms[dialect.driver]


class Insertion:
    """Inserts rows into a table, in one statement wherever possible.

    PostgreSQL gets a list for each column, since its driver sends rows one by one. The SQLite
    driver releases the GIL for each statement; re-acquiring it while the event loop is busy can
    take 5 ms.
    """

    def __init__(self, dialect: str, table: Table) -> None:
        self._dialect = dialect
        self._names = table.columns.keys()
        self._statement = CompiledStatement(
            _insert_lists(table) if dialect == "postgresql" else insert(table)
        )

    def rows(self, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with all columns in the order of the table."""
        if not rows:
            return
        form = self._statement.form(connection)
        if self._dialect == "postgresql":
            lists = map(list, zip(*rows, strict=True))
            self._statement.ask(connection, dict(zip(self._names, lists, strict=True)))
        elif self._dialect == "sqlite" and form is not None:
            self._insert_at_once(connection, form.sql, rows)
        else:
            named = [dict(zip(self._names, row, strict=True)) for row in rows]
            self._statement.ask(connection, named)

    def _insert_at_once(
        self, connection: Connection, sql: str, rows: Sequence[Sequence[Any]]
    ) -> None:
        driver = cast("sqlite3.Connection", connection.connection.dbapi_connection)
        variables = driver.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        head, _, row = sql.rpartition(" VALUES ")
        at_once = variables // len(self._names)
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            values = tuple(chain.from_iterable(some))
            execute(connection, f"{head} VALUES {', '.join([row] * len(some))}", values)


def _insert_lists(table: Table) -> Insert:
    names = table.columns.keys()
    lists = (bindparam(column.name, type_=ARRAY(column.type)) for column in table.columns)
    rows = func.unnest(*lists).table_valued(*names).render_derived()
    return insert(table).from_select(names, select(*rows.c))


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


def _form(statement: Executable, dialect: Dialect) -> _Form | None:
    """The driver's own form; None if SQLAlchemy has to process each execution."""
    compiled: Any = cast("ClauseElement", statement).compile(dialect=dialect)
    # Expanding lists are rendered for each execution; other drivers may need conversions.
    if compiled.post_compile_params or dialect.driver not in _DIRECT:
        return None
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    convert = _Numbers().bind_processor(dialect)
    lists = {
        name: convert
        for name, one in compiled.binds.items()
        if isinstance(one.type, (_Numbers, ARRAY))
    }
    return _Form(compiled.string, compiled.positiontup, constants, lists)
