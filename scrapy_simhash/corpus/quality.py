"""Quality signals: which of two copies is the better one.

Each criterion ranks a copy by a number, lower is better; the next criterion breaks ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from scrapy_simhash.item.keys import item_url
from scrapy_simhash.item.urls import site

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Document

_LAST = (1 << 62) - 1
_OWN_SITE = "own-site="
_NAMES = ("https", "canonical", "longest", "earliest", "shortest-url")


class QualitySignals(NamedTuple):
    """What may make one copy better than another.

    That is its address, "" if it has none, the characters of its text, when it was published, in
    seconds since the epoch, and whether it declares its address the canonical one.
    """

    url: str = ""
    length: int = 0
    published: int | None = None
    canonical: bool = False

    @classmethod
    def of(cls, document: Document) -> Self:
        """Those of a document."""
        address = item_url(document.key, document.url)
        return cls(address, len(document.text or ""), document.published, document.canonical)


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a copy is preferred by: as the user wrote it, and the site that it names, if any."""

    name: str
    own_site: str = ""

    def rank(self, signals: QualitySignals) -> int:
        """A number of 63 bits for a copy, lower is better."""
        match self.name:
            case "https":
                return int(not signals.url.lower().startswith("https://"))
            case "canonical":
                return int(not signals.canonical)
            case "longest":
                return -signals.length
            case "earliest":
                return _LAST if signals.published is None else signals.published
            case "shortest-url":
                return len(signals.url) or _LAST
        return int(not signals.url or site(signals.url) != self.own_site)


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


def ranks_of(criteria: Sequence[Criterion], signals: QualitySignals) -> tuple[int, ...]:
    """The ranks of a copy; the better copy has the lower tuple."""
    return tuple(criterion.rank(signals) for criterion in criteria)
