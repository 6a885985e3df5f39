"""What dropped items say, field by field, beside what is known of the stored ones.

Of a stored item the index has no more than hashes of what it says, as it is stored elsewhere. They
tell which values are equal; an equal one is known by that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import EXACT
from scrapy_simhash.db.statements import is_in, list_parameter
from scrapy_simhash.history.drops import claim_columns, drop_columns, unpack
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.item.facts import Facts, conflict
from scrapy_simhash.item.names import name_of
from scrapy_simhash.text.markup import PAGE_FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Literal

    from sqlalchemy import Connection

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["Field", "fields"]

# The names of facts that are not fields of an item.
_OTHERS = (*PAGE_FACTS, "(numbers)", "(others)")

# Fields of fields are followed so far.
_DEEPEST = 5


class Field(NamedTuple):
    """A field of a dropped item.

    Attributes:
        name: that of a nested one is its path.
        value: as text, of whatever length; empty for what its page says.
        mark: how the stored item has it: "same", "differs", "missing"; "" where it is text or an
            address, which is compared otherwise, or says nothing.
    """

    name: str
    value: str
    mark: Literal["same", "differs", "missing", ""]


def fields(
    database: Database, namespace: NamespaceRow, numbers: Iterable[int]
) -> dict[int, list[Field]]:
    """The fields of dropped items, by the numbers of the duplicates.

    What was not kept has those alone that its page says.
    """
    query = (
        select(
            drop_columns.id,
            drop_columns.item,
            drop_columns.basis,
            drop_columns.facts,
            claim_columns.facts.label("stored"),
        )
        .select_from(
            schema.duplicates.outerjoin(
                schema.claims,
                (claim_columns.namespace == drop_columns.namespace)
                & (claim_columns.id == drop_columns.claim)
                & is_valid(),
            )
        )
        .where(
            drop_columns.namespace == namespace.id,
            is_in(database.dialect, drop_columns.id, "numbers"),
        )
    )
    parameters = {"numbers": list_parameter(database.dialect, numbers)}

    def read(connection: Connection) -> dict[int, list[Field]]:
        found = connection.execute(query, parameters)
        return {row.id: list(_fields(row)) for row in found}

    return database.read(read)


def _fields(row: Any) -> Iterator[Field]:
    mine, stored = _records(row.facts), _records(row.stored)
    is_equal = row.basis == EXACT

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
        if (said := mark(name_of(name).key)) and not is_equal:
            yield Field(name, "", said)


def _records(packed: bytes | None) -> dict[int, tuple[int, int, int]]:
    """Facts by the hashes of their names; none where they can't be read."""
    try:
        records = Facts.unpack(packed or b"").records
    except ValueError:
        return {}
    return {record[0]: record for record in records}


def _item(packed: bytes | None) -> dict[str, Any]:
    try:
        return {} if packed is None else unpack(bytes(packed))
    except ValueError:
        return {}


def _flat(item: Mapping[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in item.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{path}{name}.", depth + 1)
        elif value not in (None, "", [], {}):
            yield f"{path}{name}", value
