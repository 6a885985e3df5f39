"""The words of `languages.toml` by kind: what pages count, and how they tell a time."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from scrapy_simhash.features.tokens import normal

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

#: Languages without spaces between words, or between a number and its counter, as in Korean.
UNSPACED = ("ja", "ko", "zh")
#: All other languages.
SPACED = tuple(language for language in _TABLE if language not in UNSPACED)


def phrases(kind: str, *languages: str) -> set[str]:
    """The phrases of a kind in these languages, or in all with spaces if none is named."""
    lists = (_TABLE[language].get(kind, "").split(", ") for language in languages or SPACED)
    return {normal(phrase, "NFKC").casefold() for phrases in lists for phrase in phrases if phrase}


def months() -> dict[str, int]:
    """The numbers of the months by their names."""
    years = (words["months"].split(", ") for words in _TABLE.values() if "months" in words)
    return {
        name: number
        for year in years
        for number, names in enumerate(year, start=1)
        for name in names.split()
    }


def pattern(kind: str, *languages: str) -> str:
    """A regular expression that matches any of these phrases."""
    return any_of(phrases(kind, *languages))


def any_of(words: Iterable[str]) -> str:
    """A regular expression that matches any of these words, the longest first."""
    ends: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: (-len(word), word)):
        ends.setdefault(word[0], []).append(word[1:])
    # By their first characters, which takes a tenth of the time.
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in ends.items())


def ago(*languages: str) -> set[str]:
    """What follows the number of a time relative to the download, such as " hours ago".

    For Korean these are regular expressions.
    """
    return {
        f"{unit}{' ?' if language == 'ko' else ' ' * (language in SPACED)}{word}".strip()
        for language in languages or SPACED
        for unit in phrases("units", language) or {""}
        for word in phrases("ago", language)
    }
