"""The scheme of the literature: the weighted keywords of a text."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self

from scrapy_simhash.classic.hashes import HASHES, load_hash, with_secret
from scrapy_simhash.classic.keywords import KeywordExtractor
from scrapy_simhash.simhash.majority import bit_sums, check_tie, signs
from scrapy_simhash.simhash.scheme import Explanation, Feature, Sketch, key_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from os import PathLike

    from scrapy_simhash.classic.hashes import FeatureHash

__all__ = ["Keywords"]


class Keywords:
    """The classic scheme: the weighted keywords of a text, as the literature describes SimHash.

    Distance 3 on 64 bits is what the literature calls a duplicate. It finds texts that are all but
    equal: a few changed words may already change which words are the keywords.
    """

    distance: ClassVar[int] = 3
    # jieba takes a second for 100,000 characters at worst, and would hold a crawl meanwhile.
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

        Args:
            tokenizer: "jieba"; "rjieba", its faster sibling, where that is installed; "words", runs
                of letters and digits and single ideographs, as the shingles scheme has them;
                "characters"; or a function from a text to its words, also by its import path.
            user_dictionary: More words for jieba, each with or without a frequency and a part of
                speech: a file with one a line, or a list of such lines.
            stop_words: Words to leave out: "default", a list for Chinese and English; a file with
                one a line; a list; or None.
            weights: "tf", how often a word occurs; "tfidf", that times its inverse document
                frequency; "levels", five equal steps of that; "textrank"; "pos", by the part of
                speech; or a mapping, whose words are then the only ones that count.
            idf: A file with a word and its inverse document frequency a line, instead of jieba's.
            top: How many of the heaviest words to keep: a number; "adaptive", one for 120 bytes of
                text but 5 to 200; or None for all.
            hash: See `scrapy_simhash.classic.hashes.load_hash`.
            bits: The width of the fingerprint, 1 to 160.
            tie: The rule for a sum of 0: ">" makes it a 0, ">=" a 1.

        Raises:
            TypeError: If an option is of the wrong type.
            ValueError: If an option is wrong; names it, its value and what is allowed.
        """
        check_tie(tie)
        hash_id, self._hash = load_hash(hash, bits)
        self._extractor = KeywordExtractor(
            tokenizer=tokenizer,
            user_dictionary=user_dictionary,
            stop_words=stop_words,
            weights=weights,
            idf=idf,
            top=top,
        )
        self._tie = tie
        self.bits = bits
        self._public_id = f"keywords/1 {self._extractor.id} hash={hash_id} bits={bits} tie={tie}"
        self._is_public = isinstance(hash, str) and hash in HASHES
        self._secret = b""
        self.id = self._public_id

    def keyed(self, secret: bytes) -> Self:
        """The scheme of a database: its fingerprints can't be told without the secret.

        A mapping or a function of your own says itself what a word is hashed to: nothing is done to
        that.
        """
        if not self._is_public:
            return self
        made = copy(self)
        made._secret = secret
        made.id = f"{self._public_id} {key_part(secret)}"
        return made

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint."""
        extraction = self._extractor.extract(text)
        words, weights, hashes = self._hashed(extraction.keywords)
        if not words:
            return Sketch(None, 0, None)
        sums = bit_sums(hashes, weights, self.bits)
        # Five keywords chosen of a long text say more than all five of a short one.
        return Sketch(signs(sums, self._tie), len(extraction.weights), None)

    def explain(self, text: str) -> Explanation:
        """Say how the fingerprint of a text comes about."""
        extraction = self._extractor.extract(text)
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
        """The words that count, their weights and their hashes."""
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
