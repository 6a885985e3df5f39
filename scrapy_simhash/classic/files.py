"""Files of words: stop words, user dictionaries, and what tells their contents apart."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.loading import digest

if TYPE_CHECKING:
    from typing import Any

    from scrapy_simhash.classic.words import UserWord

__all__ = ["file_digest", "load_stop_words", "load_user_dictionary", "read_file", "read_lines"]


def read_file(option: str, path: str | os.PathLike[str]) -> bytes:
    """The content of a file that an option names."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{option}: cannot read {os.fspath(path)!r}: {error.strerror}") from error


def read_lines(option: str, path: str | os.PathLike[str], content: bytes) -> list[str]:
    """Its lines in UTF-8, without space around them and without the empty ones."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{option}: {os.fspath(path)!r} is not UTF-8: {error}") from error
    return [line for line in map(str.strip, lines) if line]


@cache
def file_digest(path: Path) -> str:
    """A short name for the content of a file, read once."""
    return digest(path.read_bytes())


def load_stop_words(given: Any) -> tuple[frozenset[str], str]:
    """Stop words in lower case, and what to call them in the id of a scheme."""
    if given is None:
        return frozenset(), "none"
    name = ""
    if given == "default":
        given, name = Path(__file__).with_name("stop_words.txt"), "default:"
    if isinstance(given, (str, os.PathLike)):
        lines = read_lines("stop_words", given, read_file("stop_words", given))
        words = frozenset(line.lower() for line in lines if not line.startswith("#"))
    else:
        words = frozenset(word.lower() for word in _strings("stop_words", given))
    return words, name + digest(words) if words else "none"


def _strings(option: str, given: Any) -> list[str]:
    if not isinstance(given, Collection) or isinstance(given, (bytes, Mapping)):
        raise TypeError(
            f"{option}: {given!r}; allowed are the path of a file, a list of words, None"
        )
    for word in given:
        if not isinstance(word, str) or not word.strip():
            raise TypeError(f"{option}: {word!r} is no word")
    return list(given)


def load_user_dictionary(given: Any) -> tuple[list[UserWord], str]:
    """Read a dictionary in jieba's format: a word and, if known, its frequency and its tag."""
    if given is None:
        return [], "none"
    if isinstance(given, (str, os.PathLike)):
        lines = read_lines("user_dictionary", given, read_file("user_dictionary", given))
    else:
        lines = _strings("user_dictionary", given)
    words = [_user_word(line) for line in lines]
    return words, digest(words) if words else "none"


def _user_word(line: str) -> UserWord:
    word, *rest = line.split()
    frequency = int(rest.pop(0)) if rest and rest[0].isdecimal() else None
    tag = rest.pop(0) if rest else None
    if rest:
        raise ValueError(
            f"user_dictionary: the line {line!r} is not a word, a frequency and a part of speech"
        )
    return word, frequency, tag
