"""Many hosts, served by one local server that crawls use as their proxy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

from loopback import Page, answering
from scrapy import Request
from scrapy.crawler import Crawler

#: The pages of each host by path, with the query where pages differ by it.
Hosts = dict[str, dict[str, bytes | Page]]


@contextmanager
def serve_hosts(hosts: Mapping[str, Mapping[str, bytes | Page]]) -> Iterator[dict[str, Any]]:
    """Serve pages by host and path. Yields settings that send every request to this server.

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
    """The environment of a process whose crawls use the server; takes the settings it yielded."""
    kept = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    return kept | {"http_proxy": settings["ALL_HOSTS"]}


class AllHosts:
    """Sends each request to the server of all hosts."""

    def __init__(self, proxy: str) -> None:
        self._proxy = proxy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["ALL_HOSTS"])

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = self._proxy
