"""Tokenizers, and the lists and files of words that users give.

A digest of the content of each file is part of the id of a scheme.
"""

from __future__ import annotations

import importlib.util
import os
import re
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.loading import digest, import_path, is_import_path, load_object
from scrapy_simhash.visible import shortened

#: A word of the user's dictionary, its frequency and its part of speech.
UserWord = tuple[str, int | None, str | None]

# The most bytes of a file; the largest known files have a tenth of it.
_MOST_BYTES = 256 << 20


def read_file(option: str, path: str | os.PathLike[str]) -> bytes:
    """The content of a file that an option names."""
    try:
        # A named pipe would block.
        if Path(path).exists() and not Path(path).is_file():
            raise ValueError(f"{option}: {os.fspath(path)!r} is no file")
        with Path(path).open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{option}: cannot read {os.fspath(path)!r}: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{option}: {os.fspath(path)!r} has more than 256 MiB")
    return content


def read_lines(option: str, path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """The lines of a file that are not blank, stripped, each with its place."""
    lines = []
    for number, line in enumerate(read_file(option, path).removeprefix(BOM_UTF8).splitlines(), 1):
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
    name = "default:" if given == "default" else ""
    if name:
        given = Path(__file__).with_name("stop_words.txt")
    comment = "#" if isinstance(given, (str, os.PathLike)) else ()
    entries = _entries("stop_words", given)
    words = frozenset(word.lower() for _, word in entries if not word.startswith(comment))
    return words, name + digest(words) if words else "none"


def load_user_dictionary(given: Any) -> tuple[list[UserWord], str]:
    """Read a dictionary in jieba's format: a word and, if known, its frequency and its tag."""
    words = [_user_word(place, line) for place, line in _entries("user_dictionary", given)]
    return words, digest(words) if words else "none"


def _entries(option: str, given: Any) -> list[tuple[str, str]]:
    """The lines of a file, or the words of a list, each with its place."""
    if given is None:
        return []
    if isinstance(given, (str, os.PathLike)):
        return read_lines(option, given)
    if not isinstance(given, Collection) or isinstance(given, (bytes, Mapping)):
        raise TypeError(
            f"{option}: {given!r}; allowed are the path of a file, a list of words, None"
        )
    for word in given:
        if not isinstance(word, str) or not word.strip():
            raise TypeError(f"{option}: {word!r} is no word")
    return [(f"word {number}", word) for number, word in enumerate(given, 1)]


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


#: A word and its part of speech, "" if not needed.
Tagged = tuple[str, str]

#: Stands for a stop word, a space or punctuation.
LEFT_OUT: Tagged = ("", "")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A way to cut a text into words; `tag` also tells their parts of speech."""

    id: str  # with the version of the library and a digest of its dictionary
    cut: Callable[[str], Iterable[Tagged]]
    tag: Callable[[str], Iterable[Tagged]] | None = None
    # The characters of the shortest word with a weight. jieba's lists of word frequencies have no
    # single characters, which would count as the rarest words.
    shortest: int = 1


# Unknown ideographs in a text; more take over half a second.
_RARE = 50
_LONG_RUN = re.compile(r"(\w{500})")


def jieba_tokenizer(user_words: list[UserWord]) -> Tokenizer:
    """jieba, with words of the user."""
    words = tuple(user_words)

    def cut(text: str, hmm: bool) -> Iterator[Tagged]:
        return ((word, "") for word in _jieba_cutter(words).cut(text, HMM=hmm))

    def tag(text: str, hmm: bool) -> Iterator[Tagged]:
        tagger = _jieba_tagger(words)
        return map(tuple, tagger.cut(text, HMM=hmm and not _is_mostly_rare(text)))

    name = f"jieba/{version('jieba')}/{file_digest(jieba_directory() / 'dict.txt')}"
    return Tokenizer(name, _in_parts(cut), _in_parts(tag), shortest=2)


def jieba_directory() -> Path:
    """The folder of jieba and its dictionaries."""
    spec = importlib.util.find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ValueError("tokenizer: 'jieba' is not installed: pip install jieba")
    return Path(spec.origin).parent


def _in_parts(
    cut: Callable[[str, bool], Iterable[Tagged]],
) -> Callable[[str], Iterator[Tagged]]:
    """Search for words that no dictionary has, except in long runs without punctuation.

    The search takes time with the square of the length: one such page would block a crawl for
    hours.
    """

    def cut_in_parts(text: str) -> Iterator[Tagged]:
        for number, part in enumerate(_LONG_RUN.split(text)):
            yield from cut(part, number % 2 == 0)  # odd parts are the long runs

    return cut_in_parts


def _is_mostly_rare(text: str) -> bool:
    """Whether many characters are unknown to jieba's tagger, as in traditional Chinese.

    It takes 10 ms for each of them.
    """
    known = quietly_imported("jieba.posseg").char_state_tab_P
    rare = (sign for sign in text if "\u4e00" <= sign <= "\u9fd5" and sign not in known)
    return sum(1 for _ in islice(rare, _RARE + 1)) > _RARE


@cache
def _jieba_cutter(user_words: tuple[UserWord, ...]) -> Any:
    """A tokenizer of our own: other code may use jieba's global one."""
    tokenizer = quietly_imported("jieba").Tokenizer()
    # `initialize` logs, and trusts a file that anybody may have put into the directory of temporary
    # files, which it reads no faster.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    for word in user_words:
        tokenizer.add_word(*word)
    return tokenizer


@cache
def _jieba_tagger(user_words: tuple[UserWord, ...]) -> Any:
    """Like `_jieba_cutter`, with parts of speech."""
    return quietly_imported("jieba.posseg").POSTokenizer(_jieba_cutter(user_words))


def quietly_imported(name: str) -> Any:
    """Import jieba without its warnings; it is slow, and not needed before the first text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


TOKENIZERS = ("jieba", "words", "characters")


def load_tokenizer(given: Any, user_words: list[UserWord]) -> Tokenizer:
    """The tokenizer of a name, an import path or a function."""
    if given == "jieba":
        return jieba_tokenizer(user_words)
    if user_words:
        raise ValueError(f"user_dictionary: the tokenizer {given!r} has none; allowed with jieba")
    if given == "words":
        return Tokenizer("words/2", _untagged(tokens))
    if given == "characters":
        return Tokenizer("characters/2", _untagged(lambda text: "".join(tokens(text))))
    allowed = (
        f"{', '.join(TOKENIZERS)}, a function from a text to its words, or the import path "
        '"package.module:name" of one'
    )
    if isinstance(given, str):
        if not is_import_path(given):
            raise ValueError(f"tokenizer: there is no {given!r}; allowed are {allowed}")
        given = load_object("tokenizer", given)
    if not callable(given):
        raise TypeError(f"tokenizer: {given!r}; allowed are {allowed}")
    return Tokenizer(import_path(given), _untagged(given))


def _untagged(cut: Callable[[str], Iterable[str]]) -> Callable[[str], Iterator[Tagged]]:
    return lambda text: ((word, "") for word in cut(text))
