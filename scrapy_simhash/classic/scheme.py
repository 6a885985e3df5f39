"""The classic scheme: fingerprints of the weighted keywords of a text.

A text is segmented, stop words are left out, the other words are weighed and the heaviest are kept.
jieba is imported, and its dictionary loaded, with the first text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy_simhash.classic import words as of_words
from scrapy_simhash.classic.hashes import HASHES, FeatureHash, load_hash, with_secret
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
from scrapy_simhash.simhash.measure import distance
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part
from scrapy_simhash.simhash.shingles import bit_sums, check_tie, check_weights, signs
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Extraction:
    """The keywords of a text, and the steps to them."""

    tokens: list[str]  # without punctuation and spaces
    left_out: list[str]  # the stop words among them
    weights: dict[str, float]  # in the order of the text
    keywords: dict[str, float]  # the heaviest first


class Keywords:
    """The classic scheme: the weighted keywords of a text, as the literature describes SimHash.

    The literature calls a distance of up to 3 on 64 bits a duplicate. That finds texts that are
    nearly equal: a few changed words may already change the keywords.
    """

    distance: ClassVar[int] = 3
    # Longer texts would block a crawl: jieba takes up to a second for 100,000 characters.
    max_text: ClassVar[int] = 100_000

    def __init__(
        self,
        *,
        tokenizer: str | Callable[[str], Iterable[str]] = "jieba",
        user_dictionary: str | PathLike[str] | Collection[str] | None = None,
        stop_words: str | PathLike[str] | Collection[str] | None = "default",
        weights: str | Mapping[str, float] = "tfidf",
        idf: str | PathLike[str] | None = None,
        top: int | str | None = "adaptive",
        hash: str | Mapping[str, int] | FeatureHash = "fnv1a",  # noqa: A002
        bits: int = 64,
        tie: str = ">",
    ) -> None:
        """Check the options and read the small files. jieba is loaded with the first text.

        ``docs/classic.md`` has a table of the options. A TypeError or ValueError names a wrong one,
        its value and what is allowed.
        """
        check_tie(tie)
        hash_id, self._hash = load_hash(hash, bits)
        user_words, user_id = of_words.load_user_dictionary(user_dictionary)
        cutter = of_words.load_tokenizer(tokenizer, user_words)
        self._stop_words, stop_id = of_words.load_stop_words(stop_words)
        self._weigh, weights_id = load_weights(weights, cutter, idf)
        needs_tags = weights in ("pos", "textrank")
        self._cut = cutter.tag if needs_tags and cutter.tag else cutter.cut
        is_number = isinstance(top, int) and not isinstance(top, bool) and top >= 1
        if not (is_number or top is None or top == "adaptive"):
            raise ValueError(
                f"top: {top!r}; allowed are a number from 1, 'adaptive' (one keyword for 120 bytes "
                "of text, 5 to 200), or None for all"
            )
        self._top = top
        self._tie = tie
        self.bits = bits
        # Everything that influences the result.
        self._public_id = (
            f"keywords/1 tokenizer={cutter.id} user_dictionary={user_id} stop_words={stop_id} "
            f"weights={weights_id} top={'all' if top is None else top} hash={hash_id} bits={bits} "
            f"tie={tie}"
        )
        self._is_public = isinstance(hash, str) and hash in HASHES
        self._secret = b""
        self.id = self._public_id

    def keyed(self, secret: bytes) -> Self:
        """The scheme keyed with the secret of a database; a hash of the user's own is not keyed."""
        if not self._is_public:
            return self
        scheme = copy(self)
        scheme._secret = secret
        scheme.id = f"{self._public_id} {key_part(secret)}"
        return scheme

    def extract(self, text: str) -> Extraction:
        """Find the keywords of a text."""
        words, left_out = list[str](), list[str]()
        kept: list[of_words.Tagged] = []
        for word, tag in self._cut(text):
            keep = word.isalnum() or any(map(str.isalnum, word))
            if keep:
                words.append(word)
                if word.lower() in self._stop_words:
                    left_out.append(word)
                    keep = False
            kept.append((word, tag) if keep else of_words.LEFT_OUT)
        weights = self._weigh(kept)
        # The choice among equally heavy words must not depend on their order in the text.
        heaviest = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))
        if self._top == "adaptive":
            count: Any = max(5, min(200, len(text.encode("utf-8", "replace")) // 120))
        else:
            count = self._top
        return Extraction(words, left_out, weights, dict(heaviest[:count]))

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint."""
        extraction = self.extract(text)
        features = _features(extraction.keywords, self._hash_of)
        # All words with a weight count: five keywords of a long text tell more than five of a short
        # text.
        size = len(extraction.weights) if features else 0
        return Sketch(_fingerprint(features, self.bits, self._tie), size, None)

    def explain(self, text: str) -> Explanation:
        """The steps from a text to its fingerprint."""
        extraction = self.extract(text)
        features = _features(extraction.keywords, self._hash_of)
        return Explanation(
            scheme=self.id,
            bits=self.bits,
            tokens=extraction.tokens,
            left_out=extraction.left_out,
            features=features,
            sums=_sums(features, self.bits)[::-1].tolist(),
            fingerprint=_fingerprint(features, self.bits, self._tie),
        )

    def _hash_of(self, word: str) -> int | None:
        value = self._hash(word)
        if value is None or not self._secret:
            return value
        return with_secret(value, self.bits, self._secret)


def fingerprint_features(
    features: Mapping[Any, float],
    *,
    hash: str | Mapping[Any, int] | FeatureHash = "fnv1a",  # noqa: A002
    bits: int = 64,
    tie: str = ">",
) -> int | None:
    """The fingerprint of weighted features: SimHash as the literature describes it.

    Every feature is hashed; its weight is added for each bit of the hash that is 1 and subtracted
    for each that is 0; the signs of the sums are the fingerprint: the side of `bits` random
    hyperplanes on which the vector of the features lies.

    Args:
        features: A real weight for each feature: a word, or an argument of the mapping or function
            given as `hash`.
        hash: See `scrapy_simhash.classic.hashes.load_hash`.
        bits: The width of the fingerprint, 1 to 160.
        tie: The rule for a sum of 0: ">" makes it a 0, ">=" a 1.

    Returns:
        An unsigned integer, or None if no feature counts.
    """
    _, function = load_hash(hash, bits)
    check_tie(tie)
    check_weights(features)
    if isinstance(hash, str) and hash in HASHES:
        for feature in features:
            if not isinstance(feature, str):
                raise TypeError(
                    f"features: {feature!r} is no string, which the hash {hash!r} takes"
                )
    return _fingerprint(_features(features, function), bits, tie)


def _features(weights: Mapping[Any, float], function: FeatureHash) -> list[Feature]:
    """The features that count, with their hashes."""
    return [
        Feature(name, weight, value)
        for name, weight in weights.items()
        if weight and (value := function(name)) is not None
    ]


def _sums(features: Sequence[Feature], bits: int) -> NDArray[np.float64]:
    hashes, weights = (
        [feature.hash for feature in features],
        [feature.weight for feature in features],
    )
    return bit_sums(hashes, weights, bits)


def _fingerprint(features: Sequence[Feature], bits: int, tie: str) -> int | None:
    return signs(_sums(features, bits), tie) if features else None


def within(a: int, b: int, n: int = 3) -> bool:
    """Whether two fingerprints differ in at most `n` bits, like `isEqual` of the literature."""
    return distance(a, b) <= n


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
