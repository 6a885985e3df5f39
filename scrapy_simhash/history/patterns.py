"""Parts of addresses that only lead to pages already known."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Table, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.features.shingles import distinct, mix64
from scrapy_simhash.history import sql
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.invalidated import is_orphan
from scrapy_simhash.item.urls import UrlParts
from scrapy_simhash.visible import plural

#: The number of duplicate pages from which a part is shown.
LEAST = 20

# Characters with a meaning of their own in the URL patterns of rules.
_SPECIAL = frozenset("|?#")

# Rows read at once; then limits on what a hostile site can make: the parts, and the parts of all
# addresses together (28 bytes each).
_PAGE, _MOST_PARTS, _MOST = 10_000, 100_000, 8_000_000


class Pattern(NamedTuple):
    """A part of addresses, and the content of the pages that have it.

    A group is all addresses that differ in nothing but this part, including the one without it. Its
    pages are equal if the duplicates among them are duplicates of the others' items, and of nothing
    else. An item kept because a field differs is not equal.

    The part is named as :class:`~scrapy_simhash.item.urls.UrlParts` does. The
    numbers count the URLs with it, the URLs in groups of two or more, these groups, and the groups
    whose pages are not equal. The example is cut to 2,000 characters.
    """

    part: str
    pages: int
    compared: int
    groups: int
    contradicted: int
    example: str

    @property
    def repeats(self) -> int:
        """Downloads that ignoring the part would have saved: none if it ever made a difference."""
        return 0 if self.contradicted else self.compared - self.groups


def read_patterns(namespace: NamespaceRow, *, limit: int = 500_000) -> list[Pattern]:
    """The parts of the addresses in a namespace, those with most repeats first.

    Of the newest so many claims, and as many duplicates: 30 bytes for each part of an address.
    """
    seen = _Seen()
    # Later versions of an item are that item.
    of_claims = select(sql.claims.id, _url(schema.claims), sql.claims.origin).where(
        *sql.claims_of(namespace)
    )
    of_drops = select(sql.drops.id, _url(schema.duplicates), sql.drops.origin).where(
        *sql.drops_of(namespace), ~is_orphan()
    )
    for query, number in ((of_claims, sql.claims.id), (of_drops, sql.drops.id)):
        pages = sql.read_in_pages(namespace, query, number, _PAGE, newest_first=True)
        for row in islice(chain.from_iterable(pages), limit):
            seen.add(row.url, row.origin)
    return sorted(seen.patterns(), key=lambda one: (-one.repeats, one.part))


def make_rules(
    found: Sequence[Pattern], least: int = LEAST
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rules for duplicate-url-discarder that remove parameters, one for each place.

    Beside them, the reason for each part that mostly repeats pages and has no rule. A rule ignores
    case, "www." and default ports, so a contradiction at such a place prevents it. Where the place
    has a wildcard, the rule is for the whole host, so any contradiction there does.
    """
    contradicted = {_matched(one.part) for one in found if one.contradicted}
    of_hosts = {_host_and_name(part) for part in contradicted}
    names: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for one in found:
        place, _, name = one.part.partition("?")
        matched = _matched(one.part)
        if one.compared - one.groups < least or one.contradicted * 2 > one.groups:
            continue
        if one.contradicted:
            reasons[one.part] = (
                f"{one.contradicted:,} of {one.groups:,} different pages change with it"
            )
        elif not name:
            reasons[one.part] = "no rule tells dates and facets in paths from folders"
        elif one.groups < least:
            reasons[one.part] = (
                f"it was seen on {one.groups:,} different {plural(one.groups, 'page')}, and a rule "
                f"needs {least:,}"
            )
        elif _SPECIAL & {*place}:
            reasons[one.part] = "its folder has a character that rules take for a wildcard"
        elif matched in contradicted or ("*" in place and _host_and_name(matched) in of_hosts):
            reasons[one.part] = "it leads to different pages where the rule would apply"
        else:
            names.setdefault(place, []).append(name)
    rules = [
        {
            # "|" matches this page only; a folder matches everything in it.
            "urlPattern": {"include": [f"{place}{'' if place.count('/') > 1 else '|'}"]},
            "processor": "queryRemoval",
            "args": sorted(given),
            "order": 100,
        }
        for place, given in sorted(names.items())
    ]
    return rules, reasons


def _matched(part: str) -> str:
    """A part in the form that equals that of all parts a rule for it would match."""
    host, slash, rest = part.lower().removeprefix("www.").partition("/")
    return f"{host.removesuffix(':80').removesuffix(':443')}{slash}{rest}"


def _host_and_name(matched: str) -> tuple[str, str]:
    return matched.partition("/")[0], matched.partition("?")[2]


def _url(table: Table) -> ColumnElement[str]:
    return func.substr(url_of(table), 1, sql.LONGEST_URL + 1).label("url")


class _Seen:
    """Addresses and claims as columns of numbers; an address is its hash."""

    def __init__(self) -> None:
        # A row for each address and claim.
        self._addresses, self._claims = array("q"), array("q")
        # A row for each address and part: the part, the address without it, the address.
        self._parts, self._rests, self._having = array("i"), array("q"), array("q")
        self._numbers: dict[str, int] = {}
        self._examples: list[str] = []

    def add(self, url: str, claim: int) -> None:
        address = UrlParts.of(url)
        if address is None or len(self._parts) > _MOST:
            return
        whole = hash(address.without(()))
        self._addresses.append(whole)
        self._claims.append(claim)
        for part in address.names():
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
        addresses, content = self._pages()
        columns = (
            np.frombuffer(self._parts, np.int32),
            np.frombuffer(self._rests, np.int64),
            np.frombuffer(self._having, np.int64),
        )
        # An address that was seen several times counts once.
        order = np.lexsort(columns[::-1])
        parts, rests, having = (column[order] for column in columns)
        once = _first_of((parts, rests, having))
        parts, rests, having = parts[once], rests[once], having[once]
        starts = np.flatnonzero(_first_of((parts, rests)))
        sizes = np.diff(np.append(starts, len(parts)))
        page = np.searchsorted(addresses, having)
        least, most = (bound.reduceat(content[page], starts) for bound in (np.minimum, np.maximum))
        # The address without the part, if it was seen, is in the group as well.
        bare = np.minimum(np.searchsorted(addresses, rests[starts]), len(addresses) - 1)
        has_bare = addresses[bare] == rests[starts]
        sizes += has_bare
        least = np.where(has_bare, np.minimum(least, content[bare]), least)
        most = np.where(has_bare, np.maximum(most, content[bare]), most)
        several = sizes > 1
        of_group = parts[starts]

        def sums(of: NDArray[Any], weights: NDArray[Any] | None = None) -> list[int]:
            return [int(one) for one in np.bincount(of, weights, minlength=len(self._examples))]

        counted = zip(
            sums(parts),
            sums(of_group[several], sizes[several]),
            sums(of_group[several]),
            sums(of_group[several & (least != most)]),
            strict=True,
        )
        return [
            Pattern(part, *counts, example[: sql.LONGEST_URL])
            for part, counts, example in zip(self._numbers, counted, self._examples, strict=True)
        ]

    def _pages(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The addresses, sorted, and the content of each as a number."""
        addresses = np.frombuffer(self._addresses, np.int64)
        claims = np.frombuffer(self._claims, np.uint64)
        order = np.lexsort((claims, addresses))
        addresses, claims = addresses[order], claims[order]
        # The sum of mixed numbers identifies a set of claims.
        mixed = mix64(claims) * _first_of((addresses, claims))
        starts = np.flatnonzero(_first_of((addresses,)))
        return distinct(addresses), np.add.reduceat(mixed, starts)


def _first_of(columns: tuple[NDArray[Any], ...]) -> NDArray[np.bool_]:
    """Where, in sorted columns, a row differs from the one before it."""
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return first
