"""What a project should change: its settings, and parts of URLs that only lead to known pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, Selection
from scrapy_simhash.index.queries import is_orphan
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.irrelevant import LEAST, Example, Pair, differing_facts, irrelevant_fields
from scrapy_simhash.item.urls import UrlParts
from scrapy_simhash.visible import plural, shortened

_EXAMPLES = 5
# The maximum number of items that are examined, the newest first.
_MOST_ITEMS = 20_000

# Characters with a meaning of their own in the URL patterns of rules.
_SPECIAL = frozenset("|?#")

# Rows read at once.
_PAGE = 10_000
# Limits on what a hostile site can make: the parts, and the parts of all addresses together, of
# which each takes some 300 bytes.
_MOST_PARTS = 100_000
_MOST = 1_000_000


class SettingAdvice(NamedTuple):
    """A line to change or call, its effect without a full stop, and examples of items.

    If it is about fields that keep copies apart, also these, and how many items would be dropped
    without them.
    """

    setting: str
    effect: str
    examples: Sequence[Example] = ()
    fields: tuple[str, ...] = ()
    dropped: int = 0

    def __str__(self) -> str:
        looked = "; ".join(f"{one.url} and {one.other}" for one in self.examples)
        return shortened(
            f"{self.setting}: {self.effect}. Look at {len(self.examples)} of them: {looked}", 4000
        )


def advise(namespace: NamespaceRow, selection: Selection = EVERYTHING) -> list[SettingAdvice]:
    """The advice from the items of a namespace."""
    query = (
        select(
            sql.claims.id,
            sql.claims.similar_claim,
            sql.short_url(schema.claims).label("url"),
            sql.short_url(sql.others).label("other"),
            sql.claims.facts,
            sql.others.c.facts.label("stored"),
            (sql.claims.text_digest == sql.others.c.text_digest).label("is_equal"),
        )
        .select_from(sql.claims_with_others)
        .where(
            *sql.claims_of(namespace),
            *selection.conditions(schema.claims),
            sql.claims.differs.is_not(None),
            sql.others.c.id.is_not(None),
        )
        .order_by(sql.claims.id.desc())
        .limit(_MOST_ITEMS)
    )

    def read(items: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        found = read_contents(namespace, items)
        return {item: content.values for item, content in found.items()}

    rows = namespace.read(query)
    pairs = [_pair(row) for row in rows] if len(rows) >= LEAST else []
    given = []
    for fields, number, examples in irrelevant_fields(pairs, read):
        names = [str(name) for name in fields]
        effect = (
            f"{number:,} more {plural(number, 'item')} would be dropped: they have the text of "
            f"another item, and differ only in {', '.join(names)}"
        )
        setting = f"SIMHASH_IGNORE_FIELDS = {names}"
        given.append(SettingAdvice(setting, effect, examples[:_EXAMPLES], fields, number))
    return given


def _pair(row: Any) -> Pair:
    """An item and the similar one, with the facts that differ in either order."""
    changed = frozenset[int]()
    with suppress(ValueError):  # damaged facts
        changed = differing_facts(Facts.unpack(row.facts or b""), Facts.unpack(row.stored or b""))
    return Pair(row.url, row.other, changed, bool(row.is_equal), (row.id, row.similar_claim))


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


def read_patterns(
    namespace: NamespaceRow, selection: Selection, *, limit: int = 200_000
) -> list[Pattern]:
    """The parts of the addresses that were met, most repeats first, of the newest so many items."""
    row = sql.drops
    seen = _Addresses()
    query = select(row.id, _url(schema.sightings), row.origin).where(
        *(row.namespace == namespace.id, *selection.conditions(schema.sightings), ~is_orphan()),
        row.status.not_in((*ABSENT, RELEASED)),
    )
    pages = sql.read_in_pages(namespace, query, row.id, _PAGE, newest_first=True)
    for one in islice(chain.from_iterable(pages), limit):
        if selection.has(one.url):
            seen.add(one.url, one.origin)
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


class _Part(NamedTuple):
    """A part of addresses: the first URL with it, and the addresses by what they are without it."""

    example: str
    groups: dict[int, set[int]]


class _Addresses:
    """Addresses, which are hashes here, with the groups of the items that were found there."""

    def __init__(self) -> None:
        self._origins: dict[int, set[int]] = {}
        self._parts: dict[str, _Part] = {}
        self._count = 0

    def add(self, url: str, origin: int) -> None:
        address = UrlParts.of(url)
        if address is None or self._count > _MOST:
            return
        whole = hash(address.without(()))
        self._origins.setdefault(whole, set()).add(origin)
        for name in address.names():
            if name in self._parts or len(self._parts) < _MOST_PARTS:
                part = self._parts.setdefault(name, _Part(url[: sql.LONGEST_URL], {}))
                part.groups.setdefault(hash(address.without((name,))), set()).add(whole)
                self._count += 1

    def patterns(self) -> Iterator[Pattern]:
        for name, part in self._parts.items():
            pages = sum(map(len, part.groups.values()))
            # The address without the part, if it was seen, is in the group as well.
            groups = [
                {*found, rest} if rest in self._origins else found
                for rest, found in part.groups.items()
            ]
            several = [group for group in groups if len(group) > 1]
            contradicted = sum(map(self._differ, several))
            compared = sum(map(len, several))
            yield Pattern(name, pages, compared, len(several), contradicted, part.example)

    def _differ(self, addresses: Iterable[int]) -> bool:
        """Whether not the same items were found at all of these."""
        first, *others = (self._origins[address] for address in addresses)
        return any(found != first for found in others)
