"""Fields that carry no information about an item, such as times of a machine and random tokens.

Wrong advice loses items. So the name of such a field has no known meaning, unlike that of a price,
a title, a date or a code. And its values are timestamps with seconds; or they are counters or
tokens that pages show with a different value at each of two URLs, and with an equal text, so that
the value belongs to the request.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_simhash.item.facts import PAGE, Facts, keys_of, relations_of
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.times import moment_of
from scrapy_simhash.item.urls import place
from scrapy_simhash.item.values import short

#: The minimum number of pairs for advice about counters and tokens, and about timestamps.
LEAST = 20
_LEAST_TIMES = 2
# How many pairs are read for the names and values of fields, and how many sets of fields are
# examined, the most frequent first.
_MOST_PAIRS = 500
_MOST_SETS = 10
# The maximum number of sets that are returned.
_MOST_ADVICE = 3

# The minimum share of values with seconds: the seconds of some are 0.
_CLEAR = 0.9
# A counter or a random token. Words may tell what an item is.
_MEANINGLESS = re.compile(r"\d[\d., ]*|(?=[^\W_]*\d)[\w-]{8,}", re.ASCII)
# Parameters that tell on which page a link was.
_REFERRAL = re.compile(r"(?:from|ref|referr?er|spm|via)=[^&]*", re.IGNORECASE)


class Pair(NamedTuple):
    """Two kept items with similar texts, the later one first.

    Attributes:
        url, other: their URLs.
        changed: the hashed names of the facts that differ.
        is_only: whether nothing else differs: their texts are equal.
        items: their numbers, as `ReadValues` takes them.
    """

    url: str
    other: str
    changed: frozenset[int]
    is_only: bool
    items: tuple[int, int]


def differing_facts(new: Facts, old: Facts) -> frozenset[int]:
    """The hashed names of the facts in which two items differ."""
    relations = frozenset(relations_of(new, old, same_site=True))
    return frozenset([*new.differing(old, relations), *old.differing(new, relations)])


#: Returns the short values of items, given by their numbers: by number and field name.
ReadValues = Callable[[Iterable[int]], Mapping[int, Mapping[str, Any]]]


class Example(NamedTuple):
    """Two items that the advice would make copies: their URLs, and both values of each field."""

    url: str
    other: str
    values: Mapping[str, tuple[str, str]]


class FieldAdvice(NamedTuple):
    """Fields to ignore.

    Attributes:
        fields: their names.
        number: the number of items that would be duplicates without these fields.
        examples: some of these items.
    """

    fields: tuple[str, ...]
    number: int
    examples: Sequence[Example]


def irrelevant_fields(pairs: Sequence[Pair], read: ReadValues) -> list[FieldAdvice]:
    """Sets of fields to ignore, those that most items differ in first."""
    apart = [pair for pair in pairs if pair.changed]
    values = read({item for pair in apart[:_MOST_PAIRS] for item in pair.items})
    by_fields: defaultdict[tuple[str, ...], list[Example]] = defaultdict(list)
    for pair in apart[:_MOST_PAIRS]:
        if (example := _example(pair, values)) is not None:
            by_fields[tuple(example.values)].append(example)
    given = []
    for fields in sorted(by_fields, key=lambda one: -len(by_fields[one]))[:_MOST_SETS]:
        # A field with a time has several facts.
        keys = frozenset[int]().union(*map(keys_of, fields))
        differing = [pair for pair in apart if pair.changed <= keys]
        if _are_irrelevant(fields, differing, by_fields[fields]):
            number = sum(pair.is_only for pair in differing)
            given.append(FieldAdvice(fields, number, by_fields[fields]))
    return sorted(given, key=lambda one: -one.number)[:_MOST_ADVICE]


def _are_irrelevant(
    fields: Sequence[str], pairs: Sequence[Pair], examples: Sequence[Example]
) -> bool:
    """Whether fields carry no information, by all pairs that differ in them and some examples."""
    if any(map(has_meaning, fields)):
        return False
    count = sum(pair.is_only for pair in pairs)
    others = [name for name in fields if not _are_moments(name, examples)]
    if not others:
        return count >= _LEAST_TIMES
    values = [value for name in others for one in examples for value in one.values[name]]
    return (
        count >= LEAST
        and all(pair.is_only and is_one_page(pair.url, pair.other) for pair in pairs)
        and all(map(_MEANINGLESS.fullmatch, values))
    )


def _example(pair: Pair, values: Mapping[int, Mapping[str, Any]]) -> Example | None:
    """The values of the fields in which a pair differs; None if one of them is not stored."""
    mine, theirs = (values.get(item, {}) for item in pair.items)
    both = {
        name: (short(mine[name]), short(theirs[name]))
        for name in sorted(mine.keys() & theirs.keys())
        if not keys_of(name).isdisjoint(pair.changed)
    }
    known = frozenset[int]().union(*map(keys_of, both))
    return Example(pair.url, pair.other, both) if pair.changed <= known else None


def has_meaning(field: str) -> bool:
    """Whether a field name has a known meaning, such as a title, a code, a date or a price."""
    return field.startswith(("(", PAGE)) or bool(name_of(field).marks)


def is_one_page(a: str, b: str) -> bool:
    """Whether two URLs differ, but only in what is known to lead to one page.

    Any other parameter may choose a variant that differs in nothing but the field.
    """
    # Items of one list have equal URLs.
    return a != b and _path_and_query(a) == _path_and_query(b)


def _path_and_query(url: str) -> tuple[str, list[str]]:
    """The path and the parameters that may choose the page."""
    path, _, query = place(url).partition("?")
    return path, [part for part in query.split("&") if part and not _REFERRAL.fullmatch(part)]


def _are_moments(field: str, examples: Sequence[Example]) -> bool:
    """Whether nearly all values are timestamps with seconds."""
    moments = [moment_of(value) for one in examples for value in one.values[field]]
    exact = [moment for moment in moments if moment is not None and moment % 60]
    return len(exact) >= _CLEAR * len(moments)
