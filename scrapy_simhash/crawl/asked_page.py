"""A page that a crawl asks for, from its request until all its items are settled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.crawl.checks import Revisit
from scrapy_simhash.crawl.settings import DAY
from scrapy_simhash.crawl.stored_request import Plain, StoredRequests, are_same
from scrapy_simhash.crawl.tracking import is_item
from scrapy_simhash.index.pages import (
    KnownPage,
    PageRow,
    PageVisit,
    pack_numbers,
    pack_request,
    unpack_request,
)
from scrapy_simhash.index.verdict import Verdict

#: In the meta of a request that waits: the identity of the page that led to it.
SCHEDULED = "simhash_scheduled"

#: The headers that make a request conditional.
CONDITIONS = ("If-None-Match", "If-Modified-Since")

#: "adaptive" asks again after so many seconds: at first, and at most.
_FIRST_INTERVAL = 3600
_LAST_INTERVAL = 30 * DAY

#: A page that was not modified at all visits since it was read is read at this one; one that was
#: gone is then forgotten, as all pages that may still link to it have been read.
_TENTH = 10

#: Longer values of ETag are not kept.
_LONGEST_TAG = 1000

#: Apache adds this to the ETag of a compressed page, and does not know it when it is asked.
_COMPRESSED = re.compile(r"[-;](?:gzip|br|zstd|deflate)(?=\"$)")

#: Requests whose page a browser fills: the validators are those of an empty frame.
_BROWSERS = ("playwright", "splash", "zyte_api", "zyte_api_automap")


@dataclass(slots=True, eq=False)
class AskedPage:
    """A page that is asked for.

    Attributes:
        identity: the hash of its request.
        plain: its request.
        parent: the identity of the page that led to it.
        stored: tells which requests can be made again.
        known: what is known of it.
        is_only_known: whether it is asked for only because it is known.
        conditions: the headers that were added to its request.
        is_answered: whether its callback gets a response.
        is_sound: whether it need not be read again, if it stays as it is.
    """

    identity: int
    plain: Plain
    parent: int
    stored: StoredRequests
    known: KnownPage | None = None
    is_only_known: bool = False
    conditions: dict[str, str] = field(default_factory=dict)
    is_answered: bool = False
    is_sound: bool = True
    _is_unchanged: bool = True
    _etag: str | None = None
    _modified: str | None = None
    _size: int = 0
    _url: str = ""
    _has_links: bool = False
    _has_ended: bool = False
    _waiting: int = 0
    _claims: list[int] = field(default_factory=list)
    _copies: list[int] = field(default_factory=list)
    # Of the database that the claims belong to.
    _namespace: int = 0
    _process: str | None = None

    def drop_conditions(self, request: Request) -> None:
        """Remove the conditions from a request, so that no copy of it carries them on."""
        for name in self.conditions:
            request.headers.pop(name, None)

    def read(self, request: Request, response: Response) -> None:
        """Note the response that the callback gets."""
        self.is_answered, self._url = True, response.url
        headers = response.headers
        length = _text(headers, "Content-Length") or ""
        self._size = int(length) if re.fullmatch("[0-9]{1,9}", length) else len(response.body)
        control, vary = (_text(headers, name) or "" for name in ("Cache-Control", "Vary"))
        is_for_all = "no-store" not in control.lower() and vary.strip() != "*"
        if is_for_all and not any(request.meta.get(name) for name in _BROWSERS):
            etag, modified = _text(headers, "ETag"), _text(headers, "Last-Modified")
            self._etag = etag if etag and len(etag) <= _LONGEST_TAG else None
            self._modified = modified if _is_over(modified, _text(headers, "Date")) else None

    def see(self, output: Any) -> None:
        """Note what the callback yields."""
        if is_item(output):
            self._waiting += 1
        elif output is not None:
            self._has_links = True
            output.meta[SCHEDULED] = self.identity
            if self.is_sound:
                # A page that is tried again has not shown what it has.
                is_retry = output.dont_filter and output.url == self._url
                self.is_sound = not is_retry and self.stored.is_storable(output)

    def end(self, *, well: bool) -> bool:
        """Note that the callback has ended; whether everything is settled."""
        self._has_ended = True
        self.is_sound &= well
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
        """What is recorded of a page that was read."""
        if not self.is_sound:
            return self.failed()
        is_unchanged = self.known is not None and self._is_unchanged
        row = self._row()._replace(
            namespace=self._namespace,
            interval=self._longer() if is_unchanged else _FIRST_INTERVAL,
            has_links=self._has_links,
            etag=self._etag,
            modified=self._modified,
            claims=pack_numbers(self._claims),
            copies=pack_numbers(self._copies),
        )
        return PageVisit(row, "read", self._process)

    def unmodified(self, *, asked: bool = True) -> PageVisit:
        """What is recorded of a known page that is as it was, or is not asked for."""
        assert self.known is not None  # noqa: S101 - for the checker of types
        row = self.known.row._replace(is_only_known=self.is_only_known)
        if asked:
            row = row._replace(interval=self._longer(), visits=row.visits + 1)
        return PageVisit(row, "unmodified" if asked else "left_out", self.known.process)

    def failed(self, *, is_gone: bool = False) -> PageVisit:
        """What is recorded of a page that has to be read again."""
        before = self.known.row.visits if self.known and not self.known.row.size else 0
        visits = before + 1 if is_gone else 0
        row = self._row()._replace(visits=visits, size=0 if is_gone else max(1, self._size))
        return PageVisit(row, "forgotten" if visits >= _TENTH else "failed")

    def is_late(self) -> bool:
        """Whether a page has changed that was called unmodified until it had to be read."""
        was_due = self.known is not None and self.known.row.visits >= _TENTH - 1
        return was_due and not self._is_unchanged

    def _row(self) -> PageRow:
        return PageRow(
            identity=self.identity,
            size=self._size,
            parent=self.parent,
            is_only_known=self.is_only_known,
            request=pack_request(self.plain),
        )

    def _longer(self) -> int:
        before = self.known.row.interval if self.known else 0
        return min(max(_FIRST_INTERVAL, 2 * before), _LAST_INTERVAL)


def may_stay(asked: AskedPage, *, depth_counts: bool) -> bool:
    """Whether a page need not be read if it was not modified."""
    known = asked.known
    if known is None or not known.is_trusted or not asked.is_sound:
        return False
    if asked.is_only_known:
        return True
    try:
        before = unpack_request(known.row.request)
    except ValueError:
        return False
    # Where it is nearer to the start than before, more of its links are followed.
    depth, then = (plain.get("meta", {}).get("depth", 0) for plain in (asked.plain, before))
    return are_same(asked.plain, before) and not (depth_counts and depth < then)


def is_early(known: KnownPage, mode: Revisit) -> bool:
    """Whether a page with items and without links need not be asked for yet."""
    row = known.row
    if mode == "conditional" or row.has_links or not (row.claims or row.copies):
        return False
    return known.age < (row.interval if mode == "adaptive" else mode)


def conditions(row: PageRow) -> dict[str, str]:
    """The headers that ask whether a page was modified; none if it is to be read."""
    headers = {}
    if row.etag:
        plain = _COMPRESSED.sub("", row.etag)
        headers["If-None-Match"] = row.etag if plain == row.etag else f"{row.etag}, {plain}"
    if row.modified:
        headers["If-Modified-Since"] = row.modified
    return headers if row.visits < _TENTH - 1 else {}


def _text(headers: Mapping[Any, Any], name: str) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _is_over(modified: str | None, now: str | None) -> bool:
    """Whether a time of modification is before now: within one second there may be two versions."""
    if not modified or len(modified) > 64:
        return False
    try:
        changed = parsedate_to_datetime(modified)
        return now is None or changed < parsedate_to_datetime(now)
    except (TypeError, ValueError):
        # It can't be read, or only one of the times has a zone.
        return False
