"""Whether fields by which copies differ tell nothing of them, so that they may be ignored.

Advice that is wrong loses items: it is given only for a field whose name has no known meaning, as
that of a price, title, date or code has, and whose values are the times of a machine, counters or
random tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scrapy_simhash.item.addresses import place
from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import PAGE
from scrapy_simhash.item.folding import Folded, fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.times import is_moment

#: Counters and tokens need so many pairs of items.
LEAST = 20

# Different values among all values of a field: fewer are a property such as a size.
_DISTINCT = 0.5
# The share of addresses that may have a value of the field by chance.
_BY_CHANCE = 0.1
_PART = re.compile(r"[^\W_]+")
# The share of pairs whose values must tell nothing: a few random tokens look like dates.
_CLEAR = 0.9
# A counter or a random token: words may tell what an item is.
_MEANINGLESS = re.compile(r"\d[\d., ]*|(?=[^\W_]*\d)[\w-]{8,}", re.ASCII)
# What may be a date or a time in a counter; in a token, also a year, or the name of a day or month.
_DATED_NUMBER = re.compile(r"\b(?:19|20|21)\d{6}\b|\b\d{9}")
_DATED = re.compile(
    rf"{_DATED_NUMBER.pattern}|\b(?:19|20|21)\d\d\b|\d[-.]\d\d?[-.]|"
    r"\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|fev|mar|mär|apr|abr|avr|mai|may|ene|jun|jul|ago|aug|"
    r"sep|oct|okt|nov|dec|des|dez|déc|dic)"
)
_EPOCH = re.compile(r"n:(\d{10})(?:\d{3}){0,3}(?:\.\d+)?", re.ASCII)
_DATES: Mapping[int, re.Pattern[str]] = {
    Evidence.NUMBER: _DATED_NUMBER,
    Evidence.TEXT: _DATED,
}
# Parameters that tell where a link stood.
_REFERRAL = re.compile(r"(?:from|ref|referr?er|spm|via)=[^&]*", re.IGNORECASE)


class Example(NamedTuple):
    """Two items that the advice would make one: their URLs, and both values of each field."""

    url: str
    other: str
    values: Mapping[str, tuple[str, str]]


def has_meaning(field: str) -> bool:
    """Whether the name of a field tells what it is: a title, code, date, price, and so on."""
    return field.startswith(("(", PAGE)) or bool(name_of(field).marks)


def are_moments(examples: Sequence[Example]) -> bool:
    """Whether nearly all values are moments to the second: nobody else writes these."""
    return _share(_are_moments, examples) >= _CLEAR


def are_irrelevant(fields: Sequence[str], examples: Sequence[Example]) -> bool:
    """Whether fields without a known meaning tell nothing: two copies differ in nothing else.

    Counters and tokens have many different values, which are no part of the addresses.
    """
    if any(map(has_meaning, fields)):
        return False
    if are_moments(examples):
        return True
    return _share(_tells_nothing, examples) >= _CLEAR and all(
        _varies(name, examples) for name in fields
    )


def is_one_page(one: str, other: str) -> bool:
    """Whether two addresses differ only in what is known to lead to one page.

    Any other parameter may choose a variant, in whose field there is nothing else to be seen.
    """
    # Equal ones are those of items of one list.
    return one != other and _where(one) == _where(other)


def _where(url: str) -> tuple[str, list[str]]:
    path, _, query = place(url).partition("?")
    return path, [one for one in query.split("&") if one and not _REFERRAL.fullmatch(one)]


def _share(holds: Callable[[Example], bool], examples: Sequence[Example]) -> float:
    return sum(map(holds, examples)) / len(examples) if examples else 0.0


def _are_moments(example: Example) -> bool:
    return all(
        _is_to_the_second(fold(name_of(name), value))
        for name, values in example.values.items()
        for value in values
    )


def _is_to_the_second(folded: Folded | None) -> bool:
    if folded is None:
        return False
    if found := _EPOCH.fullmatch(folded.text):
        return int(found[1]) % 60 != 0 and is_moment(found[0].removeprefix("n:"))
    seconds = folded.time[2] if folded.time else ""
    return bool(seconds.strip("0."))


def _tells_nothing(example: Example) -> bool:
    """Whether the values are counters or random tokens."""
    for name, values in example.values.items():
        known = name_of(name)
        for value in values:
            folded = fold(known, value)
            if folded is None or not _MEANINGLESS.fullmatch(value):
                return False
            dated = _DATES.get(folded.kind)
            if dated is None or dated.search(folded.text):
                return False
    return True


def _varies(name: str, examples: Sequence[Example]) -> bool:
    """Whether the values of a field are many, and no part of the addresses."""
    values = [value for one in examples for value in one.values[name]]
    named = sum(bool({*one.values[name]} & {*_PART.findall(one.url)}) for one in examples)
    return len({*values}) >= _DISTINCT * len(values) and named <= _BY_CHANCE * len(examples)
