"""What an item declares about itself: when it was published, and that its URL is canonical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scrapy_simhash.item.names import Mark, name_of
from scrapy_simhash.item.times import moment_of
from scrapy_simhash.item.urls import alone, is_page_url

# Characters of a value that may be a URL.
_LONGEST_URL = 8192


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
