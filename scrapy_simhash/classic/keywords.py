"""Text to keywords and their weights: the features of the classic pipeline.

Segment the text, leave out stop words, weigh the words, keep the heaviest. jieba is imported, and
its dictionary loaded, when the first text comes.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import os
import re
import stat
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scrapy_simhash.classic.hashes import digest, import_path, load_object
from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.simhash.measure import check_weights

__all__ = ["Extraction", "Extractor"]

Tagged = tuple[str, str]  # a word and its part of speech, "" where nobody asked for it
_LEFT_OUT: Tagged = ("", "")  # keeps the place of a stop word, a space or a mark
UserWord = tuple[str, int | None, str | None]  # a word, its frequency, its part of speech

TOKENIZERS = ("jieba", "rjieba", "words", "characters")
WEIGHTS = ("levels", "tf", "tfidf", "textrank", "pos")

#: What a word counts by its part of speech, in jieba's tags: the longest prefix of the tag decides.
#: Names tell most about a text, then other nouns, then verbs; function words nothing.
PARTS_OF_SPEECH: Mapping[str, int] = {
    **dict.fromkeys(("nr", "ns", "nt", "nz"), 5),
    **dict.fromkeys(("n", "eng"), 4),
    **dict.fromkeys(("v", "j", "i", "l"), 3),
    **dict.fromkeys(("a", "b", "t", "s"), 2),
    **dict.fromkeys(("m", "q", "d", "f", "z"), 1),
}
_TEXTRANK_PARTS = frozenset({"ns", "n", "vn", "v"})
_LEVELS = 5
_LONG_RUN = re.compile(r"(\w{500})")
_LATIN_PARTS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")


@dataclass(frozen=True, slots=True)
class Extraction:
    """How the keywords of a text were found.

    Attributes:
        tokens: The words of the text in its order, without punctuation and spaces.
        left_out: Those of them that are stop words.
        weights: The weight of every word that has one, in the order of the text.
        keywords: The chosen ones, the heaviest first.
    """

    tokens: list[str]
    left_out: list[str]
    weights: dict[str, float]
    keywords: dict[str, float]


class Extractor:
    """Finds the keywords of a text and weighs them.

    Attributes:
        id: Everything that has a say in it, with versions and digests of the dictionaries.
    """

    def __init__(
        self,
        *,
        tokenizer: str | Callable[[str], Iterable[str]] = "jieba",
        user_dictionary: str | os.PathLike[str] | Collection[str] | None = None,
        stop_words: str | os.PathLike[str] | Collection[str] | None = "default",
        weights: str | Mapping[str, float] = "tfidf",
        idf: str | os.PathLike[str] | None = None,
        top: int | str | None = "adaptive",
    ) -> None:
        """Check the options and read the small files; see the scheme `Keywords` for what they mean.

        Raises:
            TypeError: If an option is of the wrong type.
            ValueError: If an option is wrong; names it, its value and what is allowed.
        """
        user_words, user_id = _load_user_dictionary(user_dictionary)
        cutter = _load_tokenizer(tokenizer, user_words)
        self._stop_words, stop_id = _load_stop_words(stop_words)
        self._weigh, weights_id = _load_weights(weights, cutter, idf)
        needs_tags = weights in ("pos", "textrank")
        self._cut = cutter.tag if needs_tags and cutter.tag else cutter.cut
        self._top = _check_top(top)
        self.id = (
            f"tokenizer={cutter.id} user_dictionary={user_id} stop_words={stop_id} "
            f"weights={weights_id} top={'all' if top is None else top}"
        )

    def extract(self, text: str) -> Extraction:
        """Find the keywords of a text, and say how."""
        words: list[str] = []
        left_out: list[str] = []
        kept: list[Tagged] = []
        for word, tag in self._cut(text):
            keep = word.isalnum() or any(map(str.isalnum, word))
            if keep:
                words.append(word)
                if word.lower() in self._stop_words:
                    left_out.append(word)
                    keep = False
            kept.append((word, tag) if keep else _LEFT_OUT)
        weights = self._weigh(kept)
        # Of equally heavy words the choice must not depend on where they stand in the text.
        heaviest = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))
        if self._top == "adaptive":
            count: int | None = max(5, min(200, len(text.encode("utf-8", "replace")) // 120))
        else:
            count = self._top
        return Extraction(words, left_out, weights, dict(heaviest[:count]))


def _check_top(top: Any) -> Any:
    if top is None or top == "adaptive":
        return top
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ValueError(
            f"top: {top!r}; allowed are a number from 1, 'adaptive' (one keyword for 120 bytes of "
            "text, 5 to 200), or None for all"
        )
    return top


# Files


def _read(option: str, path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{option}: cannot read {os.fspath(path)!r}: {error.strerror}") from error


def _lines(option: str, path: str | os.PathLike[str], content: bytes) -> list[str]:
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{option}: {os.fspath(path)!r} is not UTF-8: {error}") from error
    return [line for line in map(str.strip, lines) if line]


def _load_stop_words(given: Any) -> tuple[frozenset[str], str]:
    if given is None:
        return frozenset(), "none"
    name = ""
    if given == "default":
        given, name = Path(__file__).with_name("stop_words.txt"), "default:"
    if isinstance(given, (str, os.PathLike)):
        lines = _lines("stop_words", given, _read("stop_words", given))
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


def _load_user_dictionary(given: Any) -> tuple[list[UserWord], str]:
    """Read a dictionary in jieba's format: a word and, if known, its frequency and its tag."""
    if given is None:
        return [], "none"
    if isinstance(given, (str, os.PathLike)):
        lines = _lines("user_dictionary", given, _read("user_dictionary", given))
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


@cache
def _inverse_frequencies(path: Path, identity: str) -> tuple[dict[str, float], float]:
    """Inverse document frequencies, and their median, which stands for words without one.

    The identity is that of the content: a file that has changed is read anew.
    """
    frequencies = {}
    for line in _lines("idf", path, _read("idf", path)):
        word, _, number = line.rpartition(" ")
        try:
            frequencies[word] = float(number)
        except ValueError:
            word = ""
        if not word or not math.isfinite(frequencies[word]):
            raise ValueError(f"idf: the line {line!r} of {str(path)!r} is no word and a number")
    if not frequencies:
        raise ValueError(f"idf: {str(path)!r} holds no word")
    return frequencies, sorted(frequencies.values())[len(frequencies) // 2]


@cache
def _file_digest(path: Path) -> str:
    return digest(path.read_bytes())


# Tokenizers


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """A way to cut a text.

    Attributes:
        id: With the version of what cuts and a digest of its dictionary.
        cut: From a text to its words, "" for the tags.
        tag: The same with their parts of speech, where it knows them.
        shortest: The length from which its words say something by themselves. jieba's lists of
            word frequencies hold no single characters, which would pass for the rarest words.
    """

    id: str
    cut: Callable[[str], Iterable[Tagged]]
    tag: Callable[[str], Iterable[Tagged]] | None = None
    shortest: int = 1


def _load_tokenizer(given: Any, user_words: list[UserWord]) -> _Tokenizer:
    if given == "jieba":
        return _jieba_tokenizer(user_words)
    if given == "rjieba":
        return _rjieba_tokenizer(user_words)
    if user_words:
        raise ValueError(
            f"user_dictionary: the tokenizer {given!r} has none; allowed with jieba and rjieba"
        )
    if given == "words":
        return _Tokenizer("words", _untagged(tokens))
    if given == "characters":
        return _Tokenizer("characters", _untagged(lambda text: "".join(tokens(text))))
    allowed = (
        f"{', '.join(TOKENIZERS)}, a function from a text to its words, or the import path "
        '"package.module:name" of one'
    )
    if isinstance(given, str):
        if ":" not in given:
            raise ValueError(f"tokenizer: there is no {given!r}; allowed are {allowed}")
        given = load_object("tokenizer", given)
    if not callable(given):
        raise TypeError(f"tokenizer: {given!r}; allowed are {allowed}")
    return _Tokenizer(import_path(given), _untagged(given))


def _untagged(cut: Callable[[str], Iterable[str]]) -> Callable[[str], Iterator[Tagged]]:
    return lambda text: ((word, "") for word in cut(text))


def _jieba_tokenizer(user_words: list[UserWord]) -> _Tokenizer:
    package = _jieba_directory()
    words = tuple(user_words)
    return _Tokenizer(
        f"jieba/{version('jieba')}/{_file_digest(package / 'dict.txt')}",
        _in_parts(lambda text, hmm: ((word, "") for word in _jieba(words).cut(text, HMM=hmm))),
        _in_parts(lambda text, hmm: map(tuple, _jieba_tagger(words).cut(text, HMM=hmm))),
        shortest=2,
    )


def _rjieba_tokenizer(user_words: list[UserWord]) -> _Tokenizer:
    if importlib.util.find_spec("rjieba") is None:
        raise ValueError(
            "tokenizer: 'rjieba' is not installed: pip install rjieba, or take 'jieba', which is "
            "slower"
        )
    words = tuple(user_words)
    return _Tokenizer(
        f"rjieba/{version('rjieba')}",
        _in_parts(
            lambda text, hmm: _split_as_jieba(
                _rjieba(words), ((word, "") for word in _rjieba(words).cut(text, hmm))
            )
        ),
        _in_parts(lambda text, hmm: _split_as_jieba(_rjieba(words), _rjieba(words).tag(text, hmm))),
        shortest=2,
    )


def _in_parts(
    cut: Callable[[str, bool], Iterable[Tagged]],
) -> Callable[[str], Iterator[Tagged]]:
    """Spare what goes on for long without a mark the search for words that no dictionary has.

    Its time grows with the square of the length: one such page would stop a crawl for hours.
    """

    def cut_in_parts(text: str) -> Iterator[Tagged]:
        for number, part in enumerate(_LONG_RUN.split(text)):
            yield from cut(part, number % 2 == 0)  # the odd ones are the long runs

    return cut_in_parts


def _split_as_jieba(cutter: Any, tagged: Iterable[Tagged]) -> Iterator[Tagged]:
    """Take "event-listeners" and "main.rs" apart as jieba does, unless the dictionary has them."""
    for word, tag in tagged:
        if not _LATIN_PARTS.search(word) or word.isalnum() or cutter.has_word(word):
            yield word, tag
        else:
            yield from ((part, tag) for part in _LATIN_PARTS.split(word) if part)


@cache
def _rjieba(user_words: tuple[UserWord, ...]) -> Any:
    import rjieba  # noqa: PLC0415  (an optional dependency)

    cutter = rjieba.Jieba()
    for word, frequency, tag in user_words:
        cutter.add_word(word, frequency, tag)
    return cutter


def _jieba_directory() -> Path:
    spec = importlib.util.find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ValueError("tokenizer: 'jieba' is not installed: pip install jieba")
    return Path(spec.origin).parent


@cache
def _jieba(user_words: tuple[UserWord, ...]) -> Any:
    """A tokenizer of our own: what is added to jieba's global one shows in everybody's texts."""
    with _quiet_jieba() as jieba, _jieba_cache() as directory:
        tokenizer = jieba.Tokenizer()
        tokenizer.tmp_dir = str(directory)
        tokenizer.cache_file = f"jieba-{_file_digest(_jieba_directory() / 'dict.txt')}.cache"
        tokenizer.initialize()
        for word, frequency, tag in user_words:
            tokenizer.add_word(word, frequency, tag)
    return tokenizer


@cache
def _jieba_tagger(user_words: tuple[UserWord, ...]) -> Any:
    tokenizer = _jieba(user_words)
    with _quiet_jieba():
        from jieba.posseg import POSTokenizer  # noqa: PLC0415

        return POSTokenizer(tokenizer)


@contextmanager
def _quiet_jieba() -> Iterator[Any]:
    """Import jieba without the warnings about its old Python, and silence its log meanwhile."""
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
    """A directory for jieba's compiled dictionary that nobody else can write to.

    jieba trusts the file that it finds there. Where the user has no such directory, it is compiled
    anew each time, in a temporary one.
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


# Weights


Weigh = Callable[[Sequence[Tagged]], dict[str, float]]
"""From the words of a text and their tags, with `_LEFT_OUT` for what does not count, to weights."""

LoadIdf = Callable[[], tuple[dict[str, float], float]]


def _load_weights(given: Any, tokenizer: _Tokenizer, idf: Any) -> tuple[Weigh, str]:
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
        path = _jieba_directory() / "analyse" / "idf.txt" if idf is None else Path(idf)
        identity = _file_digest(path) if idf is None else digest(_read("idf", path))
        load = partial(_inverse_frequencies, path, identity)
        if idf is not None:
            load()  # a mistake in the user's file is to show now
        weigh = _tfidf if given == "tfidf" else _levels
        return partial(weigh, idf=load, shortest=tokenizer.shortest), f"{given}/{identity}"
    if tokenizer.tag is None:
        raise ValueError(
            f"weights: {given!r} needs parts of speech, which the tokenizer {tokenizer.id!r} does "
            "not know; allowed with jieba and rjieba"
        )
    if given == "pos":
        return _by_part_of_speech, "pos"
    return partial(_textrank, shortest=tokenizer.shortest), "textrank"


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
    """TextRank as jieba computes it (Mihalcea and Tarau, "TextRank", EMNLP 2004).

    Words within five of each other are neighbours; ten rounds of PageRank with a damping of .85.
    """
    good = [word if tag in _TEXTRANK_PARTS and len(word) >= shortest else "" for word, tag in words]
    together = Counter(
        (word, other)
        for place, word in enumerate(good)
        if word
        for other in good[place + 1 : place + 5]
        if other
    )
    neighbours: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (word, other), count in together.items():
        neighbours[word].append((other, count))
        neighbours[other].append((word, count))
    if not neighbours:
        return {}
    total = {word: sum(count for _, count in others) for word, others in neighbours.items()}
    rank = dict.fromkeys(neighbours, 1 / len(neighbours))
    in_order = sorted(neighbours)
    for _ in range(10):
        for word in in_order:
            received = sum(count / total[other] * rank[other] for other, count in neighbours[word])
            rank[word] = 0.15 + 0.85 * received
    floor = min(rank.values()) / 10
    span = max(rank.values()) - floor
    return {word: (value - floor) / span for word, value in rank.items()}
