"""The fields of an item, beside those of the stored item that it is similar to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import EXACT
from scrapy_simhash.history.drops import unpack_item
from scrapy_simhash.history.pages import NOTHING, Content, read_contents
from scrapy_simhash.history.pairs import Pair, Place
from scrapy_simhash.history.query import NamespaceRow, claim_columns, drop_columns, drops_of, read
from scrapy_simhash.item.facts import Facts, conflict
from scrapy_simhash.item.names import name_of
from scrapy_simhash.simhash.measure import jaccard
from scrapy_simhash.simhash.scheme import Scheme
from scrapy_simhash.text.markup import PAGE_FACTS

# The names of facts that are not fields of an item.
_OTHERS = (*PAGE_FACTS, "(numbers)", "(others)")

# The deepest nested field.
_DEEPEST = 5


class Field(NamedTuple):
    """A field of an item.

    A nested field is named by its path. The value is a text of any length, empty for a fact of the
    page; that of the stored item is None if it is not kept. The mark tells what the field is in the
    stored item; it is "" for what is not compared as a fact, like text and addresses.
    """

    name: str
    value: str
    stored: str | None
    mark: Literal["same", "differs", "missing", ""]


def differing(
    mine: Mapping[str, str], theirs: Mapping[str, str], first: str | None = None
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of two items that differ, by name; none if those of one are not kept."""
    names = sorted({*mine, *theirs}, key=lambda name: (name != first, name))
    both = {name: (theirs.get(name), mine.get(name)) for name in names if mine and theirs}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def true_similarity(scheme: Scheme, *texts: str | None) -> float | None:
    """The similarity of two texts; None if one is not kept, or the scheme has no shingles."""
    one, other = (scheme.sketch(text).shingles if text else None for text in texts)
    return None if one is None or other is None else jaccard(one, other)


def with_values(
    database: Database, namespace: NamespaceRow, pairs: Sequence[Pair], scheme: Scheme
) -> Iterator[Pair]:
    """Pairs with the short values that differ, and the true similarity of texts that are kept."""
    kept = read_contents(database, namespace, {place for pair in pairs for place in pair.places})
    for pair in pairs:
        mine, theirs = (kept.get(place, NOTHING) for place in pair.places)
        found = pair._replace(fields=differing(mine.values, theirs.values, pair.differs))
        if pair.estimated or pair.similarity is None:
            similarity = true_similarity(scheme, mine.text, theirs.text)
            if similarity is not None:
                found = found._replace(similarity=similarity, estimated=False)
        yield found


def read_fields(
    database: Database,
    namespace: NamespaceRow,
    pairs: Sequence[tuple[Place, Place]],
    contents: Mapping[Place, Content],
) -> list[list[Field]]:
    """The fields of each item beside those of a stored one.

    Given are the places of both, and what is kept there. A dropped item that was not kept has its
    short values only, as stored items have.
    """
    of_claims = select(claim_columns.id, claim_columns.facts).where(
        claim_columns.namespace == namespace.id, is_in(claim_columns.id, "numbers")
    )
    of_drops = select(
        drop_columns.id, drop_columns.facts, drop_columns.item, drop_columns.compared_by
    ).where(*drops_of(namespace), is_in(drop_columns.id, "numbers"))
    places = [place for pair in pairs for place in pair]
    claims = read(database, of_claims, numbers={claim for claim, number in places if not number})
    drops = read(database, of_drops, numbers={number for _, number in places if number})
    rows = {(row.id, 0): row for row in claims} | {(0, row.id): row for row in drops}
    found = []
    for pair in pairs:
        mine, stored = pair
        row, other = (rows.get((0, number) if number else (claim, 0)) for claim, number in pair)
        is_equal = mine[1] > 0 and row is not None and row.compared_by == EXACT
        marks = _Marks(_records(row), None if other is None else _records(other), is_equal)
        item = _item(row.item) if mine[1] and row is not None else {}
        own, values = (contents.get(place, NOTHING).values for place in (mine, stored))
        found.append(list(_fields(item or own, values, marks)))
    return found


class _Marks(NamedTuple):
    """Tells what a field is in the stored item, from the facts of both."""

    mine: Mapping[int, tuple[int, int, int]]
    stored: Mapping[int, tuple[int, int, int]] | None
    is_equal: bool

    def of(self, name: str) -> Literal["same", "differs", "missing", ""]:
        key = name_of(name).key
        if self.is_equal:
            return "same"
        if self.stored is None or key not in self.mine:
            return ""
        if key not in self.stored:
            return "missing"
        new, old = Facts((self.mine[key],)), Facts((self.stored[key],))
        return "same" if conflict(new, old, same_site=True) is None else "differs"


def _fields(item: Mapping[str, Any], stored: Mapping[str, str], marks: _Marks) -> Iterator[Field]:
    mine = dict(_flat(item))
    for name, value in mine.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield Field(name, shown, stored.get(name), marks.of(name))
    for name, value in stored.items():
        if name not in mine:
            yield Field(name, "", value, marks.of(name))
    for name in _OTHERS:
        is_shown = name in mine or name in stored or marks.is_equal
        if not is_shown and (mark := marks.of(name)):
            yield Field(name, "", None, mark)


def _records(row: Any) -> dict[int, tuple[int, int, int]]:
    """Facts by the hashes of their names; none if they can't be read."""
    try:
        records = Facts.unpack((row and row.facts) or b"").records
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
