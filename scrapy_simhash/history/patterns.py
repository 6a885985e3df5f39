"""Which parts of addresses only repeat what is found without them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.features.hashes import distinct, mix64
from scrapy_simhash.history.drops import LONGEST_URL, claim_columns, drop_columns
from scrapy_simhash.index.invalidated import is_orphan, is_valid
from scrapy_simhash.item.urls import Address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement, Table

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["LEAST", "Pattern", "patterns", "repeating"]

#: From so many pages that repeat what is known a part of addresses is shown.
LEAST = 20

# Rows that are read at once; parts of addresses that are told apart; what is looked at in all, of
# 28 bytes each, whatever a hostile site makes.
_PAGE, _MOST_PARTS, _MOST = 10_000, 100_000, 8_000_000


class Pattern(NamedTuple):
    """A part of addresses, and what has become of the pages whose addresses have it.

    Pages fell together if what they gave was the same: what one stored, the others repeated. An
    item that was kept because it says something else is not the same.

    Attributes:
        part: its name, see :class:`~scrapy_simhash.item.urls.Address`.
        pages: addresses with it.
        new: those of them that gave something new.
        compared: addresses of which there are others that differ in nothing but this part.
        groups: what those are the addresses of, if the part says nothing.
        contradicted: how many of these groups did not fall together.
        example: one of the addresses, cut to 2,000 characters.
    """

    part: str
    pages: int
    new: int
    compared: int
    groups: int
    contradicted: int
    example: str

    @property
    def repeats(self) -> int:
        """Downloads that would have been spared without the part: none if it ever said anything."""
        return 0 if self.contradicted else self.compared - self.groups

    @property
    def empty(self) -> int:
        """Downloads of pages with the part: none if one of them gave something new."""
        return 0 if self.new else self.pages


def patterns(database: Database, namespace: NamespaceRow, *, limit: int = 500_000) -> list[Pattern]:
    """The parts of the addresses that were met, those that repeat most first.

    Takes memory for the rows that are read, about 30 bytes for each part of an address.

    Args:
        database: where they are.
        namespace: in which one.
        limit: the newest so many claims, and as many duplicates.
    """
    met = _Met()
    for row in _claims(database, namespace, limit):
        met.add(row.url, row.claim, is_new=True)
    here = drop_columns.namespace == namespace.id
    for row in _newest(
        database, schema.duplicates, drop_columns.claim, (here, ~is_orphan()), limit
    ):
        met.add(row.url, row.claim, is_new=False)
    found = met.patterns()
    return sorted(found, key=lambda one: (-one.repeats, -one.empty, one.part))


def repeating(found: Sequence[Pattern], least: int = LEAST) -> tuple[list[Pattern], list[Pattern]]:
    """Those that say nothing; and others whose pages gave nothing new, though not all the same."""
    nothing = [one for one in found if one.repeats >= least]
    return nothing, [one for one in found if one.empty >= least and one not in nothing]


def _claims(database: Database, namespace: NamespaceRow, limit: int) -> Iterator[Any]:
    here = claim_columns.namespace == namespace.id
    return _newest(database, schema.claims, claim_columns.id, (here, is_valid()), limit)


def _newest(
    database: Database,
    table: Table,
    claim: ColumnElement[int],
    conditions: tuple[ColumnElement[bool], ...],
    limit: int,
) -> Iterator[Any]:
    """Address and claim of each row of a table, the newest first, a page of rows at a time."""
    columns = table.c
    query = (
        select(columns.id, func.substr(url_of(table), 1, LONGEST_URL + 1).label("url"))
        .add_columns(claim.label("claim"))
        .where(*conditions)
        .order_by(columns.id.desc())
    )
    last: int | None = None
    while limit > 0:
        page = query.limit(min(limit, _PAGE))
        page = page if last is None else page.where(columns.id < last)
        rows = database.read(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
        yield from rows
        if len(rows) < _PAGE:
            return
        last = rows[-1].id
        limit -= len(rows)


class _Met:
    """What was met where, as numbers: addresses are known by their hashes."""

    def __init__(self) -> None:
        # What each address gave.
        self._addresses, self._claims, self._is_new = array("q"), array("q"), array("b")
        # Which part of which address, and what is left without it.
        self._parts, self._rests, self._having = array("i"), array("q"), array("q")
        self._numbers: dict[str, int] = {}
        self._examples: list[str] = []

    def add(self, url: str, claim: int, *, is_new: bool) -> None:
        address = Address.of(url)
        if address is None or len(self._parts) > _MOST:
            return
        whole = hash(address.without(()))
        self._addresses.append(whole)
        self._claims.append(claim)
        self._is_new.append(is_new)
        for part in address.parts():
            number = self._number(part, url)
            if number is not None:
                self._parts.append(number)
                self._rests.append(hash(address.without((part,))))
                self._having.append(whole)

    def _number(self, part: str, url: str) -> int | None:
        number = self._numbers.get(part)
        if number is None and len(self._examples) < _MOST_PARTS:
            number = self._numbers[part] = len(self._examples)
            self._examples.append(url)
        return number

    def patterns(self) -> list[Pattern]:
        if not self._parts:
            return []
        gave, is_new = self._pages()
        parts, rests, having = (
            np.frombuffer(column, kind)
            for column, kind in (
                (self._parts, np.int32),
                (self._rests, np.int64),
                (self._having, np.int64),
            )
        )
        # An address that was met several times counts once.
        order = np.lexsort((having, rests, parts))
        parts, rests, having = parts[order], rests[order], having[order]
        once = _first_of((parts, rests, having))
        parts, rests, having = parts[once], rests[once], having[once]
        starts = np.flatnonzero(_first_of((parts, rests)))
        sizes = np.diff(np.append(starts, len(parts)))
        page = np.searchsorted(distinct(np.sort(self._addresses)), having)
        least, most = (bound.reduceat(gave[page], starts) for bound in (np.minimum, np.maximum))
        several = sizes > 1
        of_group = parts[starts]
        length = len(self._examples)

        def sums(of: NDArray[Any], weights: NDArray[Any] | None = None) -> list[int]:
            counted = np.bincount(of, weights, minlength=length)
            return [int(count) for count in counted]

        columns = (
            sums(parts),
            sums(parts, is_new[page]),
            sums(of_group[several], sizes[several]),
            sums(of_group[several]),
            sums(of_group[several & (least != most)]),
        )
        rows = zip(self._numbers, *columns, self._examples, strict=True)
        return [
            Pattern(part, pages, new, compared, groups, contradicted, example[:LONGEST_URL])
            for part, pages, new, compared, groups, contradicted, example in rows
        ]

    def _pages(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """What each address gave, as a number; whether something of it was new. Sorted by hash."""
        addresses = np.frombuffer(self._addresses, np.int64)
        claims = np.frombuffer(self._claims, np.uint64)
        order = np.lexsort((claims, addresses))
        addresses, claims = addresses[order], claims[order]
        is_new = np.frombuffer(self._is_new, np.bool_)[order]
        starts = np.flatnonzero(_first_of((addresses,)))
        news = np.logical_or.reduceat(is_new, starts)
        # The sum of mixed numbers stands for a set of them.
        mixed = mix64(claims) * _first_of((addresses, claims))
        return np.add.reduceat(mixed, starts), news


def _first_of(columns: tuple[NDArray[Any], ...]) -> NDArray[np.bool_]:
    """Where, in sorted columns, something begins that is not what stands before it."""
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return first
