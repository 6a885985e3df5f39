"""Known pages are requested conditionally, or not at all: SIMHASH_REVISIT.

An HTTP cache, as Scrapy has one: the callback of a page that its server calls unmodified gets the
page as it was downloaded. So links are followed and items are checked as ever. A page is stored
when its callback has ended: what a middleware replaces or tries again is no page to come back to.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from threading import Semaphore
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread
from w3lib.http import headers_dict_to_raw, headers_raw_to_dict

from scrapy_simhash.crawl.checks import Revisit
from scrapy_simhash.crawl.scrapy_internals import is_whole
from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.db.pages import PageFile, StoredPage

#: The first and the longest freshness lifetime of "adaptive", in seconds.
_FIRST_INTERVAL = 3600
_LAST_INTERVAL = 30 * DAY

#: The number of 304 responses after which a page is downloaded, as servers are sometimes wrong. The
#: first time it is less, and different for each page, so that no visit downloads all of them.
_TRUSTED = 9

#: Apache appends this to the ETag of a compressed response, but does not match it in If-None-Match.
_COMPRESSED = re.compile(rb"[-;](?:gzip|br|zstd|deflate)(?=\"$)")

#: Meta keys of requests that a browser renders, and flags of their responses: the validators are
#: those of the document before its scripts have run.
_BROWSERS = ("playwright", "splash", "zyte_api", "zyte_api_automap")
_UNCACHED_FLAGS = frozenset({"dataloss", "partial", "playwright", "zyte-api"})

_CONDITIONS = ("If-None-Match", "If-Modified-Since")

#: Request headers that are part of the cache key, whether or not the `Vary` names them.
_VARY = ("Accept", "Accept-Encoding", "Accept-Language", "Authorization")
_VARY_NAMES = frozenset(name.lower().encode() for name in _VARY)

#: Headers of a 304 response that do not update the cached ones.
_OF_BODY = (b"Content-Encoding", b"Content-Length", b"Content-Type")

#: The most pages that wait to be written. What comes while a disk hangs is downloaded again.
_MOST_WAITING = 256


@dataclass(slots=True, eq=False)
class _Download:
    """A request until its callback starts.

    `cached` is its entry; `validators` are the headers that were added to the request; `page` is
    the entry that will be cached, and `headers` are those that came with its body.
    """

    key: bytes
    cached: StoredPage | None = None
    headers: Headers = field(default_factory=Headers)
    validators: Mapping[str, bytes] = field(default_factory=dict)
    page: StoredPage | None = None


@dataclass(eq=False)
class Revisits:
    """The pages of a crawl and of the ones before it; see :class:`PageFile`."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    mode: Revisit
    _file: PageFile | None = None
    _downloads: WeakKeyDictionary[Request, _Download] = field(default_factory=WeakKeyDictionary)
    # Writes pages: the event loop must not wait for a disk.
    _thread: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1))
    _room: Semaphore = field(default_factory=partial(Semaphore, _MOST_WAITING))

    async def spider_opened(self) -> None:
        """Handle the signal."""
        if getattr(self.crawler, "crawling", True):
            path = self.settings.locate_pages(make_folder=True)
            self._file = await run_in_thread(PageFile, path, self.settings.revisit_budget)

    # Requests and responses

    def process_request(self, request: Request) -> Response | None:
        """The cached response if it is fresh; if it is not, the request is made conditional."""
        if self._file is None or not _is_cacheable(request):
            return None
        key = self._key(request)
        download = self._downloads[request] = _Download(key)
        if (cached := self._file.find(key)) is None:
            return None
        headers = Headers(headers_raw_to_dict(cached.headers) or {})
        # The server may answer these headers with a different page, for instance in a language.
        if cached.vary != _vary(request, headers):
            return None
        download.cached, download.headers = cached, headers
        self.stats.count("revisit/known")
        if _is_fresh(cached, request, self.mode):
            # As the downloader does.
            request.meta.setdefault("download_slot", urlsplit(request.url).hostname or "")
            request.meta.setdefault("download_latency", 0.0)
            return self._cached_response("fresh", request, headers, cached.body)
        if cached.checks < _TRUSTED:
            download.validators = _validators(headers)
            request.headers.update(download.validators)
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """The response; the cached one if the page was not modified."""
        download = self._without_validators(request)
        if download is None or "cached" in response.flags:
            return response
        cached = download.cached
        if response.status == 304 and cached is not None:
            headers, given = download.headers, response.headers.items()
            headers.update({name: one for name, one in given if name not in _OF_BODY})
            download.page = cached._replace(
                checked=time.time(),
                checks=cached.checks + 1,
                interval=_next_interval(cached),
                cookies=_cookies(request),
                headers=_packed(headers),
                body=b"",
            )
            return self._cached_response("not_modified", request, headers, cached.body)
        if _should_cache(response, self.mode):
            download.headers = response.headers.copy()  # those of the encoding are removed
            download.page = StoredPage(
                key=download.key,
                url=response.url,
                checked=time.time(),
                interval=_next_interval(cached),
                checks=0 if cached else -(download.key[0] % (_TRUSTED + 1)),
                never_fresh=False,
                run=self.worker.thread.run or 0,
                vary=_vary(request, response.headers),
                cookies=_cookies(request),
                headers=_packed(response.headers),
                body=response.body,
            )
        else:
            del self._downloads[request]
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note that a request has failed."""
        if self._without_validators(request) is not None:
            del self._downloads[request]

    def _without_validators(self, request: Request) -> _Download | None:
        """The download of a request, whose validators are removed: a copy of it would have them."""
        download = self._downloads.get(request)
        for name in download.validators if download else ():
            request.headers.pop(name, None)
        return download

    def _cached_response(
        self, how: str, request: Request, headers: Headers, body: bytes
    ) -> Response:
        self.stats.count(f"revisit/{how}")
        self.stats.count("revisit/bytes_not_downloaded", by=len(body))
        # Scrapy chooses the class once more when it has decompressed the body, but before that it
        # looks for the encoding of the compressed bytes as if they were a text, which takes long.
        kind = Response
        if "Content-Encoding" not in headers:
            kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind(url=request.url, headers=headers, body=body, flags=["cached"])

    def _key(self, request: Request) -> bytes:
        """A hash of the spider, the index, and all of a request by which its page varies.

        The index, as numbers of its runs are stored.
        """
        spider, fingerprinter = self.crawler.spider, self.crawler.request_fingerprinter
        given = (
            spider.name if spider else "",
            fingerprinter.fingerprint(request) if fingerprinter else request.url,
            request.cookies,
            request.meta.get("cookiejar"),
            [request.headers.getlist(name) for name in _VARY],
        )
        secret = self.worker.thread.secret or b""
        return _hash(given, 16, secret[:64])

    # Callbacks and items

    def begin(self, page: Page, response: Response) -> None:
        """Note that the callback of a response begins."""
        download = self._downloads.pop(response.request, None) if response.request else None
        if download is None:
            return
        if "cached" in response.flags and (cached := download.cached):
            page.cached = download.page or cached._replace(body=b"")
        elif stored := download.page:
            encoding = download.headers.get("Content-Encoding") or b""
            page.cached = stored if is_whole(stored.body, encoding, response.body) else None

    def end(self, page: Page, *, has_links: bool) -> None:
        """Note that a callback has ended well, and whether it has yielded requests.

        A page that had links is never fresh, as it may have others. Nor is one that shows nothing:
        it may be a notice in place of the page.
        """
        if (stored := page.cached) is not None:
            interval = _FIRST_INTERVAL if page.has_changed else stored.interval
            stored = stored._replace(never_fresh=has_links or not page.items, interval=interval)
            page.cached = stored._replace(body=b"")
            self._write(stored)

    def note_change(self, page: Page) -> None:
        """Note that an item of a page is new, or has changed: "adaptive" soon requests it again."""
        page.has_changed, stored = True, page.cached
        # The whole page is written when its callback has ended.
        if stored is not None and not stored.body and stored.interval > _FIRST_INTERVAL:
            self._write(stored._replace(interval=_FIRST_INTERVAL))

    # The file

    def _write(self, page: StoredPage) -> None:
        if self._file is not None and self._room.acquire(blocking=False):
            written = self._thread.submit(self._file.write, page)
            written.add_done_callback(lambda _: self._room.release())

    async def close(self) -> None:
        """Write what waits, and close the file."""
        if self._file is not None:
            file, self._file = self._file, None
            await run_in_thread(self._thread.shutdown)
            file.close()


def _is_cacheable(request: Request) -> bool:
    """Whether the page of a request may be cached; if not, it is always downloaded."""
    return (
        request.method == "GET"
        and not request.body
        and request.callback is not NO_CALLBACK  # that of a component
        and request.url.startswith(("http:", "https:"))
        and not request.meta.get("dont_cache")
        and not any(request.meta.get(name) for name in _BROWSERS)
        and not any(name in request.headers for name in (*_CONDITIONS, "Range"))
    )


def _is_fresh(stored: StoredPage, request: Request, mode: Revisit) -> bool:
    """Whether a cached page may be used without validation.

    One with links is never fresh, nor is one that was requested with other cookies: the page of a
    user who has logged in may lack `Vary: Cookie`.
    """
    if mode == "conditional" or stored.never_fresh or stored.cookies != _cookies(request):
        return False
    # The clock may have been set back since.
    age = time.time() - stored.checked
    return 0 <= age < (stored.interval if mode == "adaptive" else mode)


def _next_interval(cached: StoredPage | None) -> int:
    """The next freshness lifetime of a page that has not changed, for "adaptive"."""
    return min(2 * cached.interval, _LAST_INTERVAL) if cached else _FIRST_INTERVAL


def _should_cache(response: Response, mode: Revisit) -> bool:
    """Whether a response is cached; without a validator only if pages have a freshness lifetime."""
    headers = response.headers
    control, vary = (b",".join(headers.getlist(name)) for name in ("Cache-Control", "Vary"))
    return (
        response.status == 200
        and bool(response.body)
        and b"no-store" not in control.lower()
        and b"*" not in vary
        and _UNCACHED_FLAGS.isdisjoint(response.flags)
        and (mode != "conditional" or "ETag" in headers or "Last-Modified" in headers)
    )


def _vary(request: Request, headers: Headers) -> bytes:
    """A hash of the request headers that the `Vary` names and the cache key lacks."""
    names = map(bytes.strip, b",".join(headers.getlist("Vary")).lower().split(b","))
    varying = sorted({*names} - _VARY_NAMES - {b""})
    return _hash([(name, request.headers.getlist(name)) for name in varying], 8) if varying else b""


def _cookies(request: Request) -> bytes:
    """A hash of the cookies that a request sends."""
    cookies = request.headers.getlist("Cookie")
    return _hash(cookies, 8) if cookies else b""


def _hash(values: object, size: int, secret: bytes = b"") -> bytes:
    data = repr(values).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=size, key=secret).digest()


def _validators(headers: Headers) -> dict[str, bytes]:
    """The headers of a conditional request, given those of the cached response."""
    validators: dict[str, bytes] = {}
    if etag := headers.get("ETag"):
        plain = _COMPRESSED.sub(b"", etag)
        validators["If-None-Match"] = etag if plain == etag else b"%b, %b" % (etag, plain)
    if modified := headers.get("Last-Modified"):
        validators["If-Modified-Since"] = modified
    return validators


def _packed(headers: Mapping[bytes, list[bytes]]) -> bytes:
    """Headers as they are stored. Cookies are not: those of a session may have ended."""
    kept = {name: one for name, one in headers.items() if name != b"Set-Cookie"}
    return headers_dict_to_raw(kept) or b""
