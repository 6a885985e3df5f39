"""Items that were dropped, or kept although another one is similar: each with the other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.features.hashes import similarity_of
from scrapy_simhash.history.pages import NOTHING, Content, Place, read_contents
from scrapy_simhash.history.query import (
    LONGEST_URL,
    NamespaceRow,
    claim_columns,
    claims_of,
    drop_columns,
    drops_of,
    drops_with_claims,
    read_in_pages,
)
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.simhash.measure import distance, jaccard, similarity_at
from scrapy_simhash.simhash.scheme import Scheme

# Pairs whose texts and values are read at once.
_PAGE = 200

# A claim beside another one; an alias of the table.
_others = schema.claims.alias("others")


class Pair(NamedTuple):
    """An item and the stored one that is similar to it.

    Attributes:
        action: what was done with it: "kept", or see :class:`Drop`.
        url: its address, and `other` that of the stored one; None if that was deleted.
        similarity: of both texts, 0 to 1, and whether it is `estimated` as a text is not kept; None
            if the stored one was deleted.
        compared_by: what was compared: the number of a text, a page's text, or the whole item.
        differs: of a kept item what differs, see :class:`Verdict`; else "".
        fields: the short values that differ, by name: that of the stored item, and its own.
        created: seconds since the epoch.
        run: the run that decided.
        number: of the duplicate; 0 of a kept item.
    """

    action: str
    url: str
    other: str | None
    similarity: float | None
    estimated: bool
    compared_by: int
    differs: str
    fields: Mapping[str, tuple[str | None, str | None]]
    created: float
    run: int
    number: int


def _address(table: Any, name: str) -> list[ColumnElement[Any]]:
    """The key and the URL of a row, cut."""
    cut = (func.substr(column, 1, LONGEST_URL) for column in (table.c.key, url_of(table)))
    return [column.label(f"{name}{part}") for column, part in zip(cut, ("key", "url"), strict=True)]


def read_dropped(database: Database, namespace: NamespaceRow, run: int) -> Iterator[list[Pair]]:
    """The duplicates of a run in their order, some at a time."""
    drop = drop_columns
    query = (
        select(
            *(drop.id, drop.claim, drop.run, drop.created, drop.action, drop.compared_by),
            *(drop.similarity, drop.estimated, literal("").label("differs")),
            *_address(schema.duplicates, ""),
            *_address(schema.claims, "other_"),
        )
        .select_from(drops_with_claims)
        .where(*drops_of(namespace, run))
    )
    for rows in read_in_pages(database, query, drop.id, _PAGE):
        places = [((one.claim, one.id), (one.claim, 0)) for one in rows]
        kept = read_contents(database, namespace, {place for both in places for place in both})
        yield [
            _pair(row, kept, both, (row.similarity, row.estimated), number=row.id)
            for row, both in zip(rows, places, strict=True)
        ]


def read_kept(
    database: Database, namespace: NamespaceRow, run: int, scheme: Scheme
) -> Iterator[list[Pair]]:
    """The items that a run kept although another one is similar, in their order."""
    claim = claim_columns
    is_other = (_others.c.namespace == claim.namespace) & (_others.c.id == claim.beside)
    query: Select[Any] = (
        select(
            *(claim.id, claim.beside, claim.run, claim.created, claim.compared_by, claim.differs),
            *(claim.fingerprint, claim.minhash, literal("kept").label("action")),
            _others.c.fingerprint.label("other_fingerprint"),
            _others.c.minhash.label("other_minhash"),
            *_address(schema.claims, ""),
            *_address(_others, "other_"),
        )
        .select_from(schema.claims.outerjoin(_others, is_other & is_valid(_others)))
        .where(*claims_of(namespace, run), claim.differs.is_not(None))
    )
    for rows in read_in_pages(database, query, claim.id, _PAGE):
        places = [((one.id, 0), (one.beside or 0, 0)) for one in rows]
        kept = read_contents(database, namespace, {place for both in places for place in both})
        yield [
            _pair(row, kept, both, _similarity(kept, scheme, row, both))
            for row, both in zip(rows, places, strict=True)
        ]


def _pair(
    row: Any,
    kept: Mapping[Place, Content],
    places: tuple[Place, Place],
    near: tuple[float | None, bool],
    number: int = 0,
) -> Pair:
    mine, theirs = (kept.get(place, NOTHING).values for place in places)
    other = None if row.other_key is None else address_of(row.other_key, row.other_url)
    return Pair(
        row.action,
        address_of(row.key, row.url),
        other,
        *near,
        row.compared_by,
        row.differs,
        differing(mine, theirs, row.differs),
        row.created,
        row.run,
        number,
    )


def differing(
    mine: Mapping[str, str], theirs: Mapping[str, str], first: str | None = None
) -> dict[str, tuple[str | None, str | None]]:
    """The short values of two items that differ, by name; none if those of one are not kept."""
    names = sorted({*mine, *theirs}, key=lambda name: (name != first, name))
    both = {name: (theirs.get(name), mine.get(name)) for name in names if mine and theirs}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _similarity(
    kept: Mapping[Place, Content], scheme: Scheme, row: Any, places: tuple[Place, Place]
) -> tuple[float | None, bool]:
    """The similarity of two stored items, and whether it is an estimate."""
    here, there = (kept.get(place, NOTHING).text for place in places)
    if here and there:
        a, b = (scheme.sketch(text).shingles for text in (here, there))
        if a is not None and b is not None:
            return jaccard(a, b), False
    if row.minhash is not None and row.other_minhash is not None:
        return similarity_of(row.minhash, row.other_minhash), True
    if row.other_fingerprint is None:
        return None, False
    prints = (int.from_bytes(one, "big") for one in (row.fingerprint, row.other_fingerprint))
    return similarity_at(distance(*prints), 8 * len(row.fingerprint)), True
