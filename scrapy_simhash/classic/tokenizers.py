"""Ways to cut a text into words, found by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.classic.jieba import jieba_tokenizer, rjieba_tokenizer
from scrapy_simhash.classic.words import Tokenizer
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.loading import import_path, is_import_path, load_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from scrapy_simhash.classic.words import Tagged, UserWord

__all__ = ["TOKENIZERS", "load_tokenizer"]

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
