"""What pages count, and how they tell a time: the words of `languages.toml`, by kind."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from scrapy_simhash.features.tokens import normal

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

#: Those with spaces between words, and those without; in Korean, words and counters stand together.
UNSPACED = ("ja", "ko", "zh")
SPACED = tuple(language for language in _TABLE if language not in UNSPACED)


def phrases(kind: str, *languages: str) -> set[str]:
    """The phrases of a kind in some languages, by default in all with spaces."""
    listed = (_TABLE[one].get(kind, "").split(", ") for one in languages or SPACED)
    return {normal(one, "NFKC").casefold() for phrases in listed for one in phrases if one}


def pattern(kind: str, *languages: str) -> str:
    """A regular expression for one of these phrases."""
    return one_of(phrases(kind, *languages))


def one_of(words: Iterable[str]) -> str:
    """A regular expression for one of some words, the longest first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


def ago(*languages: str, weeks: bool = True) -> set[str]:
    """What stands behind the number of a time relative to the download, as in "3 hours ago".

    For languages without spaces these are regular expressions. Weeks and months may be left out.
    """
    return {
        f"{unit}{' ?' if one == 'ko' else ' ' * (one in SPACED)}{word}".strip()
        for one in languages or SPACED
        for unit in phrases("units", one) | phrases("weeks" if weeks else "", one) or {""}
        for word in phrases("ago", one)
    }
