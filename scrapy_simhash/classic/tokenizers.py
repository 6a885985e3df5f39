"""Ways to cut a text into words: jieba, rjieba, tokens, characters, functions."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from scrapy_simhash.classic.files import UserWord, file_digest
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.loading import import_path, is_import_path, load_object

#: A word and its part of speech, "" if not needed.
Tagged = tuple[str, str]

#: Stands for a stop word, a space or punctuation.
LEFT_OUT: Tagged = ("", "")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A way to cut a text into words; `tag` adds parts of speech."""

    id: str  # with the version of the library and a digest of its dictionary
    cut: Callable[[str], Iterable[Tagged]]
    tag: Callable[[str], Iterable[Tagged]] | None = None
    # The least length of words with a weight. jieba's lists of word frequencies have no single
    # characters, which would count as the rarest words.
    shortest: int = 1
    tagging: str = ""  # the version of the tags


_RARE = 50  # ideographs that are not known, in one text: half a second
_LONG_RUN = re.compile(r"(\w{500})")
_LATIN_PARTS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")


def jieba_tokenizer(user_words: list[UserWord]) -> Tokenizer:
    """jieba, with words of the user."""
    words = tuple(user_words)

    def cut(text: str, hmm: bool) -> Iterator[Tagged]:
        return ((word, "") for word in _jieba_cutter(words).cut(text, HMM=hmm))

    def tag(text: str, hmm: bool) -> Iterator[Tagged]:
        tagger = _jieba_tagger(words)  # first: it imports jieba without warnings
        return map(tuple, tagger.cut(text, HMM=hmm and not _is_mostly_rare(text)))

    name = f"jieba/{version('jieba')}/{file_digest(jieba_directory() / 'dict.txt')}"
    return Tokenizer(name, _in_parts(cut), _in_parts(tag), shortest=2, tagging="/2")


def rjieba_tokenizer(user_words: list[UserWord]) -> Tokenizer:
    """rjieba, with words of the user; it cuts as jieba does."""
    if importlib.util.find_spec("rjieba") is None:
        raise ValueError(
            "tokenizer: 'rjieba' is not installed: pip install rjieba, or take 'jieba', which is "
            "slower"
        )
    words = tuple(user_words)

    def cut(text: str, hmm: bool) -> Iterator[Tagged]:
        cutter = _rjieba_cutter(words)
        return _split_as_jieba(cutter, ((word, "") for word in cutter.cut(text, hmm)))

    def tag(text: str, hmm: bool) -> Iterator[Tagged]:
        cutter = _rjieba_cutter(words)
        return _split_as_jieba(cutter, cutter.tag(text, hmm))

    return Tokenizer(f"rjieba/{version('rjieba')}", _in_parts(cut), _in_parts(tag), shortest=2)


def jieba_directory() -> Path:
    """The folder of jieba and its dictionaries."""
    spec = importlib.util.find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ValueError("tokenizer: 'jieba' is not installed: pip install jieba")
    return Path(spec.origin).parent


def _in_parts(
    cut: Callable[[str, bool], Iterable[Tagged]],
) -> Callable[[str], Iterator[Tagged]]:
    """Do not search long runs without punctuation for words that no dictionary has.

    That takes the square of the length: one such page would block a crawl for hours.
    """

    def cut_in_parts(text: str) -> Iterator[Tagged]:
        for number, part in enumerate(_LONG_RUN.split(text)):
            yield from cut(part, number % 2 == 0)  # odd parts are the long runs

    return cut_in_parts


def _split_as_jieba(cutter: Any, tagged: Iterable[Tagged]) -> Iterator[Tagged]:
    """Split "event-listeners" and "main.rs" as jieba does, unless the dictionary has them."""
    for word, tag in tagged:
        if not _LATIN_PARTS.search(word) or word.isalnum() or cutter.has_word(word):
            yield word, tag
        else:
            yield from ((part, tag) for part in _LATIN_PARTS.split(word) if part)


def _is_mostly_rare(text: str) -> bool:
    """Whether many characters are unknown to jieba's tagger, as in traditional Chinese.

    Each of them takes 10 ms.
    """
    from jieba.posseg import char_state_tab_P  # noqa: PLC0415  (slow)

    rare = (one for one in text if "\u4e00" <= one <= "\u9fd5" and one not in char_state_tab_P)
    return sum(1 for _ in islice(rare, _RARE + 1)) > _RARE


@cache
def _rjieba_cutter(user_words: tuple[UserWord, ...]) -> Any:
    """A cutter of rjieba with these words in its dictionary."""
    import rjieba  # noqa: PLC0415  (an optional dependency)

    cutter = rjieba.Jieba()
    for word in user_words:
        cutter.add_word(*word)
    return cutter


@cache
def _jieba_cutter(user_words: tuple[UserWord, ...]) -> Any:
    """A tokenizer apart from jieba's global one, which other code may use."""
    with _quiet_jieba() as jieba, _jieba_cache() as directory:
        tokenizer = jieba.Tokenizer()
        tokenizer.tmp_dir = str(directory)
        tokenizer.cache_file = f"jieba-{file_digest(jieba_directory() / 'dict.txt')}.cache"
        tokenizer.initialize()
        for word in user_words:
            tokenizer.add_word(*word)
    return tokenizer


@cache
def _jieba_tagger(user_words: tuple[UserWord, ...]) -> Any:
    """As `_jieba_cutter`, with parts of speech."""
    tokenizer = _jieba_cutter(user_words)
    with _quiet_jieba():
        from jieba.posseg import POSTokenizer  # noqa: PLC0415

        return POSTokenizer(tokenizer)


@contextmanager
def _quiet_jieba() -> Iterator[Any]:
    """Import jieba without its deprecation warnings, and silence its log."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, SyntaxWarning, UserWarning):
            warnings.simplefilter("ignore", category)
        import jieba  # noqa: PLC0415  (slow, and not needed before the first text)

        logger = logging.getLogger("jieba")
        level = logger.level
        logger.setLevel(logging.CRITICAL + 1)
        try:
            yield jieba
        finally:
            logger.setLevel(level)


@contextmanager
def _jieba_cache() -> Iterator[Path]:
    """A directory for jieba's compiled dictionary that no other user can write to.

    jieba trusts the file in it. Without such a directory, a temporary one is used each time.
    """
    try:
        base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        directory = (Path(base) if base else Path.home() / ".cache") / "scrapy-simhash"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = _is_private(directory)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        private = False
    if private:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="scrapy-simhash-") as temporary:
        yield Path(temporary)


def _is_private(directory: Path) -> bool:
    status = directory.lstat()
    own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    others = hasattr(os, "getuid") and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return own and not others and stat.S_ISDIR(status.st_mode) and os.access(directory, os.W_OK)


TOKENIZERS = ("jieba", "rjieba", "words", "characters")


def load_tokenizer(given: Any, user_words: list[UserWord]) -> Tokenizer:
    """The tokenizer of a name, an import path or a function."""
    if given in ("jieba", "rjieba"):
        return (jieba_tokenizer if given == "jieba" else rjieba_tokenizer)(user_words)
    if user_words:
        raise ValueError(
            f"user_dictionary: the tokenizer {given!r} has none; allowed with jieba and rjieba"
        )
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
