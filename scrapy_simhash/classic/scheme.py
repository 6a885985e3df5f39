"""The classic scheme: fingerprints of the weighted keywords of a text.

Segment the text, leave out stop words, weigh the words, keep the heaviest. jieba is imported, and
its dictionary loaded, with the first text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Self

from scrapy_simhash.classic.files import load_stop_words, load_user_dictionary
from scrapy_simhash.classic.hashes import HASHES, FeatureHash, load_hash, with_secret
from scrapy_simhash.classic.tokenizers import LEFT_OUT, Tagged, load_tokenizer
from scrapy_simhash.classic.weights import load_weights
from scrapy_simhash.simhash.majority import bit_sums, check_tie, signs
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part


@dataclass(frozen=True, slots=True)
class Extraction:
    """How the keywords of a text were found."""

    tokens: list[str]  # without punctuation and spaces
    left_out: list[str]  # the stop words among them
    weights: dict[str, float]  # in the order of the text
    keywords: dict[str, float]  # the heaviest first


def _check_top(top: Any) -> None:
    is_number = isinstance(top, int) and not isinstance(top, bool) and top >= 1
    if not (is_number or top is None or top == "adaptive"):
        raise ValueError(
            f"top: {top!r}; allowed are a number from 1, 'adaptive' (one keyword for 120 bytes of "
            "text, 5 to 200), or None for all"
        )


class Keywords:
    """The classic scheme: the weighted keywords of a text, as the literature describes SimHash.

    The literature calls a distance of up to 3 on 64 bits a duplicate. That finds texts that are
    nearly equal: a few changed words may already change the keywords.
    """

    distance: ClassVar[int] = 3
    # jieba takes up to a second for 100,000 characters, which would block a crawl.
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
        user_words, user_id = load_user_dictionary(user_dictionary)
        cutter = load_tokenizer(tokenizer, user_words)
        self._stop_words, stop_id = load_stop_words(stop_words)
        self._weigh, weights_id = load_weights(weights, cutter, idf)
        needs_tags = weights in ("pos", "textrank")
        self._cut = cutter.tag if needs_tags and cutter.tag else cutter.cut
        _check_top(top)
        self._top = top
        self._tie = tie
        self.bits = bits
        # Names all that influences the result.
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
        made = copy(self)
        made._secret = secret
        made.id = f"{self._public_id} {key_part(secret)}"
        return made

    def extract(self, text: str) -> Extraction:
        """Find the keywords of a text."""
        words, left_out = list[str](), list[str]()
        kept: list[Tagged] = []
        for word, tag in self._cut(text):
            keep = word.isalnum() or any(map(str.isalnum, word))
            if keep:
                words.append(word)
                if word.lower() in self._stop_words:
                    left_out.append(word)
                    keep = False
            kept.append((word, tag) if keep else LEFT_OUT)
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
        words, weights, hashes = self._hashed(extraction.keywords)
        if not words:
            return Sketch(None, 0, None)
        sums = bit_sums(hashes, weights, self.bits)
        # All words with a weight: five keywords of a long text tell more than five of a short one.
        return Sketch(signs(sums, self._tie), len(extraction.weights), None)

    def explain(self, text: str) -> Explanation:
        """The steps from a text to its fingerprint."""
        extraction = self.extract(text)
        words, weights, hashes = self._hashed(extraction.keywords)
        sums = bit_sums(hashes, weights, self.bits)
        return Explanation(
            self.id,
            self.bits,
            extraction.tokens,
            extraction.left_out,
            list(map(Feature, words, weights, hashes)),
            sums[::-1].tolist(),
            signs(sums, self._tie) if words else None,
        )

    def _hashed(self, keywords: Mapping[str, float]) -> tuple[list[str], list[float], list[int]]:
        """The keywords that count, their weights and their hashes."""
        words, weights, hashes = [], [], []
        for word, weight in keywords.items():
            value = self._hash(word)
            if weight and value is not None:
                if self._secret:
                    value = with_secret(value, self.bits, self._secret)
                words.append(word)
                weights.append(weight)
                hashes.append(value)
        return words, weights, hashes
