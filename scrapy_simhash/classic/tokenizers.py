"""Ways to cut a text into words, found by their names."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from typing import TYPE_CHECKING

from scrapy_simhash.classic.files import file_digest
from scrapy_simhash.classic.jieba import (
    Tokenizer,
    in_parts,
    jieba_cutter,
    jieba_directory,
    jieba_tagger,
    rjieba_cutter,
    split_as_jieba,
)
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.loading import import_path, is_import_path, load_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from scrapy_simhash.classic.jieba import Tagged, UserWord

__all__ = ["TOKENIZERS", "jieba_tokenizer", "load_tokenizer", "rjieba_tokenizer"]

TOKENIZERS = ("jieba", "rjieba", "words", "characters")


def load_tokenizer(given: Any, user_words: list[UserWord]) -> Tokenizer:
    """The tokenizer of a name, of an import path, or made of a function."""
    if given == "jieba":
        return jieba_tokenizer(user_words)
    if given == "rjieba":
        return rjieba_tokenizer(user_words)
    if user_words:
        raise ValueError(
            f"user_dictionary: the tokenizer {given!r} has none; allowed with jieba and rjieba"
        )
    if given == "words":
        return Tokenizer("words", _untagged(tokens))
    if given == "characters":
        return Tokenizer("characters", _untagged(lambda text: "".join(tokens(text))))
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


def jieba_tokenizer(user_words: list[UserWord]) -> Tokenizer:
    """jieba, with words of the user."""
    package = jieba_directory()
    words = tuple(user_words)
    return Tokenizer(
        f"jieba/{version('jieba')}/{file_digest(package / 'dict.txt')}",
        in_parts(lambda text, hmm: ((word, "") for word in jieba_cutter(words).cut(text, HMM=hmm))),
        in_parts(lambda text, hmm: map(tuple, jieba_tagger(words).cut(text, HMM=hmm))),
        shortest=2,
    )


def rjieba_tokenizer(user_words: list[UserWord]) -> Tokenizer:
    """rjieba, with words of the user; it cuts as jieba does."""
    if importlib.util.find_spec("rjieba") is None:
        raise ValueError(
            "tokenizer: 'rjieba' is not installed: pip install rjieba, or take 'jieba', which is "
            "slower"
        )
    words = tuple(user_words)
    return Tokenizer(
        f"rjieba/{version('rjieba')}",
        in_parts(
            lambda text, hmm: split_as_jieba(
                rjieba_cutter(words), ((word, "") for word in rjieba_cutter(words).cut(text, hmm))
            )
        ),
        in_parts(
            lambda text, hmm: split_as_jieba(
                rjieba_cutter(words), rjieba_cutter(words).tag(text, hmm)
            )
        ),
        shortest=2,
    )


def _untagged(cut: Callable[[str], Iterable[str]]) -> Callable[[str], Iterator[Tagged]]:
    return lambda text: ((word, "") for word in cut(text))
