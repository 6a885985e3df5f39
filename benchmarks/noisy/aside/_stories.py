"""What several of these sites need: texts with a headline, and markup that all sites share."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from benchmarks.noisy.words import Words, slug


class Story(NamedTuple):
    """An article, before a template shows it."""

    number: int
    title: str
    texts: list[str]
    day: dt.datetime
    author: str

    @property
    def thing(self) -> str:
        return str(self.number)

    @property
    def slug(self) -> str:
        return slug(self.title)

    @property
    def teaser(self) -> str:
        return self.texts[0][:140].rsplit(" ", 1)[0] + "…"


def stories(words: Words, count: int, low: int = 150, high: int = 700) -> list[Story]:
    """Articles, each about a subject of its own."""
    authors = [words.person() for _ in range(6)]
    made = []
    for number in range(count):
        texts = words.paragraphs(low, high)
        author = words.random.choice(authors)
        made.append(Story(number, words.title(), texts, words.day(), author))
    return made


def ld(**data: Any) -> str:
    """Markup for machines, with `type` for "@type"."""
    named = {"@context": "https://schema.org", "@type": data.pop("type"), **data}
    return f'<script type="application/ld+json">{json.dumps(named, ensure_ascii=False)}</script>'


def og(**data: str) -> str:
    """OpenGraph markup; `published` and `modified` are times of an article."""
    times = {"published": "article:published_time", "modified": "article:modified_time"}
    return "\n".join(
        f'<meta property="{times.get(name, f"og:{name}")}" content="{value}">'
        for name, value in data.items()
    )


def menu(names: Iterable[str], prefix: str = "/", css: str = "") -> str:
    """A list of links."""
    items = "\n".join(f'<li><a href="{prefix}{slug(name)}/">{name}</a></li>' for name in names)
    return f'<ul class="{css}">{items}</ul>'


def some(random: Random, given: Sequence[Any], count: int) -> list[Any]:
    """So many of them, or all where there are fewer."""
    return random.sample(given, min(count, len(given)))


def hexadecimal(random: Random, digits: int = 12) -> str:
    return f"{random.getrandbits(4 * digits):0{digits}x}"
