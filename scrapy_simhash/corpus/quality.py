"""Which of two copies is the better one.

Each criterion ranks a copy by a number, lower is better; the next criterion breaks ties.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.item.keys import item_url
from scrapy_simhash.item.urls import site

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Document

_LAST = (1 << 62) - 1
_OWN_SITE = "own-site="
_NAMES = ("https", "canonical", "longest", "earliest", "shortest-url")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a copy is preferred by: as the user wrote it, and the site that it names, if any."""

    name: str
    own_site: str = ""

    def rank(self, document: Document) -> int:
        """A number of 63 bits for a copy, lower is better."""
        url = item_url(document.key, document.url)
        match self.name:
            case "https":
                return int(not url.lower().startswith("https://"))
            case "canonical":
                return int(not document.canonical)
            case "longest":
                return -len(document.text or "")
            case "earliest":
                return _LAST if document.published is None else document.published
            case "shortest-url":
                return len(url) or _LAST
        return int(not url or site(url) != self.own_site)


def criteria_of(names: Iterable[str]) -> tuple[Criterion, ...]:
    """The criteria of names such as "own-site=news.example", "https", "longest".

    Raises:
        ValueError: a name is unknown; lists the known ones.
    """
    criteria = []
    for name in map(str.strip, names):
        own_site = name.removeprefix(_OWN_SITE) if name.startswith(_OWN_SITE) else ""
        if not own_site and name not in _NAMES:
            allowed = ", ".join([f"{_OWN_SITE}example.com", *_NAMES])
            raise ValueError(f"unknown criterion {name!r}; allowed are {allowed}")
        url = own_site if "://" in own_site else f"http://{own_site}/"
        criteria.append(Criterion(name, site(url) if own_site else ""))
    return tuple(criteria)
