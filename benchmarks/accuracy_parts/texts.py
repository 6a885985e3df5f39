"""Pairs of texts: labelled ones, and texts that are edited in a known way."""

from __future__ import annotations

import json
import lzma
import random
import re
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.accuracy_parts.visits import HALVES, half_of
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.simhash.measure import jaccard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from benchmarks.peers import Matcher

__all__ = ["EDITS", "Pair", "accepted", "edited", "read_pairs"]

TEXTS = 60  # edited, of a language and a half
LENGTHS = (150, 1500)  # in tokens, of those

_SENTENCE = re.compile(r"[^.!?。！？\n]*[.!?。！？\n]+\s*|[^.!?。！？\n]+$")


class Pair(NamedTuple):
    """Two texts.

    Attributes:
        similarity: Jaccard, exact, of the pairs of tokens that the default scheme has.
        label: the similarity that the file gives, by longer shingles; that above for edited texts.
        length: the class of length, or the edit.
    """

    language: str
    length: str
    half: str
    a: str
    b: str
    similarity: float
    label: float


def read_pairs(path: Path) -> Iterator[Pair]:
    """The labelled pairs of a .jsonl file, compressed or not."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            pair = json.loads(line)
            a, b = pair["a"], pair["b"]
            yield Pair(
                pair["lang"], pair["length"], half_of(a), a, b, _alike(a, b), pair["jaccard"]
            )


def accepted(pair: Pair, matcher: Callable[[], Matcher]) -> bool:
    """Whether a matcher that knows one text of a pair takes the other one for a copy."""
    index = matcher()
    index.meet(0, pair.a)
    return index.meet(1, pair.b) is not None


def edited(pairs: Iterable[Pair], seed: int = 1) -> Iterator[Pair]:
    """Texts of the pairs, each edited in all ways; what is put in comes from another text."""
    texts: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        size = shingles(pair.a).size
        group = texts.setdefault((pair.language, pair.half), [])
        if LENGTHS[0] <= size <= LENGTHS[1] and pair.a not in group:
            group.append(pair.a)
    for language in sorted({language for language, _ in texts}):
        for half in HALVES:
            group = sorted(texts.get((language, half), []))
            rng = random.Random(f"{seed} {language} {half}")
            rng.shuffle(group)
            for number, text in enumerate(group[:TEXTS]):
                other = group[number - 1]
                for name, edit, share in EDITS:
                    new = edit(text, other, share, rng)
                    alike = _alike(text, new)
                    yield Pair(language, name, half, text, new, alike, alike)


def _sentences(text: str) -> list[str]:
    return _SENTENCE.findall(text) or [text]


def change_sentences(text: str, other: str, share: float, rng: random.Random) -> str:
    """Put sentences of the other text into the place of some."""
    sentences, source = _sentences(text), _sentences(other)
    for place in rng.sample(range(len(sentences)), max(1, round(share * len(sentences)))):
        sentences[place] = rng.choice(source)
    return "".join(sentences)


def replace_words(text: str, other: str, share: float, rng: random.Random) -> str:
    """Put words, or single ideographs, of the other text into the place of some."""
    pieces = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|.", text, re.DOTALL)
    source = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+", other)
    words = [place for place, piece in enumerate(pieces) if piece.isalnum()]
    for place in rng.sample(words, max(1, round(share * len(words)))):
        # A neighbour of its own would melt into a word that is spelt like one of many letters.
        pieces[place] = rng.choice(source)
    return "".join(pieces)


def move_paragraph(text: str, other: str, share: float, rng: random.Random) -> str:
    """Move some of the sentences, as a whole, to the end."""
    sentences = _sentences(text)
    length = max(1, round(share * len(sentences)))
    start = rng.randrange(len(sentences) - length + 1)
    moved = sentences[start : start + length]
    return " ".join([*sentences[:start], *sentences[start + length :], *moved])


def add_boilerplate(text: str, other: str, share: float, rng: random.Random) -> str:
    """Add so much of the other text, in letters, at the end."""
    return f"{text}\n{other[: max(1, round(share * len(text)))]}"


EDITS: tuple[tuple[str, Callable[[str, str, float, random.Random], str], float], ...] = (
    *(
        (f"{share:.0%} of the sentences changed", change_sentences, share)
        for share in (0.05, 0.1, 0.2)
    ),
    *(
        (f"{share:.0%} of the words replaced", replace_words, share)
        for share in (0.01, 0.02, 0.05, 0.1)
    ),
    ("a fifth of the sentences moved", move_paragraph, 0.2),
    *((f"{share:.0%} of boilerplate added", add_boilerplate, share) for share in (0.05, 0.1, 0.2)),
)


def _alike(a: str, b: str) -> float:
    return jaccard(shingles(a), shingles(b))
