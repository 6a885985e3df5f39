"""A page that a crawl asks for, from its request until all its items are settled."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, cast

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.crawl.checks import Revisit
from scrapy_simhash.crawl.settings import DAY
from scrapy_simhash.crawl.stored_request import ASKED, Plain, StoredRequests
from scrapy_simhash.crawl.tracking import is_item
from scrapy_simhash.index.pages import KnownPage, PageRow, PageVisit, pack_numbers, pack_request
from scrapy_simhash.index.verdict import Verdict

#: "adaptive" asks again after so many seconds: at first, and at most.
_FIRST_INTERVAL = 3600
_LAST_INTERVAL = 30 * DAY

#: Longer values of ETag are not kept.
_LONGEST_TAG = 1000

#: Apache adds this to the ETag of a compressed page, and does not know it when it is asked.
_COMPRESSED = re.compile(r"[-;](?:gzip|br|zstd|deflate)(?=\"$)")

# Bytes that are decompressed at once.
_PORTION = 1 << 20

#: Requests whose page a browser fills: the validators are those of an empty frame.
_BROWSERS = ("playwright", "splash", "zyte_api", "zyte_api_automap")


@dataclass(slots=True, eq=False)
class AskedPage:
    """A page that is asked for.

    Attributes:
        identity: the hash of its request.
        plain: its request.
        depth: how many links lead to it.
        stored: tells which requests can be made again.
        recorded: the page as earlier visits have recorded it.
        is_sound: whether it need not be read again, if it stays as it is.
        conditions: the headers that were added to its request.
    """

    identity: int
    plain: Plain
    depth: int
    stored: StoredRequests
    recorded: KnownPage | None
    is_sound: bool = True
    conditions: dict[str, str] = field(default_factory=dict)
    _validators: dict[str, str] = field(default_factory=dict)
    _is_unchanged: bool = True
    _etag: str | None = None
    _modified: str | None = None
    _size: int = 0
    # The body, if it is compressed.
    _packed: bytes = b""
    _has_links: bool = False
    _has_ended: bool = False
    _waiting: int = 0
    _claims: list[int] = field(default_factory=list)
    _copies: list[int] = field(default_factory=list)
    # Of the database that the claims belong to.
    _namespace: int = 0
    _process: str | None = None

    def revalidate(self, recorded: KnownPage) -> None:
        """Let its request be made with the validators that were recorded."""
        if etag := recorded.row.etag:
            plain = _COMPRESSED.sub("", etag)
            self._validators["If-None-Match"] = etag if plain == etag else f"{etag}, {plain}"
        if modified := recorded.row.modified:
            self._validators["If-Modified-Since"] = modified

    def add_conditions(self, request: Request) -> None:
        """Make its request conditional, unless a component has done so."""
        if not is_conditional(request):
            self.conditions = self._validators
            request.headers.update(self.conditions)

    def drop_conditions(self, request: Request) -> None:
        """Remove the conditions from its request, so that no copy of it carries them on."""
        for name in self.conditions:
            request.headers.pop(name, None)

    def read(self, request: Request, response: Response) -> None:
        """Note the response that the callback gets, as it was downloaded."""
        self._size = len(response.body)
        names = ("ETag", "Last-Modified", "Date", "Cache-Control", "Vary", "Content-Encoding")
        etag, modified, date, control, vary, encoding = (
            (response.headers.get(name) or b"").decode("latin-1") for name in names
        )
        self.is_sound &= not {"dataloss", "partial"}.intersection(response.flags)
        self._packed = response.body if encoding in {"gzip", "x-gzip", "deflate"} else b""
        is_for_all = "no-store" not in control.lower() and vary.strip() != "*"
        if is_for_all and not any(request.meta.get(name) for name in _BROWSERS):
            self._etag = etag if 0 < len(etag) <= _LONGEST_TAG else None
            self._modified = modified if _is_over(modified, date) else None
            if not self._modified and _is_of_time(etag, modified):
                self._etag = None

    def see(self, output: Any) -> None:
        """Note what the callback yields."""
        if is_item(output):
            self._waiting += 1
        elif output is not None:
            self._has_links = True
            if self.is_sound:
                self.is_sound = self.stored.is_storable(output)
            output.meta[ASKED] = {}

    def end(self, response: Response, *, well: bool) -> bool:
        """Note that the callback of a response has ended; whether everything is settled."""
        self._has_ended = True
        self.is_sound &= well and is_whole(self._packed, response.body)
        self._packed = b""
        return not self._waiting

    def settle(self, verdict: Verdict | None, *, is_safe: bool) -> bool:
        """Note the outcome of an item, stored or covered; whether everything is settled."""
        self._waiting -= 1
        if verdict is None or verdict.kind == "failed_open" or not is_safe:
            self.is_sound = False
        elif verdict.kind != "skipped" or verdict.claim:
            row = verdict.claim or (verdict.match.row if verdict.match else None)
            if row and verdict.row and verdict.kind == "duplicate":
                self._copies += row.id, verdict.row.identity
            elif row:
                self._claims.append(row.id)
            if row:
                self._namespace, self._process = row.namespace, verdict.process
            self._is_unchanged &= verdict.status == "unchanged"
        return self._has_ended and not self._waiting

    def visit(self) -> PageVisit:
        """What is recorded of a page that was read, or has to be read again."""
        row = PageRow(
            identity=self.identity,
            size=self._size,
            depth=self.depth,
            request=pack_request(self.plain),
        )
        if not (self.is_sound and self._has_ended):
            before = self.recorded.row if self.recorded else row
            row = row._replace(namespace=before.namespace, claims=before.claims)
            return PageVisit(row._replace(copies=before.copies), "failed")
        row = row._replace(
            namespace=self._namespace,
            interval=self._longer() if self._is_unchanged else _FIRST_INTERVAL,
            has_links=self._has_links,
            etag=self._etag,
            modified=self._modified,
            claims=pack_numbers(self._claims),
            copies=pack_numbers(self._copies),
        )
        return PageVisit(row, "read", self._process)

    def unmodified(self) -> PageVisit:
        """What is recorded of a page that its server calls unmodified."""
        recorded = cast("KnownPage", self.recorded)
        row = recorded.row._replace(depth=self.depth, interval=self._longer())
        return PageVisit(row, "unmodified", recorded.process)

    def is_late(self) -> bool:
        """Whether it has changed, and only a visit that reads all pages has shown that."""
        recorded = self.recorded
        if self._is_unchanged or recorded is None or not recorded.is_trusted:
            return False
        return recorded.in_full_visit and recorded.is_stale

    def _longer(self) -> int:
        before = self.recorded.row.interval if self.recorded else 0
        return min(max(_FIRST_INTERVAL, 2 * before), _LAST_INTERVAL)


def is_fresh(recorded: KnownPage, mode: Revisit) -> bool:
    """Whether a page with items and without links need not be asked for yet."""
    row = recorded.row
    if mode == "conditional" or row.has_links or not (row.claims or row.copies):
        return False
    # A clock may have been ahead when it was answered.
    return 0 <= recorded.age < (row.interval if mode == "adaptive" else mode)


def is_conditional(request: Request) -> bool:
    """Whether a request is conditional."""
    return any(name in request.headers for name in ("If-None-Match", "If-Modified-Since"))


def is_whole(packed: bytes, body: bytes) -> bool:
    """Whether nothing is missing at the end of a compressed body: Scrapy takes what is there."""
    # The last bytes of gzip are the size, which is much faster to compare.
    if not packed or int.from_bytes(packed[-4:], "little") == len(body):
        return True
    stream = zlib.decompressobj(47)  # of gzip or zlib
    try:
        while packed and not stream.eof:
            stream.decompress(packed, _PORTION)
            packed = stream.unconsumed_tail
    except zlib.error:
        return False
    return stream.eof


def _is_of_time(etag: str, modified: str) -> bool:
    """Whether an ETag is made of a time of modification, as that of nginx."""
    found = re.match(r'(?:W/)?"([0-9a-f]{1,12})-', etag)
    try:
        changed = parsedate_to_datetime(modified).timestamp() if found and modified else None
    except (TypeError, ValueError, OverflowError):
        return False
    return found is not None and changed == int(found[1], 16)


def _is_over(modified: str, now: str) -> bool:
    """Whether a time of modification is before now: within one second there may be two versions."""
    if not modified or len(modified) > 64:
        return False
    try:
        changed = parsedate_to_datetime(modified)
        return not now or changed < parsedate_to_datetime(now)
    except (TypeError, ValueError):
        # It can't be read, or only one of the times has a zone.
        return False
