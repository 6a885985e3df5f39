"""What the steps of the classic pipeline hand to each other: words, with their parts of speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["LEFT_OUT", "Tagged", "Tokenizer", "UserWord"]

#: A word and its part of speech, "" where nobody asked for it.
Tagged = tuple[str, str]

#: Keeps the place of a stop word, a space or a mark.
LEFT_OUT: Tagged = ("", "")

#: A word of the user's dictionary, its frequency and its part of speech.
UserWord = tuple[str, int | None, str | None]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A way to cut a text.

    Attributes:
        id: With the version of what cuts and a digest of its dictionary.
        cut: From a text to its words, "" for the tags.
        tag: The same with their parts of speech, where it knows them.
        shortest: The length from which its words say something by themselves. jieba's lists of
            word frequencies hold no single characters, which would pass for the rarest words.
        tagging: What the id of a scheme says of its tags.
    """

    id: str
    cut: Callable[[str], Iterable[Tagged]]
    tag: Callable[[str], Iterable[Tagged]] | None = None
    shortest: int = 1
    tagging: str = ""
