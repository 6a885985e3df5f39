"""Which of two copies is the better one.

Each criterion gives a number, the less the better; the first one decides, the next where it says
the same.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from scrapy_simhash.item.addresses import is_page
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

__all__ = [
    "Criterion",
    "QualitySignals",
    "address_of",
    "better_by",
    "criteria_of",
    "is_canonical",
    "published_first",
    "ranks_of",
]

_LAST = (1 << 62) - 1
# Characters of what can be a moment, or an address.
_MOMENT, _ADDRESS = 64, 8192
_OWN_SITE = "own-site="
_PACKED = struct.Struct("<qI?")


class QualitySignals(NamedTuple):
    """What may make one copy better than another.

    Attributes:
        url: its address; "" if it has none.
        length: characters of its text.
        published: when, in seconds since the epoch; None where it does not say.
        canonical: whether it says that its address is the canonical one.
    """

    url: str = ""
    length: int = 0
    published: int | None = None
    canonical: bool = False

    def packed(self) -> bytes:
        """All but the address."""
        published = _LAST if self.published is None else self.published
        return _PACKED.pack(published, min(self.length, 0xFFFFFFFF), self.canonical)

    @classmethod
    def unpack(cls, packed: bytes, url: str) -> Self:
        """The reverse."""
        if len(packed) != _PACKED.size:  # as in a damaged database
            return cls(url)
        published, length, canonical = _PACKED.unpack(packed)
        return cls(url, length, None if published == _LAST else published, canonical)


@dataclass(frozen=True, slots=True)
class Criterion:
    """Something that a copy is preferred by.

    Attributes:
        name: as it is asked for.
        rank: of a copy, in 63 bits: the less the better.
    """

    name: str
    rank: Callable[[QualitySignals], int]


def criteria_of(names: Iterable[str]) -> tuple[Criterion, ...]:
    """The criteria of names such as "own-site=news.example", "https", "longest".

    Raises:
        ValueError: one of them is unknown; names it, and those there are.
    """
    return tuple(_criterion(name.strip()) for name in names)


def ranks_of(criteria: Sequence[Criterion], merits: QualitySignals) -> tuple[int, ...]:
    """What the criteria say of a copy: of two copies the better one has less."""
    return tuple(criterion.rank(merits) for criterion in criteria)


def better_by(
    criteria: Sequence[Criterion], merits: QualitySignals, others: QualitySignals
) -> str | None:
    """The criterion by which a copy is better than another one; None if it is not."""
    for criterion in criteria:
        mine, theirs = criterion.rank(merits), criterion.rank(others)
        if mine != theirs:
            return criterion.name if mine < theirs else None
    return None


def address_of(key: str, url: str) -> str:
    """The address of who has that owner key and was found at that URL.

    The key of what a page lists is its own address, if it has one; other keys are no addresses.
    """
    return key if key.startswith(("http://", "https://")) else url


def published_first(fields: Mapping[str, Any]) -> int | None:
    """The first moment of an item's own, on its first level, in seconds since the epoch.

    Args:
        fields: The item's fields, flat.
    """
    own = [name for name in fields if name_of(name).published and "." not in name]
    moments = (_seconds(_only(fields[name])) for name in own)
    return min((moment for moment in moments if moment is not None), default=None)


def is_canonical(fields: Mapping[str, Any], addresses: Iterable[str | None]) -> bool:
    """Whether an item says that one of these, which are its own, is the canonical address."""
    said = next((_only(fields[name]) for name in fields if name_of(name).canonical), None)
    if not isinstance(said, str) or len(said) > _ADDRESS:
        return False
    return any(is_page(said.strip(), one) for one in addresses if one)


def _criterion(name: str) -> Criterion:
    if name.startswith(_OWN_SITE) and (own := name.removeprefix(_OWN_SITE)):
        return Criterion(name, _OwnSite(site(own if "://" in own else f"http://{own}/")))
    if name not in _RANKS:
        allowed = ", ".join([f"{_OWN_SITE}example.com", *_RANKS])
        raise ValueError(f"{name!r} is nothing to prefer a copy by; allowed are {allowed}")
    return Criterion(name, _RANKS[name])


@dataclass(frozen=True, slots=True)
class _OwnSite:
    """First what is from a site."""

    own: str

    def __call__(self, merits: QualitySignals) -> int:
        return int(not merits.url or site(merits.url) != self.own)


def _https(merits: QualitySignals) -> int:
    return int(not merits.url.lower().startswith("https://"))


def _canonical(merits: QualitySignals) -> int:
    return int(not merits.canonical)


def _longest(merits: QualitySignals) -> int:
    return -merits.length


def _earliest(merits: QualitySignals) -> int:
    """Last what does not say when."""
    return _LAST if merits.published is None else merits.published


def _shortest_url(merits: QualitySignals) -> int:
    return len(merits.url) or _LAST


_RANKS: dict[str, Callable[[QualitySignals], int]] = {
    "https": _https,
    "canonical": _canonical,
    "longest": _longest,
    "earliest": _earliest,
    "shortest-url": _shortest_url,
}


def _only(value: Any) -> Any:
    """The value in a list of one, as item loaders make them."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _seconds(value: Any) -> int | None:
    """A moment or a date in seconds since the epoch, in UTC where it names no zone."""
    try:
        moment = value
        if isinstance(value, str) and len(value) <= _MOMENT:
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, date) and not isinstance(value, datetime):
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if not isinstance(moment, datetime):
            return None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        return None
