"""Damage in a database: rows that hold what was never written there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    Integer,
    LargeBinary,
    SmallInteger,
    and_,
    case,
    func,
    not_,
    or_,
    select,
)

from scrapy_simhash.db import schema
from scrapy_simhash.item.facts import RECORD_SIZE
from scrapy_simhash.keys.plan import load_keys

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Column, ColumnElement

    from scrapy_simhash.db.transactions import Database

__all__ = ["damage"]

#: Seconds since the epoch, or any other number with a fraction: nobody lives to see more.
_MOST = 1e11

_LENGTHS = {"digest": (16, 16), "merits": (13, 13), "minhash": (256, 256), "rest": (4, 260)}


def damage(database: Database) -> str | None:
    """Say where a database holds what was never written; None if no such place is known.

    Reads all of it, so it is for when something has gone wrong. An SQLite file alone takes values
    of any type, and can be changed by anybody who has it; a server holds what its columns allow.
    """
    if database.dialect != "sqlite":
        return None
    for table in schema.metadata.sorted_tables:
        wrong = [func.sum(case((_is_wrong(column), 1), else_=0)) for column in table.columns]
        query = select(*wrong).select_from(table)
        counts = database.read(lambda connection, query=query: connection.execute(query).one())  # type: ignore[misc]
        for column, count in zip(table.columns, counts, strict=True):
            if count:
                return f"rows of {table.name} without a {column.name} that can be read: {count:,}"
    plans = select(schema.namespaces.c.plan)
    for plan in database.read(lambda connection: connection.execute(plans).scalars().all()):
        try:
            load_keys(plan)
        except ValueError as error:
            return str(error)
    widths: dict[int, set[int]] = defaultdict(set)
    for table in (schema.claims, schema.duplicates):
        row, width = table.c, func.length(table.c.fingerprint)
        query = select(row.namespace, func.min(width), func.max(width)).group_by(row.namespace)
        for found in database.read(lambda connection, query=query: connection.execute(query).all()):  # type: ignore[misc]
            widths[found[0]].update(found[1:])
    if any(len(found) > 1 for found in widths.values()):
        return "not all fingerprints of a namespace are as wide"
    return None


def _is_wrong(column: Column[Any]) -> ColumnElement[bool]:
    kind: type[Any] = type(column.type)
    held, checks = ["text"], []
    if issubclass(kind, (Integer, BigInteger, SmallInteger, Boolean)):
        held = ["integer"]
    elif issubclass(kind, Double):
        held = ["real", "integer"]
        checks.append(func.abs(column) < _MOST)
    elif issubclass(kind, LargeBinary):
        held = ["blob"]
        if column.name == "facts":
            checks.append(func.length(column) % RECORD_SIZE == 0)
        if column.name in _LENGTHS:
            checks.append(func.length(column).between(*_LENGTHS[column.name]))
    is_right = and_(func.typeof(column).in_(held), *checks)
    return not_(or_(column.is_(None), is_right) if column.nullable else is_right)
