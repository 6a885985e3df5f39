"""Quality signals: which of two copies is the better one.

Each criterion ranks a copy by a number, lower is better; the next criterion breaks ties.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from scrapy_simhash.item.addresses import is_page, site
from scrapy_simhash.item.names import Mark, name_of
from scrapy_simhash.item.times import moment_of

_LAST = (1 << 62) - 1
# Characters of a value that may be an address.
_ADDRESS = 8192
_OWN_SITE = "own-site="
_NAMES = ("https", "canonical", "longest", "earliest", "shortest-url")
_PACKED = struct.Struct("<qI?")


class QualitySignals(NamedTuple):
    """What may make one copy better than another.

    That is its address, "" if it has none, the characters of its text, when it was published, in
    seconds since the epoch, and whether it declares its address the canonical one.
    """

    url: str = ""
    length: int = 0
    published: int | None = None
    canonical: bool = False

    def packed(self) -> bytes:
        """All but the address, as bytes."""
        published = _LAST if self.published is None else self.published
        return _PACKED.pack(published, min(self.length, 0xFFFFFFFF), self.canonical)

    @classmethod
    def unpack(cls, packed: bytes, url: str) -> Self:
        """The reverse of `packed`; only the address where the bytes are damaged."""
        if len(packed) != _PACKED.size:
            return cls(url)
        published, length, canonical = _PACKED.unpack(packed)
        return cls(url, length, None if published == _LAST else published, canonical)


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


def better_by(
    criteria: Sequence[Criterion], signals: QualitySignals, others: QualitySignals
) -> str | None:
    """The criterion by which a copy is better than another one; None if it is not."""
    for criterion in criteria:
        mine, theirs = criterion.rank(signals), criterion.rank(others)
        if mine != theirs:
            return criterion.name if mine < theirs else None
    return None


def address_of(key: str, url: str) -> str:
    """The address of an item: that in its identity key, if there is one, else that of its page."""
    address = key.partition(" ")[2] or key
    return address if address.startswith(("http://", "https://")) else url


def lister_of(key: str) -> str:
    """The site that lists an item under the address of another site (see `key_on`); else ""."""
    lister, _, address = key.partition(" ")
    return lister if address_of(address, "") else ""


def published_first(fields: Mapping[str, Any]) -> int | None:
    """The earliest date of publication among flat fields, on the first level; epoch seconds."""
    moments = (moment_of(value) for value in _marked(fields, "published"))
    return min((int(moment) for moment in moments if moment is not None), default=None)


def is_canonical(fields: Mapping[str, Any], addresses: Iterable[str | None]) -> bool:
    """Whether an item declares one of its own addresses the canonical one."""
    declared = next(_marked(fields, "canonical"), None)
    if not isinstance(declared, str) or len(declared) > _ADDRESS:
        return False
    return any(is_page(declared.strip(), address) for address in addresses if address)


def _marked(fields: Mapping[str, Any], mark: Mark) -> Iterator[Any]:
    """The values of fields on the first level, also in lists of one, as item loaders make them."""
    for name, value in fields.items():
        if mark in name_of(name).marks and "." not in name:
            yield value[0] if isinstance(value, list) and len(value) == 1 else value
