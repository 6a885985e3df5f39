"""The site over HTTP on this machine."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import TYPE_CHECKING

from website.catalogue import Page, catalogue
from website.templates import Renderer

if TYPE_CHECKING:
    from collections.abc import Iterator

_BINARY_SIZE = 4000


class Site:
    """The pages by their path, and what the server answers for each."""

    def __init__(self, port: int) -> None:
        self.pages = catalogue()
        self._by_path = {page.path: page for page in self.pages}
        self._renderer = Renderer(self.pages, port)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body for a path with its query."""
        page = self._by_path.get(path)
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
    return Random(page.path).randbytes(_BINARY_SIZE)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    site: Site

    def do_GET(self) -> None:
        status, content_type, body = self.site.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing: the crawler has a log."""


@contextmanager
def serve(port: int = 0) -> Iterator[tuple[int, list[Page]]]:
    """Serve the site on the loopback interface while the block runs.

    Gives the port (a free one unless told) and the pages.
    """
    with ThreadingHTTPServer(("127.0.0.1", port), _Handler) as server:
        site = Site(server.server_port)
        server.RequestHandlerClass = type("Handler", (_Handler,), {"site": site})
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port, site.pages
        finally:
            server.shutdown()
