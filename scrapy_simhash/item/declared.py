"""What an item declares about itself: when it was published, and that its address is canonical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scrapy_simhash.item.addresses import is_page
from scrapy_simhash.item.names import Mark, name_of
from scrapy_simhash.item.times import moment_of

# Characters of a value that may be an address.
_ADDRESS = 8192


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
