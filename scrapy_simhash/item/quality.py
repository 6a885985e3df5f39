"""Quality signals: which of two copies is better.

Each criterion ranks a copy by a number, lower is better; the next criterion breaks ties.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from scrapy_simhash.item.names import Mark, name_of
from scrapy_simhash.item.times import moment_of
from scrapy_simhash.item.urls import alone, is_page_url, site

# The rank of a copy that lacks what a criterion compares: behind all others.
_LAST = (1 << 62) - 1
# Characters of a value that may be a URL.
_LONGEST_URL = 8192
_OWN_SITE = "own-site="
_NAMES = ("https", "canonical", "longest", "earliest", "shortest-url")
_PACKED = struct.Struct("<qI?")


class QualitySignals(NamedTuple):
    """What may make one of two copies better.

    Attributes:
        url: its URL; "" if it has none.
        length: the characters of its text.
        published: when it was published, in seconds since the epoch; None if that is not known.
        canonical: whether it declares its URL the canonical one.
    """

    url: str = ""
    length: int = 0
    published: int | None = None
    canonical: bool = False

    def packed(self) -> bytes:
        """All but the URL, as bytes."""
        published = _LAST if self.published is None else self.published
        return _PACKED.pack(published, min(self.length, 0xFFFFFFFF), self.canonical)

    @classmethod
    def unpack(cls, packed: bytes, url: str) -> Self:
        """Reverse `packed`; of damaged bytes nothing but the URL is known."""
        if len(packed) != _PACKED.size:
            return cls(url)
        published, length, canonical = _PACKED.unpack(packed)
        return cls(url, length, None if published == _LAST else published, canonical)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A reason to prefer a copy.

    Attributes:
        name: the criterion as the user wrote it.
        own_site: the site that it names; "" if it names none.
    """

    name: str
    own_site: str = ""

    def rank(self, signals: QualitySignals) -> int:
        """A number of 63 bits for a copy; lower is better."""
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


def better_by(
    criteria: Sequence[Criterion], new: QualitySignals, old: QualitySignals
) -> str | None:
    """The criterion by which a new copy is better than the old one; None if it is not better."""
    for criterion in criteria:
        new_rank, old_rank = criterion.rank(new), criterion.rank(old)
        if new_rank != old_rank:
            return criterion.name if new_rank < old_rank else None
    return None


def item_url(key: str, page_url: str) -> str:
    """The URL of an item: the one in its identity key, if there is one, else that of its page."""
    url = key.partition(" ")[2] or key
    return url if url.startswith(("http://", "https://")) else page_url


def lister_of(key: str) -> str:
    """The site that lists an item whose URL is of a different site (see `key_on`); else ""."""
    lister, _, url = key.partition(" ")
    return lister if item_url(url, "") else ""


def published_first(fields: Mapping[str, Any]) -> int | None:
    """The earliest date of publication in the first level of flat fields, in epoch seconds."""
    moments = (moment_of(value) for value in _marked(fields, "published"))
    return min((int(moment) for moment in moments if moment is not None), default=None)


def is_canonical(fields: Mapping[str, Any], own_urls: Iterable[str | None]) -> bool:
    """Whether an item declares one of its own URLs the canonical one."""
    declared = next(_marked(fields, "canonical"), None)
    if not isinstance(declared, str) or len(declared) > _LONGEST_URL:
        return False
    return any(is_page_url(declared.strip(), url) for url in own_urls if url)


def _marked(fields: Mapping[str, Any], mark: Mark) -> Iterator[Any]:
    """Yield the values on the first level whose names have a mark."""
    for name, value in fields.items():
        if mark in name_of(name).marks and "." not in name:
            yield alone(value)
