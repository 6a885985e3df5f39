"""URLs: the site of one, and the parts that may not change which page it leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tldextract import TLDExtract

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Address", "load_sites", "same_site", "site"]

# The list that comes with the package: nothing is fetched, nothing is written.
_domains = TLDExtract(suffix_list_urls=(), cache_dir=None)


def load_sites() -> None:
    """Read the list, which takes 50 ms and is otherwise done when it is first asked for."""
    _site_of_host("example.com")


def site(url: str) -> str:
    """The site of a URL; the host where it has none, as for an address; all of what is no URL."""
    host = _host(url)
    return url if host is None else _site_of_host(host)


def same_site(one: str, other: str) -> bool:
    """Whether two URLs are of one site. Reading the list takes a while: equal hosts spare it."""
    host = _host(one)
    return (host is not None and host == _host(other)) or site(one) == site(other)


@lru_cache(maxsize=4096)
def _host(url: str) -> str | None:
    """The host of a URL; None where it is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _site_of_host(host: str) -> str:
    return _domains(host).top_domain_under_public_suffix or host


#: Longer addresses, and those of more parameters, have no parts: there is no end to what a hostile
#: site can make.
_LONGEST, _MOST = 2000, 16

_YEAR = r"(?:19|20|21)\d\d"
_DATE = rf"/{_YEAR}(?:-?\d\d){{1,2}}|/{_YEAR}(?:/\d{{1,2}}){{0,2}}"
_FACET = r"/[^/=:]+[=:][^/]+"
#: What calendars and facets put at the end of a path: /2031/05, /2031-05-03, /color=red.
_TAIL = re.compile(rf"(?:{_DATE}|{_FACET})+/?$")


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart.

    A part has a name that says where it stands: "shop.example/coats/?color" is the parameter
    `color` of addresses below that folder, "town.example/events/*" a date or facet at the end of a
    path there. The folder is the first one; "*" where its name has a digit, as it may be a part
    itself. A page directly below the root is a place of its own.

    Attributes:
        site: scheme and host.
        path: what comes before the tail.
        tail: the dates and facets at the end of the path; most often empty.
        query: the parameters as they are written, sorted, each after the name of its part.
        place: the host and the folder.
    """

    site: str
    path: str
    tail: str
    query: tuple[tuple[str, str], ...]
    place: str

    @classmethod
    def of(cls, url: str) -> Address | None:
        """The address that a URL says; None for what has no parts that could be told."""
        if len(url) > _LONGEST:
            return None
        try:
            split = urlsplit(url)
        except ValueError:
            return None
        given = sorted(filter(None, split.query.split("&")))
        if split.scheme not in {"http", "https"} or not split.netloc or len(given) > _MOST:
            return None
        path = split.path or "/"
        found = _TAIL.search(path)
        # A path that is nothing else leaves no place to look at.
        start = found.start() if found and found.start() else len(path)
        host = split.netloc.rpartition("@")[2].lower()
        first = path[:start].split("/", 2)[1]
        folder = "*" if any(map(str.isdigit, first)) else first
        place = f"{host}/{folder}{'/' if '/' in path[1:] else ''}"
        query = tuple((f"{place}?{one.partition('=')[0]}", one) for one in given)
        return cls(f"{split.scheme}://{host}", path[:start], path[start:], query, place)

    def parts(self) -> list[str]:
        """The names of its parts."""
        found = list(dict.fromkeys(part for part, _ in self.query))
        return [*found, f"{self.place}*"] if self.tail else found

    def without(self, parts: Collection[str]) -> str:
        """The address without some of its parts, as a text that is equal for equal ones."""
        tail = "" if f"{self.place}*" in parts else self.tail
        query = "&".join([given for part, given in self.query if part not in parts])
        # With and without a slash at the end a folder is the same place.
        return f"{self.site}{(self.path + tail).rstrip('/')}?{query}"
