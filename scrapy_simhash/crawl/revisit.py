"""Known pages are asked for conditionally, or not at all: SIMHASH_REVISIT.

An HTTP cache, as Scrapy has one: the callback of a page that its server calls unmodified gets the
page as it was downloaded. So links are followed and items are checked as ever. A page is stored
when its callback has ended: what a middleware replaces or tries again is no page to come back to.
"""

from __future__ import annotations

import logging
import re
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from w3lib.http import headers_dict_to_raw, headers_raw_to_dict

from scrapy_simhash.crawl.checks import Revisit, optional, revisit
from scrapy_simhash.crawl.settings import DAY, Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.db.pages import PageFile, StoredPage
from scrapy_simhash.index.verdict import random_number

logger = logging.getLogger(__name__)

#: "adaptive" asks again after so many seconds: at first, and at most.
_FIRST_INTERVAL = 3600
_LAST_INTERVAL = 30 * DAY

#: Servers are sometimes wrong: after so many answers of 304 a page is downloaded. The first time,
#: pages differ in when: a visit that downloads all of them would be as slow as the first one.
_TRUSTED = 9

#: Apache adds this to the ETag of a compressed page, and does not know it when it is asked.
_COMPRESSED = re.compile(rb"[-;](?:gzip|br|zstd|deflate)(?=\"$)")

#: Requests whose page a browser fills: the validators are those of an empty frame.
_BROWSERS = ("playwright", "splash", "zyte_api", "zyte_api_automap")

_CONDITIONS = ("If-None-Match", "If-Modified-Since")

#: Headers of a request that choose what its page shows.
_CHOOSING = ("Accept", "Accept-Encoding", "Accept-Language", "Authorization")

#: Headers of an answer of 304 that tell nothing of the page.
_OF_BODY = (b"Content-Encoding", b"Content-Length", b"Content-Type")

#: Pages, and bytes of them, from which on they are written; and the most that may wait.
_BATCH = 64
_BATCH_BYTES = 4 << 20
_WAITING_BYTES = 64 << 20

# Bytes that are decompressed at once.
_PORTION = 1 << 20


@dataclass(slots=True, eq=False)
class _Download:
    """A page from its request to the end of its callback.

    `known` is what an earlier crawl has stored, with its headers; `page` is what is to be stored.
    The conditions are headers that were added to the request.
    """

    key: bytes
    known: StoredPage | None
    headers: Headers | None = None
    page: StoredPage | None = None
    conditions: tuple[str, ...] = ()


@dataclass(eq=False)
class Revisits:
    """The pages of a crawl and of the ones before it; see :class:`PageFile`."""

    crawler: Crawler
    settings: Settings
    worker: Worker
    stats: CrawlStats
    _file: PageFile | None = None
    _downloads: WeakKeyDictionary[Request, _Download] = field(default_factory=WeakKeyDictionary)
    # What is to be written, and the bytes of its bodies; and what is being written.
    _waiting: list[StoredPage] = field(default_factory=list)
    _bytes: int = 0
    _writing: Deferred[None] | None = None
    _warned: set[str] = field(default_factory=set)

    async def spider_opened(self) -> None:
        """Handle the signal."""
        if getattr(self.crawler, "crawling", True):
            path = self.settings.locate_pages(make_folder=True)
            self._file = await run_in_thread(PageFile, path, self.settings.revisit_budget)

    # Requests and responses

    def find(self, request: Request) -> Response | None:
        """The response to a request that need not be made; others are made conditional."""
        if self._file is None or (mode := self._mode(request)) is None:
            return None
        key = self._key(request)
        known = self._file.find(key)
        download = self._downloads[request] = _Download(key, known)
        if known is None:
            return None
        headers = Headers(headers_raw_to_dict(known.headers) or {})
        if known.chosen != _chosen(request, headers):
            download.known = None  # such as the page in a different language
            return None
        self.stats.count("revisit/known")
        download.headers = headers
        if _is_fresh(known, mode):
            # As the downloader does.
            request.meta.setdefault("download_slot", urlsplit(request.url).hostname or "")
            request.meta.setdefault("download_latency", 0.0)
            return self._saved("fresh", request, known.body, headers)
        if known.checks < _TRUSTED:
            conditions = _conditions(headers)
            download.conditions = tuple(conditions)
            request.headers.update(conditions)
        return None

    def answer(self, request: Request, response: Response) -> Response:
        """Note a response; if its page was not modified, the stored one takes its place."""
        download = self._answered(request)
        if download is None or "cached" in response.flags:
            return response
        known, headers, now = download.known, download.headers, time.time()
        if response.status == 304 and known is not None and headers is not None:
            told = response.headers.items()
            headers.update({name: one for name, one in told if name not in _OF_BODY})
            download.page = known._replace(
                checked=now,
                checks=known.checks + 1,
                interval=_longer(known),
                headers=_packed(headers),
                body=b"",
            )
            return self._saved("not_modified", request, known.body, headers)
        if _is_storable(response, is_timed=self._mode(request) != "conditional"):
            download.page = StoredPage(
                key=download.key,
                url=response.url,
                checked=now,
                interval=_longer(known),
                checks=0 if known else -(download.key[0] % (_TRUSTED + 1)),
                has_links=False,
                run=self.worker.figures.run or 0,
                download=random_number(),
                chosen=_chosen(request, response.headers),
                headers=_packed(response.headers),
                body=response.body,
            )
        else:
            del self._downloads[request]
        return response

    def fail(self, request: Request) -> None:
        """Note that a request has failed."""
        if self._answered(request) is not None:
            del self._downloads[request]

    def _answered(self, request: Request) -> _Download | None:
        """What is known of a request, without conditions, which a copy of it would carry on."""
        download = self._downloads.get(request)
        for name in download.conditions if download else ():
            request.headers.pop(name, None)
        return download

    def _saved(self, how: str, request: Request, body: bytes, headers: Headers) -> Response:
        self.stats.count(f"revisit/{how}")
        self.stats.count("revisit/bytes_not_downloaded", len(body))
        # Scrapy chooses the class once more when it has decompressed the body, but before that it
        # looks for the encoding of the compressed bytes as if they were a text, which takes long.
        kind = Response
        if "Content-Encoding" not in headers:
            kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind(url=request.url, headers=headers, body=body, flags=["cached"])

    def _mode(self, request: Request) -> Revisit | None:
        """How a page is asked for; None if it is always downloaded."""
        given = self.settings.revisit
        if (
            request.method != "GET"
            or request.body
            or request.callback is NO_CALLBACK  # that of a component
            or not request.url.startswith(("http:", "https:"))
            or request.meta.get("dont_cache")
            or any(request.meta.get(name) for name in _BROWSERS)
            or any(name in request.headers for name in (*_CONDITIONS, "Range"))
        ):
            return None
        named = request.meta.get("simhash_revisit", given)
        try:
            mode: Revisit | None = named if named is given else optional(revisit)(named)
        except ValueError as error:
            if str(named) not in self._warned:
                self._warned.add(str(named))
                logger.warning('meta["simhash_revisit"] = %r of %s: %s', named, request.url, error)
            return given
        return mode

    def _key(self, request: Request) -> bytes:
        """A hash of the spider, the index, and all of a request that chooses what its page shows.

        The index, as numbers of its runs are stored.
        """
        spider, fingerprinter = self.crawler.spider, self.crawler.request_fingerprinter
        given = (
            spider.name if spider else "",
            fingerprinter.fingerprint(request) if fingerprinter else request.url,
            request.cookies,
            request.meta.get("cookiejar"),
            [request.headers.getlist(name) for name in _CHOOSING],
        )
        data = repr(given).encode("utf-8", "surrogatepass")
        secret = self.worker.figures.secret or b""
        return blake2b(data, digest_size=16, key=secret[:64]).digest()

    # Callbacks and items

    def begin(self, page: Page, response: Response) -> None:
        """Note that the callback of a response begins."""
        download = self._downloads.pop(response.request, None) if response.request else None
        if download is None:
            return
        if "cached" in response.flags and (known := download.known):
            page.read_in = known.run
            page.stored = download.page or known._replace(body=b"")
        elif download.page and _is_whole(download.page, response.body):
            page.stored = download.page

    def end(self, page: Page, *, has_links: bool) -> None:
        """Note that a callback has ended well, and whether it has yielded requests.

        A page that had links is always asked for, as it may have others. So is one that shows
        nothing: it may be a notice in place of the page.
        """
        if (stored := page.stored) is not None:
            interval = _FIRST_INTERVAL if page.has_changed else stored.interval
            stored = stored._replace(has_links=has_links or not page.items, interval=interval)
            page.stored = stored._replace(body=b"")
            self._write(stored)

    def note_change(self, page: Page) -> None:
        """Note that an item of a page is new, or has changed: "adaptive" soon asks again."""
        page.has_changed, stored = True, page.stored
        # The whole page is written when its callback has ended.
        if stored is not None and not stored.body and stored.interval > _FIRST_INTERVAL:
            self._write(stored._replace(interval=_FIRST_INTERVAL))

    # The file

    def _write(self, page: StoredPage) -> None:
        if self._file is None or self._bytes > _WAITING_BYTES:
            return
        self._waiting.append(page)
        self._bytes += len(page.body)
        is_much = len(self._waiting) >= _BATCH or self._bytes >= _BATCH_BYTES
        if is_much and self._writing is None:
            self._writing = deferred_from_coro(self._write_waiting())

    async def _write_waiting(self) -> None:
        """Write in a thread, as the event loop must not wait for a disk."""
        pages, self._waiting, self._bytes = self._waiting, [], 0
        if self._file is not None and pages:
            await run_in_thread(self._file.write, pages)
        self._writing = None

    async def close(self) -> None:
        """Write what waits, and close the file."""
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)
        await self._write_waiting()
        if self._file is not None:
            self._file.close()
            self._file = None


def _is_fresh(known: StoredPage, mode: Revisit) -> bool:
    """Whether a page need not be asked for yet; never one that led to others."""
    if mode == "conditional" or known.has_links:
        return False
    # A clock may have been ahead when it was checked.
    age = time.time() - known.checked
    return 0 <= age < (known.interval if mode == "adaptive" else mode)


def _longer(known: StoredPage | None) -> int:
    return (
        min(max(_FIRST_INTERVAL, 2 * known.interval), _LAST_INTERVAL) if known else _FIRST_INTERVAL
    )


def _is_storable(response: Response, *, is_timed: bool) -> bool:
    """Whether a page may be stored; with a time also if its server has no name for its version."""
    headers = response.headers
    control, vary = (b",".join(headers.getlist(name)) for name in ("Cache-Control", "Vary"))
    return (
        response.status == 200
        and bool(response.body)
        and b"no-store" not in control.lower()
        and b"*" not in vary
        and not {"dataloss", "partial"}.intersection(response.flags)
        and (is_timed or "ETag" in headers or "Last-Modified" in headers)
    )


def _chosen(request: Request, headers: Headers) -> bytes:
    """A hash of the headers of a request that choose what its page shows, as its server says."""
    named = b",".join(headers.getlist("Vary")).lower().split(b",")
    given = [
        (name, request.headers.getlist(name)) for name in sorted(map(bytes.strip, named)) if name
    ]
    return blake2b(repr(given).encode(), digest_size=8).digest() if given else b""


def _conditions(headers: Headers) -> dict[str, bytes]:
    """The headers that ask whether a page was modified, given those that it had."""
    conditions = dict[str, bytes]()
    if etag := headers.get("ETag"):
        plain = _COMPRESSED.sub(b"", etag)
        conditions["If-None-Match"] = etag if plain == etag else b"%b, %b" % (etag, plain)
    if (modified := headers.get("Last-Modified")) and _is_over(modified, headers.get("Date")):
        conditions["If-Modified-Since"] = modified
    return conditions


def _is_over(modified: bytes, now: bytes | None) -> bool:
    """Whether a time of modification is before now: within one second there may be two versions."""
    if now is None:
        return True
    with suppress(TypeError, ValueError):  # unreadable, or only one of them has a zone
        first, second = (parsedate_to_datetime(one.decode("latin-1")) for one in (modified, now))
        return first < second
    return False


def _is_whole(page: StoredPage, body: bytes) -> bool:
    """Whether nothing is missing at the end of a compressed body: Scrapy takes what is there.

    `body` is what it was decompressed to.
    """
    encoding = Headers(headers_raw_to_dict(page.headers) or {}).get("Content-Encoding") or b""
    packed = page.body
    # The last bytes of gzip are the size, which is much faster to compare. A file may be packed
    # without being told so.
    is_checked = encoding.strip().lower() in {b"gzip", b"x-gzip", b"deflate"}
    is_checked |= packed.startswith(b"\x1f\x8b")
    if not is_checked or int.from_bytes(packed[-4:], "little") == len(body):
        return True
    while packed:
        stream = zlib.decompressobj(47)  # of gzip or zlib
        try:
            while packed and not stream.eof:
                stream.decompress(packed, _PORTION)
                packed = stream.unconsumed_tail
        except zlib.error:
            return False
        if not stream.eof:
            return False
        packed = stream.unused_data  # the next member
    return True


def _packed(headers: Mapping[bytes, list[bytes]]) -> bytes:
    """Headers as they are stored. Cookies are not: those of a session may have ended."""
    kept = {name: one for name, one in headers.items() if name != b"Set-Cookie"}
    return headers_dict_to_raw(kept) or b""
