"""Which site a URL belongs to: its registrable domain, by the public suffix list."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from tldextract import TLDExtract

__all__ = ["load_sites", "same_site", "site"]

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
