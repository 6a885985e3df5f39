"""The classic scheme: fingerprints of the weighted keywords of a text.

A text is segmented, stop words are left out, the other words are weighed and the heaviest are kept.
jieba is imported, and its dictionary loaded, with the first text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy_simhash.classic import words as of_words
from scrapy_simhash.classic.hashes import HASHES, FeatureHash, load_hash, with_secret
from scrapy_simhash.classic.weights import load_weights
from scrapy_simhash.simhash.measure import distance
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part
from scrapy_simhash.simhash.shingles import bit_sums, check_tie, check_weights, signs

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
