"""Statements that are compiled once, and what they are given: texts, lists of integers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from sqlalchemy import ARRAY, BigInteger, Integer, bindparam, func, insert, select

from scrapy_simhash.db.pipeline import Told, execute

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sqlalchemy import Connection, Executable, Table
    from sqlalchemy.engine import Dialect
    from sqlalchemy.sql import ClauseElement, ColumnElement

    from scrapy_simhash.db.pipeline import Answer

__all__ = [
    "CompiledStatement",
    "insert_into",
    "insert_rows",
    "is_in",
    "list_parameter",
    "storable",
]

# Drivers that take and give what the tables hold as it is.
_DIRECT = frozenset({"pysqlite", "psycopg", "pymysql"})

# Parameters of one statement that every SQLite takes.
_VARIABLES = 999


def is_in(dialect: str, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
    """The condition that `column` is among the integers bound as `name`, in the engine's best form.

    Each form binds one parameter whatever the number of values, so that a statement is
    prepared once. :func:`list_parameter` makes the parameter.
    """
    if dialect == "sqlite":
        listed = func.json_each(bindparam(name)).table_valued("value")
        return column.in_(select(listed.c.value))
    if dialect == "postgresql":
        kind = BigInteger() if isinstance(column.type, BigInteger) else Integer()
        return column == func.any(bindparam(name, type_=ARRAY(kind)))
    return column.in_(bindparam(name, expanding=True))


def list_parameter(dialect: str, numbers: Iterable[int]) -> str | list[int]:
    """The parameter for :func:`is_in`."""
    return json.dumps(list(numbers)) if dialect == "sqlite" else list(numbers)


def storable(text: str, length: int | None = None) -> str:
    """What every engine can store of a text: neither NUL nor lone surrogates, cut to a length."""
    return text[:length].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class CompiledStatement:
    """A statement that is compiled once for each engine: doing that costs more than running it.

    Args:
        statement: without anything that needs SQLAlchemy to convert its parameters or its result.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._forms: dict[str, _Form | None] = {}

    def ask(
        self, connection: Connection, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> Answer:
        """Execute it, once or with many sets of parameters.

        In a pipeline it is on its way when this returns, and waited for when its answer is read.
        """
        form = self._form(connection)
        if form is None:
            result = connection.execute(self._statement, parameters)
            return Told(result.fetchall() if result.returns_rows else (), result.rowcount)
        if isinstance(parameters, Mapping):
            return execute(connection, form.sql, form.bind(parameters))
        return execute(connection, form.sql, list(map(form.bind, parameters)))

    def rows(
        self, connection: Connection, parameters: Mapping[str, Any]
    ) -> Sequence[tuple[Any, ...]]:
        """The rows that a query gives."""
        return self.ask(connection, parameters).rows

    def insert(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute an insertion of one row with many.

        On SQLite in one statement: its driver gives the interpreter away for each, and where the
        event loop is busy has it back 5 ms later.
        """
        form = self._form(connection)
        if connection.dialect.name != "sqlite" or form is None:
            self.ask(connection, rows)
            return
        head, _, row = form.sql.rpartition(" VALUES ")
        at_once = _VARIABLES // len(rows[0])
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            values = tuple(chain.from_iterable(map(form.bind, some)))
            execute(connection, f"{head} VALUES {', '.join([row] * len(some))}", values)

    def _form(self, connection: Connection) -> _Form | None:
        dialect = connection.dialect
        if dialect.driver not in self._forms:
            self._forms[dialect.driver] = _form(self._statement, dialect)
        return self._forms[dialect.driver]


def insert_rows(
    connection: Connection, inserts: Iterable[tuple[CompiledStatement, Sequence[Mapping[str, Any]]]]
) -> None:
    """Insert rows, one table after the other, by statements of :func:`insert_into`."""
    as_lists = connection.dialect.name == "postgresql"
    for statement, rows in inserts:
        if rows and as_lists:
            statement.ask(connection, {name: [row[name] for row in rows] for name in rows[0]})
        elif rows:
            statement.insert(connection, rows)


def insert_into(dialect: str, table: Table) -> CompiledStatement:
    """Of many rows; on PostgreSQL of a list for each column, since its driver sends rows singly."""
    if dialect != "postgresql":
        return CompiledStatement(insert(table))
    names = table.columns.keys()
    lists = (bindparam(column.name, type_=ARRAY(column.type)) for column in table.columns)
    rows = func.unnest(*lists).table_valued(*names).render_derived()
    return CompiledStatement(insert(table).from_select(names, select(*rows.c)))


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
