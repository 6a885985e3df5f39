"""Which fields may be ignored, because all that they tell is how copies differ.

Wrong advice loses items. So a field must have a name without a known meaning, unlike a price, a
title, a date or a code, and values that are times of a machine, counters or random tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scrapy_simhash.item.evidence import Evidence
from scrapy_simhash.item.facts import PAGE
from scrapy_simhash.item.folding import Folded, fold
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.times import is_moment
from scrapy_simhash.item.urls import place

#: Pairs of items that the advice about counters and tokens needs.
LEAST = 20

# The share of distinct values among the values of a field; fewer are a property, like a size.
_DISTINCT = 0.5
# The share of URLs that may have the value of a field by chance.
_BY_CHANCE = 0.1
_WORD = re.compile(r"[^\W_]+")
# The share of pairs whose values must tell nothing: a few random tokens look like dates.
_CLEAR = 0.9
# A counter or a random token. Words may tell what an item is.
_MEANINGLESS = re.compile(r"\d[\d., ]*|(?=[^\W_]*\d)[\w-]{8,}", re.ASCII)
# What may be a date or a time in a counter, and in a token: also a year, a day or a month.
_DATED_NUMBER = re.compile(r"\b(?:19|20|21)\d{6}\b|\b\d{9}")
_DATED = re.compile(
    rf"{_DATED_NUMBER.pattern}|\b(?:19|20|21)\d\d\b|\d[-.]\d\d?[-.]|"
    r"\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|fev|mar|mär|apr|abr|avr|mai|may|ene|jun|jul|ago|aug|"
    r"sep|oct|okt|nov|dec|des|dez|déc|dic)"
)
_EPOCH = re.compile(r"n:(\d{10})(?:\d{3}){0,3}(?:\.\d+)?", re.ASCII)
# Parameters that tell on which page a link was.
_REFERRAL = re.compile(r"(?:from|ref|referr?er|spm|via)=[^&]*", re.IGNORECASE)


class Example(NamedTuple):
    """Two items that the advice would make copies: their URLs, and both values of each field."""

    url: str
    other: str
    values: Mapping[str, tuple[str, str]]


def has_meaning(field: str) -> bool:
    """Whether the name of a field tells what it is, such as a title, a code, a date or a price."""
    return field.startswith(("(", PAGE)) or bool(name_of(field).marks)


def are_moments(examples: Sequence[Example]) -> bool:
    """Whether nearly all values are times with seconds, which only machines write."""
    return _share(_are_moments, examples) >= _CLEAR


def are_irrelevant(fields: Sequence[str], examples: Sequence[Example]) -> bool:
    """Whether fields by which copies differ have no known meaning, and values that tell nothing.

    Counters and tokens have many distinct values, which are no parts of URLs.
    """
    if any(map(has_meaning, fields)):
        return False
    if are_moments(examples):
        return True
    return _share(_tells_nothing, examples) >= _CLEAR and all(
        _varies(name, examples) for name in fields
    )


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


def _share(is_so: Callable[[Example], bool], examples: Sequence[Example]) -> float:
    """The share of examples for which a condition holds."""
    return sum(map(is_so, examples)) / len(examples) if examples else 0.0


def _are_moments(example: Example) -> bool:
    return all(
        _is_to_the_second(fold(name_of(name), value))
        for name, values in example.values.items()
        for value in values
    )


def _is_to_the_second(folded: Folded | None) -> bool:
    if folded is None:
        return False
    if match := _EPOCH.fullmatch(folded.text):
        return int(match[1]) % 60 != 0 and is_moment(match[0].removeprefix("n:"))
    seconds = folded.time[2] if folded.time else ""
    return bool(seconds.strip("0."))


def _tells_nothing(example: Example) -> bool:
    """Whether the values are counters or random tokens."""
    for name, values in example.values.items():
        for value in values:
            folded = fold(name_of(name), value)
            if folded is None or not _MEANINGLESS.fullmatch(value):
                return False
            date = _DATED_NUMBER if folded.text.startswith("n:") else _DATED
            if folded.kind != Evidence.TEXT or date.search(folded.text):
                return False
    return True


def _varies(name: str, examples: Sequence[Example]) -> bool:
    """Whether a field has many distinct values, which are no parts of URLs."""
    values = [value for example in examples for value in example.values[name]]
    in_urls = sum(
        not {*example.values[name]}.isdisjoint(_WORD.findall(example.url)) for example in examples
    )
    return len({*values}) >= _DISTINCT * len(values) and in_urls <= _BY_CHANCE * len(examples)
