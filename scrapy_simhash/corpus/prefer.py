"""Which copy is kept: the order in which a corpus is decided on.

The first of a group is the one that is kept, so the better copy has to come first. Each criterion
gives a number, the less the better; the first one decides, the next where it says the same, and
at last the place in the corpus.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.item.addresses import is_page
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.sites import site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from numpy.typing import NDArray

    from scrapy_simhash.index.verdict import Document

    class Criterion(Protocol):
        """How little an item is wanted by one criterion, in 63 bits."""

        def __call__(self, item: Any, document: Document | None, /) -> int:
            """The less the better."""


__all__ = ["Criterion", "criteria_of", "order_of"]

_WORST = (1 << 62) - 1
_OWN_SITE = "own-site="


def criteria_of(names: str) -> list[Criterion]:
    """The criteria of a list such as "own-site=news.example,https,longest".

    Raises:
        ValueError: one of them is unknown; names it, and those there are.
    """
    return [_criterion(name.strip()) for name in names.split(",")]


def order_of(ranks: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The numbers of documents in the order in which they are decided on.

    Args:
        ranks: shape (documents, criteria), what the criteria say.
    """
    if not ranks.shape[1]:
        return np.arange(len(ranks), dtype=np.uint32)
    # The last key is the first to sort by; what is equal stays in its order.
    return np.lexsort(ranks.T[::-1]).astype(np.uint32)


def _criterion(name: str) -> Criterion:
    if name.startswith(_OWN_SITE) and (own := name.removeprefix(_OWN_SITE)):
        return _OwnSite(site(own if "://" in own else f"http://{own}/"))
    if name not in _CRITERIA:
        allowed = ", ".join([f"{_OWN_SITE}example.com", *_CRITERIA])
        raise ValueError(f"{name!r} is nothing to prefer a copy by; allowed are {allowed}")
    return _CRITERIA[name]


class _OwnSite:
    """First what is from a site."""

    def __init__(self, own: str) -> None:
        self._own = own

    def __call__(self, _item: Mapping[str, Any], document: Document | None) -> int:
        return int(document is None or site(document.url) != self._own)


def _https(_item: Mapping[str, Any], document: Document | None) -> int:
    return int(document is None or not document.url.lower().startswith("https://"))


def _canonical(item: Mapping[str, Any], document: Document | None) -> int:
    """First what names its own address as the canonical one."""
    found = next((item[name] for name in item if _folded(name) in _CANONICAL), None)
    is_own = document is not None and isinstance(found, str) and is_page(found, document.url)
    return int(not is_own)


def _longest(_item: Mapping[str, Any], document: Document | None) -> int:
    return -len(document.text or "") if document is not None else 0


def _earliest(item: Mapping[str, Any], _document: Document | None) -> int:
    """First what was published first; last what does not say when, to the second."""
    moments = (_seconds(item[name]) for name in item if name_of(str(name)).published)
    return min((one for one in moments if one is not None), default=_WORST)


def _shortest_url(_item: Mapping[str, Any], document: Document | None) -> int:
    return len(document.url) if document is not None and document.url else _WORST


_CANONICAL = {"canonical", "canonicalurl"}
_CRITERIA: dict[str, Criterion] = {
    "https": _https,
    "canonical": _canonical,
    "longest": _longest,
    "earliest": _earliest,
    "shortest-url": _shortest_url,
}


def _folded(name: object) -> str:
    return str(name).lower().replace("_", "").replace("-", "")


def _seconds(value: Any) -> int | None:
    """A moment or a date in seconds since the epoch, in UTC where it names no zone."""
    try:
        moment = value
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, date) and not isinstance(value, datetime):
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if not isinstance(moment, datetime):
            return None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
