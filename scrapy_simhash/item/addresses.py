"""Addresses in an item: that of its page, its own, and those of other pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from scrapy_simhash.item.names import Name, is_inside, name_of

_ADDRESS = re.compile(r"(?:https?|ftp)://\S++|//[\w-]++(?:\.[\w-]++)++\S*+", re.IGNORECASE)
_LENGTH = 8192  # longer values are data
_NAMED = ("url", "link", "href", "permalink")
# Words in the name of a field whose address leads to something else than the item.
_ELSEWHERE = re.compile(
    r"author|avatar|base|brand|canonical|category|company|home|icon|image|img|logo|next|parent|"
    r"photo|picture|prev|publisher|refer|seller|shop|site|source|src|store|thumb|user|video|audio",
    re.IGNORECASE,
)
# Addresses with a host, or with a path from the root.
_FULL = re.compile(r"(?:https?:)?//[^/?#]|/(?!/)")
_MEDIA = re.compile(
    r"\.(?:avif|bmp|css|gif|ico|jpe?g|js|mp[34]|png|svg|webp)(?:[?#]|$)", re.IGNORECASE
)


def is_address(name: Name, text: str) -> bool:
    """Whether a value is a web address; e-mail addresses are not."""
    if len(text) > _LENGTH:
        return False
    if "address" in name.marks:
        return len(text.split()) == 1
    return "//" in text[:16] and _ADDRESS.fullmatch(text.strip()) is not None


def is_page(address: str, page_url: str) -> bool:
    """Whether an address is that of the page.

    Not compared are: http or https, the case of the host, a default port, a slash at the end, how
    characters are quoted, and the fragment unless it is a route ("#!/a", "#/a"). Relative addresses
    are resolved against the page.
    """
    if address == page_url:
        return True
    # Resolving an address takes a while, and items with hundreds of links are common. Most of them
    # lack the end of the page's.
    plain = unquote(address) if "%" in address else address
    if _tail(page_url) not in plain and _FULL.match(address):
        return False
    return _place(_absolute(address, page_url)) == _place(page_url)


def own_address(
    fields: Mapping[str, Any], *, page_url: str, key: Sequence[str] | None
) -> str | None:
    """The address of the item itself, which identifies it in later crawls, given its flat fields.

    That are the values of `key`, one a line, which need not be addresses; else the address in
    `url`, `link`, `href` or `permalink`, or the only one on the first level, not counting pictures,
    authors, shops and the like. None if there is none, or only that of the page.
    """
    if key is not None:
        inside = ([fields[name] for name in fields if is_inside(name, {one})] for one in key)
        parts = [" ".join(" ".join(_texts(values)).split()) for values in inside]
        if not any(parts) or (len(parts) == 1 and is_page(parts[0], page_url)):
            return None
        return "\n".join(parts)
    found: dict[str, str] = {}
    for name, value in fields.items():
        address = _address(name, value)
        if address is not None and not is_page(address, page_url):
            found[name.casefold()] = _absolute(address, page_url)
    for name in _NAMED:
        if name in found:
            return found[name]
    others = {
        address
        for name, address in found.items()
        if not _ELSEWHERE.search(name) and not _MEDIA.search(address)
    }
    return others.pop() if len(others) == 1 else None


def _address(name: str, value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:  # item loaders make such lists
        value = value[0]
    if type(value) is str and "." not in name and is_address(name_of(name), value):
        return value.strip()
    return None


def _texts(value: Any) -> Iterator[str]:
    """The scalars in a value as text, without empty ones."""
    if isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None:
        yield value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@lru_cache(maxsize=1024)
def _absolute(address: str, page_url: str) -> str:
    try:
        return urljoin(page_url, address)
    except ValueError:
        return address


@lru_cache(maxsize=16)
def _tail(page_url: str) -> str:
    """The last segment of the path, or else the query: every address of the page has it."""
    _, path, query, _ = _place(page_url)
    return path.rpartition("/")[2] or query


@lru_cache(maxsize=1024)
def _place(url: str) -> tuple[str, str, str, str]:
    """Host, path, query and route of a URL, which `is_page` compares; of an invalid one the URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, "", "", ""
    host = re.sub(r":(?:80|443)?$", "", parts.netloc.lower())
    route = parts.fragment if parts.fragment.startswith(("!", "/")) else ""
    return host, unquote(parts.path).rstrip("/"), unquote(parts.query), route
