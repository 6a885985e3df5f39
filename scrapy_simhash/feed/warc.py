"""Web archives in WARC, by FastWARC. Records are copied byte for byte."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from itertools import chain, pairwise
from os import SEEK_END
from typing import Any, BinaryIO

from scrapy_simhash.feed.source import (
    MOST_BYTES,
    FeedError,
    FeedRecord,
    Output,
    RecordError,
    Source,
    format_of,
    optional,
)
from scrapy_simhash.text.html import decode

#: Suffixes of archives, and of those in which each record is compressed.
PLAIN = frozenset({".warc", ".wet"})
ARCHIVES = frozenset({*PLAIN, *(f"{suffix}.gz" for suffix in PLAIN)})

_HTML = ("text/html", "application/xhtml+xml")
_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
# The head of a record with its length. Only the first length counts, so that a damaged file is read
# once.
_HEAD = re.compile(
    rb"WARC/(?>.*?\ncontent-length:[ \t]*+0*+(\d{0,20})).*?\n\r?\n", re.DOTALL | re.IGNORECASE
)


# Its URL, the name of the field with its content, its encoding by the HTTP headers, its content.
_Page = tuple[str, str, str | None, bytes]


class WarcFile(Source):
    """An archive, plain or compressed record by record.

    Its pages are HTML responses with a status of 2xx, and texts (WET). Everything else, such as
    requests and images, is not compared.
    """

    @property
    def suffixes(self) -> frozenset[str]:
        """Those of archives with the same compression, as records are copied as they are."""
        return PLAIN if format_of(self.path) in PLAIN else ARCHIVES - PLAIN

    @property
    def form(self) -> str:
        """WARC with or without compression."""
        return "WARC" if self.suffixes == PLAIN else "WARC .gz"

    def records(self) -> Generator[FeedRecord]:
        """Yield the pages."""
        pages = (page for _, page in self._parts() if page is not None)
        for number, page in enumerate(pages, 1):
            yield FeedRecord(number, page, len(page[-1]))

    def item(self, record: FeedRecord) -> dict[str, str]:
        """The URL of a page, with its HTML or, of WET, its text."""
        url, name, encoding, content = record.content
        if len(content) > MOST_BYTES:
            raise RecordError(f"{self.path}, page {record.place}: more than 16 MiB ({url})")
        return {"url": url, name: decode(content, encoding)}

    def write(self, sources: Sequence[WarcFile], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted pages and, if asked for, all records that are no pages."""
        for source in sources:
            end = source.path.stat().st_size, None
            with source.path.open("rb") as archive:
                for (start, page), (next_start, _) in pairwise(chain(source._parts(), [end])):
                    is_wanted = output.others if page is None else next(wanted, False)
                    if is_wanted:
                        archive.seek(start)
                        _copy(archive, output.stream, next_start - start)

    def _parts(self) -> Generator[tuple[int, _Page | None]]:
        """Yield the places of all records, with their pages."""
        warc, last = optional("fastwarc.warc", "warc"), -1
        with self.path.open("rb") as stream:
            try:
                for record in warc.ArchiveIterator(stream, parse_http=True, auto_decode="all"):
                    if record.stream_pos == last:
                        raise FeedError("compressed as a whole, not record by record: unpack it")
                    last = record.stream_pos
                    yield last, _page(record, warc.WarcRecordType)
                # FastWARC accepts a truncated record, or skips it.
                if not _is_complete(stream, max(last, 0)):
                    raise FeedError("truncated: ends within a record")
            except (OSError, ValueError) as error:
                raise FeedError(f"{self.path}: not a readable WARC file ({error})") from error


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size and (block := source.read(min(size, _BLOCK))):
        target.write(block)
        size -= len(block)


def _is_complete(stream: BinaryIO, last: int) -> bool:
    """Whether the last record of a file, which begins at this position, is complete."""
    size = stream.seek(0, SEEK_END)
    stream.seek(last)
    begun = stream.read(_BLOCK)
    if not begun.startswith(_GZIP):
        head = _HEAD.match(begun)
        return not begun or (head is not None and last + head.end() + int(head[1] or 0) <= size)
    stream.seek(last)
    try:
        with gzip.GzipFile(fileobj=stream) as unpacked:
            while unpacked.read(_BLOCK):
                pass
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return False
    return True


def _page(record: Any, types: Any) -> _Page | None:
    """The page in a record, if it has one."""
    url = record.headers.get("WARC-Target-URI", "")
    if record.record_type == types.conversion:
        return url, "text", None, record.reader.read(MOST_BYTES + 1)
    if record.record_type != types.response or record.http_headers is None:
        return None
    status, type_ = record.http_headers.status_code, record.http_content_type or ""
    if not 200 <= (status or 0) < 300 or type_.lower() not in _HTML:
        return None
    return url, "html", record.http_charset, record.reader.read(MOST_BYTES + 1)
