"""The sites over HTTP on this machine, by a server that a crawler takes for its proxy."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import TYPE_CHECKING

from website.catalogue import catalogue
from website.templates import Renderer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from website.pages import Page

_BINARY_SIZE = 4000


class Site:
    """The pages by their URL, and what is answered for each."""

    def __init__(self, *, later: bool = False) -> None:
        self.pages = catalogue(later=later)
        self._by_url = {page.url: page for page in self.pages}
        self._renderer = Renderer(self.pages)

    def answer(self, url: str) -> tuple[int, str, bytes]:
        """Status, content type and body for a URL."""
        page = self._by_url.get(url)
        if page is None:
            return 404, "text/plain; charset=utf-8", b"There is nothing here.\n"
        if page.kind == "binary":
            return 200, "application/octet-stream", _noise(page)
        if page.kind == "mislabelled":
            return 200, "text/html", _noise(page)
        if page.kind == "empty":
            return 200, "text/html", b""
        if page.kind == "blank":
            return 200, "text/html", b"<html><head></head><body></body></html>"
        return 200, f"text/html; charset={page.outlet.encoding}", self._renderer.html(page)


def _noise(page: Page) -> bytes:
    return Random(page.url).randbytes(_BINARY_SIZE)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    site: Site

    def do_GET(self) -> None:
        status, content_type, body = self.site.answer(self._url())
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _url(self) -> str:
        """What is asked for: of a proxy by the whole URL, otherwise by its path and a header."""
        if self.path.startswith("http://"):
            return self.path
        host = self.headers.get("Host", "").partition(":")[0]
        # Without a proxy, a look at a page: http://127.0.0.1:8000/wire.example/
        if host in {"127.0.0.1", "localhost"}:
            return f"http:/{self.path}"
        return f"http://{host}{self.path}"

    def log_message(self, *args: object) -> None:
        """Print nothing: the crawler has a log."""


@contextmanager
def serve(port: int = 0, *, later: bool = False) -> Iterator[tuple[int, list[Page]]]:
    """Serve the sites on the loopback interface while the block runs.

    Nothing is passed on: what no site has is not found. Gives the port (a free one unless told) and
    the pages, those of the day after if it is `later`.
    """
    site = Site(later=later)
    handler = type("Handler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port, site.pages
        finally:
            server.shutdown()
