"""Many hosts, all played by one server on this machine, which crawls use as their proxy."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from loopback import Page, answering

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler

#: The pages of each host, by their paths, with the query where that makes a difference.
Hosts = dict[str, dict[str, bytes | Page]]


@contextmanager
def serve_hosts(hosts: Mapping[str, Mapping[str, bytes | Page]]) -> Iterator[dict[str, Any]]:
    """Serve pages by host and path; gives the settings of crawls that go there.

    With them every request goes to the server, whatever its host, so nothing leaves the machine.
    A path is looked up with its query first, and then without.
    """

    def find(url: str) -> bytes | Page | None:
        parts = urlsplit(url)
        pages = hosts.get(parts.netloc, {})
        page = pages.get(f"{parts.path}?{parts.query}")
        return pages.get(parts.path) if page is None else page

    with answering(find) as proxy:
        yield {"ALL_HOSTS": proxy, "DOWNLOADER_MIDDLEWARES": {AllHosts: 100}}


def proxied(settings: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a process whose crawls go to the server, by what `serve_hosts` gave."""
    kept = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    return kept | {"http_proxy": settings["ALL_HOSTS"]}


class AllHosts:
    """Sends each request to the server that plays all hosts."""

    def __init__(self, proxy: str) -> None:
        self._proxy = proxy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["ALL_HOSTS"])

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = self._proxy
