"""The fields of dropped items, compared with those of their originals.

The index has only hashes of the fields of stored items, so it knows which values are equal, but not
the other values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db.schema import EXACT
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.drops import unpack_item
from scrapy_simhash.history.query import (
    NamespaceRow,
    claim_columns,
    drop_columns,
    drops_of,
    drops_with_claims,
    read,
)
from scrapy_simhash.item.facts import Facts, conflict
from scrapy_simhash.item.names import name_of
from scrapy_simhash.text.markup import PAGE_FACTS

# The names of facts that are not fields of an item.
_OTHERS = (*PAGE_FACTS, "(numbers)", "(others)")

# The deepest nested field.
_DEEPEST = 5


class Field(NamedTuple):
    """A field of a dropped item.

    Attributes:
        name: its name; the path of a nested field.
        value: its value as text, of any length; empty for a fact of the page.
        mark: the field in the original: "same", "differs" or "missing"; "" if it is not compared as
            a fact, like text and addresses.
    """

    name: str
    value: str
    mark: Literal["same", "differs", "missing", ""]


def read_fields(
    database: Database, namespace: NamespaceRow, numbers: Iterable[int]
) -> dict[int, list[Field]]:
    """The fields of dropped items, by the numbers of the duplicates.

    An item that was not kept has only the fields of its page.
    """
    query = (
        select(
            drop_columns.id,
            drop_columns.item,
            drop_columns.compared_by,
            drop_columns.facts,
            claim_columns.facts.label("stored"),
        )
        .select_from(drops_with_claims)
        .where(*drops_of(namespace), is_in(database.dialect, drop_columns.id, "numbers"))
    )
    return {row.id: list(_fields(row)) for row in read(database, query, numbers=numbers)}


def _fields(row: Any) -> Iterator[Field]:
    mine, stored = _records(row.facts), _records(row.stored)
    is_equal = row.compared_by == EXACT

    def mark(key: int) -> Literal["same", "differs", "missing", ""]:
        if is_equal:
            return "same"
        if row.stored is None or key not in mine:
            return ""
        if key not in stored:
            return "missing"
        different = conflict(Facts((mine[key],)), Facts((stored[key],)), same_site=True)
        return "same" if different is None else "differs"

    for name, value in _flat(_item(row.item)):
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield Field(name, shown, mark(name_of(name).key))
    for name in _OTHERS:
        if (found := mark(name_of(name).key)) and not is_equal:
            yield Field(name, "", found)


def _records(packed: bytes | None) -> dict[int, tuple[int, int, int]]:
    """Facts by the hashes of their names; none if they can't be read."""
    try:
        records = Facts.unpack(packed or b"").records
    except ValueError:
        return {}
    return {record[0]: record for record in records}


def _item(packed: bytes | None) -> dict[str, Any]:
    try:
        return {} if packed is None else unpack_item(bytes(packed))
    except ValueError:
        return {}


def _flat(item: Mapping[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in item.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{path}{name}.", depth + 1)
        elif value not in (None, "", [], {}):
            yield f"{path}{name}", value
