"""Files of words: stop words and user dictionaries, with digests of their contents."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from scrapy_simhash.loading import digest
from scrapy_simhash.visible import shortened

#: A word of the user's dictionary, its frequency and its part of speech.
UserWord = tuple[str, int | None, str | None]

# Bytes; the largest known files have a tenth of it.
_MOST = 256 << 20


def read_file(option: str, path: str | os.PathLike[str]) -> bytes:
    """The content of a file that an option names."""
    try:
        # A named pipe would block.
        if Path(path).exists() and not Path(path).is_file():
            raise ValueError(f"{option}: {os.fspath(path)!r} is no file")
        with Path(path).open("rb") as stream:
            content = stream.read(_MOST + 1)
    except OSError as error:
        raise ValueError(f"{option}: cannot read {os.fspath(path)!r}: {error.strerror}") from error
    if len(content) > _MOST:
        raise ValueError(f"{option}: {os.fspath(path)!r} has more than 256 MiB")
    return content


def read_lines(option: str, path: str | os.PathLike[str], content: bytes) -> list[tuple[str, str]]:
    """The lines of a file that are not blank, stripped, each with its place."""
    lines = []
    for number, line in enumerate(content.removeprefix(BOM_UTF8).splitlines(), 1):
        place = f"{os.fspath(path)}, line {number}"
        try:
            text = line.decode().strip()
        except UnicodeDecodeError as error:
            raise ValueError(f"{option}: {place} is not UTF-8: {error}") from error
        if text:
            lines.append((place, text))
    return lines


@cache
def file_digest(path: Path) -> str:
    """A short hash of the content of a file, read once."""
    return digest(path.read_bytes())


def load_stop_words(given: Any) -> tuple[frozenset[str], str]:
    """Stop words in lower case, and their name in the id of a scheme."""
    if given is None:
        return frozenset(), "none"
    name = ""
    if given == "default":
        given, name = Path(__file__).with_name("stop_words.txt"), "default:"
    if isinstance(given, (str, os.PathLike)):
        lines = read_lines("stop_words", given, read_file("stop_words", given))
        words = frozenset(line.lower() for _, line in lines if not line.startswith("#"))
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
        lines = [
            (f"word {n}", word) for n, word in enumerate(_strings("user_dictionary", given), 1)
        ]
    words = [_user_word(place, line) for place, line in lines]
    return words, digest(words) if words else "none"


def _user_word(place: str, line: str) -> UserWord:
    word, *rest = line.split()
    frequency = int(rest.pop(0)) if rest and rest[0].isdecimal() and len(rest[0]) < 16 else None
    tag = rest.pop(0) if rest else None
    if rest or (tag is not None and tag.isdecimal()):
        raise ValueError(
            f"user_dictionary: {place}: {shortened(line)!r} is not a word, a frequency of up to 15 "
            "digits and a part of speech"
        )
    return word, frequency, tag
