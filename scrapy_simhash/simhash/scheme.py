"""Schemes: one named, versioned way from a text to its fingerprint."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from scrapy_simhash.classic.hashes import load_hash, load_object, mix64
from scrapy_simhash.classic.keywords import Extractor
from scrapy_simhash.features.tokens import shingle_names, shingles, tokens
from scrapy_simhash.simhash.explain import Explanation, Feature
from scrapy_simhash.simhash.measure import bit_sums, check_tie, majority, signs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from scrapy_simhash.classic.hashes import FeatureHash

__all__ = ["Keywords", "Scheme", "Shingles", "Sketch", "fingerprint", "load_scheme"]


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of a text in order to compare it.

    Attributes:
        fingerprint: An unsigned integer of the scheme's width; None for a text that has no
            feature, which is not to be compared with anything.
        size: How many distinct features the text has, of which a scheme may have chosen some.
        shingles: Their hashes, sorted, where the scheme has them: 64 bits, evenly spread.
    """

    fingerprint: int | None
    size: int
    shingles: NDArray[np.uint64] | None


class Scheme(Protocol):
    """A way from a text to its fingerprint."""

    @property
    def id(self) -> str:
        """Everything two fingerprints must share to be compared."""

    @property
    def bits(self) -> int:
        """The width of the fingerprints."""

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to what is compared."""


class Shingles:
    """The default scheme: the set of a text's pairs of neighbouring tokens, on 128 bits.

    The low 64 bits are what `shingles` hashes each pair to, the high ones a second mix of it.
    """

    # The number changes with anything that changes a fingerprint; the rest is for people.
    id: ClassVar[str] = "shingles/1 tokens=2 hash=poly+splitmix64 bits=128 tie=least fold=unicode14"
    bits: ClassVar[int] = 128

    _SECOND = np.uint64(0x9E3779B97F4A7C15)

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint and its shingles."""
        low = shingles(text)
        if not low.size:
            return Sketch(None, 0, low)
        return Sketch(majority(self._words(low)), low.size, low)

    def explain(self, text: str) -> Explanation:
        """Say how the fingerprint of a text comes about."""
        names = shingle_names(text)
        words = self._words(np.array(list(names.values()), np.uint64))
        hashes = [int(high) << 64 | int(low) for low, high in words]
        features = [Feature(name, 1, hash_) for name, hash_ in zip(names, hashes, strict=True)]
        sums = bit_sums(hashes, [1] * len(hashes), self.bits)
        made = self.sketch(text).fingerprint
        return Explanation(
            self.id, self.bits, tokens(text), [], features, sums[::-1].tolist(), made
        )

    def _words(self, low: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return np.stack([low, mix64(low + self._SECOND)], axis=1)


class Keywords:
    """The classic scheme: the weighted keywords of a text, as the literature describes SimHash.

    Distance 3 on 64 bits is what the literature calls a duplicate. It finds texts that are all but
    equal: a few changed words may already change which words are the keywords.
    """

    distance: ClassVar[int] = 3

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
        self._extractor = Extractor(
            tokenizer=tokenizer,
            user_dictionary=user_dictionary,
            stop_words=stop_words,
            weights=weights,
            idf=idf,
            top=top,
        )
        self._tie = tie
        self.bits = bits
        self.id = f"keywords/1 {self._extractor.id} hash={hash_id} bits={bits} tie={tie}"

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
                words.append(word)
                weights.append(weight)
                hashes.append(value)
        return words, weights, hashes


_SCHEMES: dict[str, Callable[..., Scheme]] = {"shingles": Shingles, "keywords": Keywords}


def load_scheme(name: str = "shingles", options: Mapping[str, Any] | None = None) -> Scheme:
    """Build a scheme from its name.

    Args:
        name: "shingles"; "keywords"; or the import path "package.module:Name" of a class or
            another callable that makes a scheme.
        options: Keyword arguments for it. "shingles" takes none; those of "keywords" are the
            arguments of `Keywords`.

    Raises:
        TypeError: If what the import path names cannot be called, or makes something else than a
            scheme.
        ValueError: If there is no such scheme, or it has no such option.
    """
    factory = _SCHEMES.get(name) or _imported(name)
    options = dict(options or {})
    parameters = inspect.signature(factory).parameters.values()
    allowed = [parameter.name for parameter in parameters]
    unknown = [option for option in options if option not in allowed]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        raise ValueError(
            f"the scheme {name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options: {', '.join(allowed) or 'none'}"
        )
    scheme = factory(**options)
    if not isinstance(getattr(scheme, "id", None), str):
        raise TypeError(f"{name!r} makes {scheme!r}, which is no scheme: its id must be a string")
    if not isinstance(getattr(scheme, "bits", None), int):
        raise TypeError(
            f"{name!r} makes {scheme!r}, which is no scheme: its bits must be an integer"
        )
    if not callable(getattr(scheme, "sketch", None)):
        raise TypeError(f"{name!r} makes {scheme!r}, which is no scheme: it must have sketch(text)")
    return scheme


def _imported(name: str) -> Callable[..., Scheme]:
    if ":" not in name:
        raise ValueError(
            f"there is no scheme {name!r}; there are {', '.join(map(repr, _SCHEMES))}, or the "
            'import path "package.module:Name" of one'
        )
    factory = load_object("scheme", name)
    if not callable(factory):
        raise TypeError(f"the scheme {name!r} is {factory!r}, not a class or another callable")
    return cast("Callable[..., Scheme]", factory)


def fingerprint(text: str) -> int | None:
    """The fingerprint of a text by the default scheme.

    Returns:
        An unsigned integer of 128 bits, or None for a text of fewer than two tokens.
    """
    return _DEFAULT.sketch(text).fingerprint


_DEFAULT = Shingles()
