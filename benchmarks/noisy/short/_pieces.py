"""Pieces of the pages of this set: short texts, and what stands around them."""

from __future__ import annotations

from random import Random

from benchmarks.noisy.words import Words


def post(words: Words, low: int, high: int) -> list[str]:
    """Paragraphs of a short text of so many characters in all."""
    words.subject(15)
    left, texts = words.random.randint(low, high), list[str]()
    between = "" if words.language == "zh" else " "
    while left > 0:
        sentences = [words.sentence(8, 20) for _ in range(words.random.randint(1, 3))]
        texts.append(between.join(sentences))
        left -= len(texts[-1])
    return texts


def links(words: Words, count: int, tag: str = "li", low: int = 5, high: int = 9) -> str:
    """Links to other pages, others at each request."""
    return "\n".join(
        f'<{tag}><a href="/{words.random.randint(10**4, 10**7)}.html">{words.title(low, high)}</a></{tag}>'
        for _ in range(count)
    )


def counted(random: Random, high: int = 900) -> int:
    return random.randint(0, high)


def menu(*names: str, css: str = "nav") -> str:
    return f'<ul class="{css}">' + "".join(f'<li><a href="/{n}/">{name}</a></li>' for n, name in enumerate(names)) + "</ul>"  # fmt: skip
