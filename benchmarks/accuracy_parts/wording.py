"""Words and prose that nobody has written, always the same for one seed."""

from __future__ import annotations

import random
from functools import lru_cache

__all__ = ["Writer"]

_HEADS = ("b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gl", "h", "j", "k", "l", "m", "n", "p")
_HEARTS = ("a", "e", "i", "o", "u", "ai", "ea", "oo", "ou")
_TAILS = ("", "", "b", "d", "g", "k", "l", "m", "n", "nd", "ng", "p", "r", "rn", "s", "st", "t")


class Writer:
    """Writes words as often as a language would: few of them make up most of a text."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self._words, self._often = _vocabulary()

    def words(self, count: int) -> list[str]:
        """Some words."""
        return self.random.choices(self._words, self._often, k=count)

    def prose(self, count: int) -> str:
        """Sentences of as many words."""
        words, sentences = self.words(count), []
        while words:
            length = self.random.randint(8, 18)
            sentences.append(" ".join(words[:length]).capitalize() + ".")
            words = words[length:]
        return " ".join(sentences)

    def name(self, count: int = 2) -> str:
        """A name of some rare words."""
        return " ".join(self.random.choices(self._words[-4000:], k=count)).title()


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[list[str], list[float]]:
    rng = random.Random("words")
    words: dict[str, None] = {}
    while len(words) < 6000:
        syllables = 1 if len(words) < 400 else rng.choice((2, 2, 3))
        word = "".join(
            rng.choice(_HEADS) + rng.choice(_HEARTS) + rng.choice(_TAILS) for _ in range(syllables)
        )
        words[word] = None
    return list(words), [1 / (rank + 3) for rank in range(len(words))]
