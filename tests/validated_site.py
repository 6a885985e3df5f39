"""A site on loopback whose pages have validators, and change between visits."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler
from typing import Literal

from loopback import prose, running
from scrapy.utils import _compression

#: What a server tells of the version of a page: nothing, or only a time, or "false": it calls
#: every page unmodified that has an ETag.
Validator = Literal["etag", "weak", "time", "none", "false", "no-store", "vary", "language"]

#: What Scrapy decompresses; before 2.18, it does without two of these libraries.
PACKS = {"gzip": gzip.compress, "deflate": zlib.compress}
for _encoding, _name in (("br", "brotli"), ("zstd", "zstd")):
    if _library := getattr(_compression, _name, None):
        PACKS[_encoding] = _library.compress

#: A while ago: a time of modification that is just over identifies nothing.
_EPOCH = 1_790_000_000


@dataclass
class ValidPage:
    """A page with links and entries; each change of it is a new version."""

    text: str = ""
    links: list[str] = field(default_factory=list)
    validator: Validator = "etag"
    status: int = 200
    redirect: str = ""
    version: int = 0
    #: Half of the body is sent: as it is packed by an encoding, or without changing its "length".
    cut: str = ""

    def body(self) -> bytes:
        links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in self.links)
        text = f"<article><h1>{self.text}</h1><p>{prose(self.text)}</p></article>"
        return (
            f"<!DOCTYPE html><html><body><ul>{links}</ul>{text if self.text else ''}</body></html>"
        ).encode()

    def tag(self) -> str:
        return f'"{blake2b(self.body(), digest_size=8).hexdigest()}"'


class Answer:
    """What was asked, and how it was answered."""

    def __init__(
        self, path: str, status: int, conditions: dict[str, str], cookie: str | None
    ) -> None:
        self.path, self.status, self.conditions, self.cookie = path, status, conditions, cookie


@dataclass
class ValidatedSite:
    pages: dict[str, ValidPage] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    url: str = ""
    #: What each answer sets.
    cookie: str = ""

    def change(self, path: str, **given: object) -> None:
        page = self.pages.setdefault(path, ValidPage())
        for name, value in given.items():
            setattr(page, name, value)
        page.version += 1

    def asked(self, status: int | None = None) -> list[str]:
        """The paths that were asked for since the last call of `forget`, sorted."""
        return sorted(one.path for one in self.answers if status in {None, one.status})

    def forget(self) -> None:
        self.answers.clear()


@contextmanager
def serve_validated(site: ValidatedSite) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path
            page = site.pages.get(path) or site.pages.get(path.partition("?")[0])
            status, headers, body = respond(page, self.headers)
            if path in site.raw:
                status, body = 200, site.raw[path]
            given = {
                name: self.headers[name]
                for name in ("If-None-Match", "If-Modified-Since")
                if name in self.headers
            }
            site.answers.append(Answer(path, status, given, self.headers.get("Cookie")))
            headers |= {"Set-Cookie": site.cookie} if site.cookie else {}
            self.send_response(status)
            if status == 200 and page and page.cut:
                if pack := PACKS.get(page.cut):
                    headers, body = headers | {"Content-Encoding": page.cut}, pack(body)
                body = body[: len(body) // 2]
                self.close_connection = True
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                is_short = page and page.cut == "length"
                self.send_header("Content-Length", str(len(body) * (2 if is_short else 1)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with running(Handler) as site.url:
        yield site.url


def respond(page: ValidPage | None, given) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer to a request with these headers."""
    if page is None or page.status != 200:
        return (404 if page is None else page.status), {}, b""
    if page.redirect:
        return 301, {"Location": page.redirect, "ETag": '"moved"'}, b""
    body, tag = page.body(), page.tag()
    headers = {"Content-Type": "text/html; charset=utf-8"}
    match page.validator:
        case "etag" | "false":
            headers["ETag"] = tag
        case "weak":
            headers["ETag"] = f"W/{tag}"
        case "time":
            headers["Last-Modified"] = formatdate(_EPOCH + page.version, usegmt=True)
        case "language":
            # The page in each language was modified at one time.
            language = given.get("X-Language") or ""
            body = body.replace(b"</p>", f"</p><p>{prose(language)}</p>".encode())
            headers |= {"Vary": "X-Language", "Last-Modified": formatdate(_EPOCH, usegmt=True)}
        case "no-store":
            headers |= {"ETag": tag, "Cache-Control": "private, No-Store"}
        case "vary":
            headers |= {"ETag": tag, "Vary": "*"}
    asked = given.get("If-None-Match")
    is_same = asked is not None and (page.validator == "false" or headers.get("ETag") == asked)
    if asked is None and (time := given.get("If-Modified-Since")) is not None:
        is_same = headers.get("Last-Modified") == time
    return (304, headers, b"") if is_same else (200, headers, body)
