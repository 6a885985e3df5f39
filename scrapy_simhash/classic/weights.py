"""The weights of the words of a text: tf, tf-idf, levels, part of speech, TextRank."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from scrapy_simhash.classic.words import (
    Tagged,
    Tokenizer,
    file_digest,
    jieba_directory,
    quietly_imported,
    read_file,
    read_lines,
)
from scrapy_simhash.loading import digest
from scrapy_simhash.simhash.shingles import check_weights
from scrapy_simhash.visible import shortened

WEIGHTS = ("levels", "tf", "tfidf", "textrank", "pos")

#: Weights by part of speech, for the longest known prefix of jieba's tag. Names tell most about a
#: text, then other nouns, then verbs; function words nothing.
PARTS_OF_SPEECH: Mapping[str, int] = {
    **dict.fromkeys(("nr", "ns", "nt", "nz"), 5),
    **dict.fromkeys(("n", "eng"), 4),
    **dict.fromkeys(("v", "j", "i", "l"), 3),
    **dict.fromkeys(("a", "b", "t", "s"), 2),
    **dict.fromkeys(("m", "q", "d", "f", "z"), 1),
}
_TEXTRANK_PARTS = frozenset({"ns", "n", "vn", "v"})
_LEVELS = 5

Weigh = Callable[[Sequence[Tagged]], dict[str, float]]
"""From tagged words, with `LEFT_OUT` for those that do not count, to weights."""

LoadIdf = Callable[[], tuple[dict[str, float], float]]


def load_weights(given: Any, tokenizer: Tokenizer, idf: Any) -> tuple[Weigh, str]:
    """A function that weighs words, and its name in the id of a scheme."""
    if idf is not None and given not in ("tfidf", "levels"):
        raise ValueError(f"idf: of no use with the weights {given!r}; allowed with tfidf, levels")
    if isinstance(given, Mapping):
        check_weights(given)
        table = {word: float(weight) for word, weight in given.items()}
        return (
            lambda words: {word: table[word] for word, _ in words if word in table},
            f"mapping:{digest(table)}",
        )
    if given not in WEIGHTS:
        raise ValueError(
            f"weights: {given!r}; allowed are {', '.join(WEIGHTS)} or a mapping from words to "
            "numbers"
        )
    if given == "tf":
        return _frequency, "tf"
    if given in ("tfidf", "levels"):
        path = jieba_directory() / "analyse" / "idf.txt" if idf is None else Path(idf)
        identity = file_digest(path) if idf is None else digest(read_file("idf", path))
        load = partial(_inverse_frequencies, path, identity)
        if idf is not None:
            load()  # report mistakes in the user's file now
        weigh = _tfidf if given == "tfidf" else _levels
        return partial(weigh, idf=load, shortest=tokenizer.shortest), f"{given}/{identity}"
    if tokenizer.tag is None:
        raise ValueError(
            f"weights: {given!r} needs parts of speech, which the tokenizer {tokenizer.id!r} does "
            "not know; allowed with jieba"
        )
    if given == "pos":
        return _by_part_of_speech, "pos/2"
    return partial(_textrank, shortest=tokenizer.shortest), "textrank/3"


# The largest inverse document frequency, which is a logarithm.
_GREATEST = 1e6


@cache
def _inverse_frequencies(path: Path, identity: str) -> tuple[dict[str, float], float]:
    """Inverse document frequencies, and their median for all other words.

    `identity` is a digest of the content, so that a file that has changed is read again.
    """
    frequencies = {}
    for place, line in read_lines("idf", path):
        word, _, number = line.rpartition(" ")
        try:
            frequencies[word] = float(number)
        except ValueError:
            word = ""
        # Sums of larger numbers are not exact. This excludes NaN too.
        if not word or not abs(frequencies[word]) <= _GREATEST:
            raise ValueError(
                f"idf: {place}: {shortened(line)!r} is no word and a number up to {_GREATEST:g}"
            )
    if not frequencies:
        raise ValueError(f"idf: {str(path)!r} holds no word")
    return frequencies, sorted(frequencies.values())[len(frequencies) // 2]


def _frequency(words: Sequence[Tagged]) -> dict[str, float]:
    return dict(Counter(word for word, _ in words if word))


def _tfidf(words: Sequence[Tagged], *, idf: LoadIdf, shortest: int) -> dict[str, float]:
    frequencies, median = idf()
    return {
        word: count * frequencies.get(word, median)
        for word, count in _frequency(words).items()
        if len(word) >= shortest
    }


def _levels(words: Sequence[Tagged], *, idf: LoadIdf, shortest: int) -> dict[str, float]:
    """Levels from 1 to 5, in equal steps up to the greatest tf-idf; 1 for single characters."""
    weights = _tfidf(words, idf=idf, shortest=shortest)
    step = max(weights.values(), default=0) / _LEVELS
    return {
        word: max(1, math.ceil(weights[word] / step)) if word in weights and step > 0 else 1
        for word in _frequency(words)
    }


def _by_part_of_speech(words: Sequence[Tagged]) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    for word, tag in words:
        prefixes = (tag[:length] for length in range(len(tag), 0, -1))
        level = next((PARTS_OF_SPEECH[p] for p in prefixes if p in PARTS_OF_SPEECH), 0)
        if word and level:
            weights[word] += level
    return dict(weights)


def _textrank(words: Sequence[Tagged], *, shortest: int) -> dict[str, float]:
    """TextRank as jieba has it (Mihalcea and Tarau, EMNLP 2004), of words within five."""
    ranked = [
        word if tag in _TEXTRANK_PARTS and len(word) >= shortest else "" for word, tag in words
    ]
    pairs = Counter(
        (word, neighbour)
        for place, word in enumerate(ranked)
        if word
        for neighbour in ranked[place + 1 : place + 5]
        if neighbour
    )
    graph = quietly_imported("jieba.analyse.textrank").UndirectWeightedGraph()
    for (first, second), count in pairs.items():
        graph.addEdge(first, second, count)
    return dict(graph.rank())
