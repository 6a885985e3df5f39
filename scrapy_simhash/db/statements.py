"""Lists of integers as parameters, so that a statement is the same for any number of values."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import UserDefinedType

# Of one statement. SQLite before 3.32 takes 999.
_MOST_PARAMETERS = {
    "pysqlite": 32_000 if sqlite3.sqlite_version_info >= (3, 32) else 999,
    "psycopg": 65_000,
    "psycopg2": 65_000,
}


class _Numbers(UserDefinedType[Any]):
    """Integers that SQLite gets as one JSON text."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        # Python prints a list of integers as JSON does.
        return lambda numbers: str(list(numbers)) if dialect.name == "sqlite" else list(numbers)


class is_in(FunctionElement[bool]):  # noqa: N801 - used as a function
    """The condition that a column is one of the integers bound as `name`.

    On SQLite and PostgreSQL it binds one parameter for any number of values; other engines get one
    for each.
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
    numbers = sa.bindparam(str(numbers.key), type_=_Numbers())
    listed = sa.func.json_each(numbers).table_valued("value")
    return compiler.process(column.in_(sa.select(listed.c.value)), **kwargs)


@compiles(is_in, "postgresql")
def _from_array(element: is_in, compiler: SQLCompiler, **kwargs: Any) -> str:
    column, numbers = element.clauses
    kind = sa.BigInteger() if isinstance(column.type, sa.BigInteger) else sa.Integer()
    array = sa.bindparam(str(numbers.key), type_=sa.ARRAY(kind))
    return compiler.process(column == sa.func.any(array), **kwargs)


def insert_rows(
    connection: sa.Connection, given: Sequence[tuple[sa.Table, Sequence[Sequence[Any]]]]
) -> None:
    """Insert rows of tables, each with all columns in their order, in few statements.

    In the driver's own form: SQLAlchemy would process each of ten thousand values of a batch. The
    driver of SQLite releases the GIL for each statement, and re-acquiring it while the event loop
    is busy can take 5 ms. PostgreSQL takes all tables in one statement: one answer to wait for.
    """
    driver, statements = connection.dialect.driver, list[tuple[str, tuple[Any, ...]]]()
    for table, rows in given:
        head, row, columns = _insertion(connection.dialect, table)
        if driver not in _MOST_PARAMETERS:
            # PyMySQL makes statements of the size that the server takes.
            if rows:
                connection.exec_driver_sql(f"{head} {row}", list(map(tuple, rows)))
            continue
        at_once = _MOST_PARAMETERS[driver] // columns
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            values = f"{head} {', '.join([row] * len(some))}"
            statements.append((values, tuple(chain.from_iterable(some))))
    count = sum(len(some) for _, some in statements)
    if driver != "pysqlite" and len(statements) > 1 and count <= _MOST_PARAMETERS[driver]:
        *others, last = (statement for statement, _ in statements)
        parts = ", ".join(f"part_{number} AS ({one})" for number, one in enumerate(others))
        parameters = tuple(chain.from_iterable(some for _, some in statements))
        statements = [(f"WITH {parts} {last}", parameters)]
    for statement, some in statements:
        connection.exec_driver_sql(statement, some)


@cache
def _insertion(dialect: Dialect, table: sa.Table) -> tuple[str, str, int]:
    """The statement up to the values, the values of a row, and how many these are."""
    names = list(map(dialect.identifier_preparer.quote, table.columns.keys()))
    row = ", ".join(["?" if dialect.paramstyle == "qmark" else "%s"] * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES", f"({row})", len(names)
