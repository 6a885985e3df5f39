"""Parts of URLs that only lead to known pages, and rules that leave such pages out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.history import sql
from scrapy_simhash.history.sql import NamespaceRow, Selection
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.item.urls import UrlParts

# Characters with a meaning of their own in the URL patterns of rules.
_SPECIAL = frozenset("|?#")

# What is read, the newest first. A hostile site can make each URL have 17 parts of some 300 bytes.
_MOST_SIGHTINGS = 50_000


class Pattern(NamedTuple):
    """A part of addresses, and the content of the pages that have it.

    A group is all addresses that differ in nothing but this part, including the one without it. Its
    pages are equal if the duplicates among them are duplicates of the others' items, and of nothing
    else. An item kept because a field differs is not equal.

    The part is named as :class:`~scrapy_simhash.item.urls.UrlParts` does. The
    numbers count the URLs with it, the URLs in groups of two or more, these groups, and the groups
    whose pages are not equal.
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


def read_patterns(namespace: NamespaceRow, selection: Selection) -> list[Pattern]:
    """The parts of the addresses that were met, most repeats first, of the newest items."""
    row = sql.drops
    # Addresses are hashes here. The groups of the items at each; of each part, the addresses by
    # what they are without it.
    origins = defaultdict[int, set[int]](set)
    parts = defaultdict[str, defaultdict[int, set[int]]](lambda: defaultdict(set))
    examples: dict[str, str] = {}
    url = func.substr(url_of(schema.sightings), 1, sql.LONGEST_URL + 1).label("url")
    query = select(row.id, url, row.origin).where(
        *(row.namespace == namespace.id, *selection.conditions(schema.sightings), ~row.orphaned),
        row.status.not_in((*ABSENT, RELEASED)),
    )
    for one in namespace.read(query.order_by(row.id.desc()).limit(_MOST_SIGHTINGS)):
        address = UrlParts.of(one.url) if selection.has(one.url) else None
        if address is None:
            continue
        whole = hash(address.without(()))
        origins[whole].add(one.origin)
        for name in address.names():
            examples.setdefault(name, one.url)
            parts[name][hash(address.without((name,)))].add(whole)
    found = [_pattern(name, parts[name], origins, examples[name]) for name in parts]
    return sorted(found, key=lambda one: (-one.repeats, one.part))


def _pattern(
    name: str, groups: Mapping[int, set[int]], origins: Mapping[int, set[int]], example: str
) -> Pattern:
    # The address without the part, if it was seen, is in the group as well.
    every = [found | ({rest} & origins.keys()) for rest, found in groups.items()]
    several = [group for group in every if len(group) > 1]
    differ = [len({frozenset(origins[address]) for address in group}) > 1 for group in several]
    pages, compared = (sum(map(len, some)) for some in (groups.values(), several))
    return Pattern(name, pages, compared, len(several), sum(differ), example)


def make_rules(found: Sequence[Pattern], least: int = LEAST) -> list[dict[str, Any]]:
    """Rules for duplicate-url-discarder that remove parameters, one for each place.

    A rule ignores case, "www." and default ports, so a contradiction at such a place prevents it.
    Where the place has a wildcard, the rule is for the whole host, so any contradiction there does.
    Dates and facets in paths have none, as no rule tells them from folders.
    """
    contradicted = {_matched(one.part) for one in found if one.contradicted}
    of_hosts = {_host_and_name(part) for part in contradicted}
    names = defaultdict[str, list[str]](list)
    for one in found:
        place, _, name = one.part.partition("?")
        matched = _matched(one.part)
        if not name or min(one.repeats, one.groups) < least or _SPECIAL & {*place}:
            continue
        if "*" in place and _host_and_name(matched) in of_hosts:
            continue
        if matched not in contradicted:
            names[place].append(name)
    return [
        {
            # "|" matches this page only; a folder matches everything in it.
            "urlPattern": {"include": [f"{place}{'' if place.count('/') > 1 else '|'}"]},
            "processor": "queryRemoval",
            "args": sorted(given),
            "order": 100,
        }
        for place, given in sorted(names.items())
    ]


def _matched(part: str) -> str:
    """A part in the form that equals that of all parts a rule for it would match."""
    host, slash, rest = part.lower().removeprefix("www.").partition("/")
    return f"{host.removesuffix(':80').removesuffix(':443')}{slash}{rest}"


def _host_and_name(matched: str) -> tuple[str, str]:
    return matched.partition("/")[0], matched.partition("?")[2]
