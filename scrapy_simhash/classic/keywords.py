"""Text to keywords and their weights: the features of the classic pipeline.

Segment the text, leave out stop words, weigh the words, keep the heaviest. jieba is imported, and
its dictionary loaded, when the first text comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.classic.files import load_stop_words, load_user_dictionary
from scrapy_simhash.classic.tokenizers import load_tokenizer
from scrapy_simhash.classic.weights import load_weights
from scrapy_simhash.classic.words import LEFT_OUT

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from scrapy_simhash.classic.words import Tagged

__all__ = ["Extraction", "KeywordExtractor"]


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


class KeywordExtractor:
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
        user_words, user_id = load_user_dictionary(user_dictionary)
        cutter = load_tokenizer(tokenizer, user_words)
        self._stop_words, stop_id = load_stop_words(stop_words)
        self._weigh, weights_id = load_weights(weights, cutter, idf)
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
            kept.append((word, tag) if keep else LEFT_OUT)
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
