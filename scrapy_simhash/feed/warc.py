"""Web archives in WARC, by FastWARC: their pages, and copies of their records byte for byte."""

from __future__ import annotations

import gzip
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from os import SEEK_END
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.chunks import Chunk, chunks_of
from scrapy_simhash.feed.compressed import without_suffix
from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.feed.files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

__all__ = ["ARCHIVES", "WarcFile", "WarcPage"]

#: The names of archives end so, before ".gz".
ARCHIVES = (".warc", ".wet")

_HTML = ("text/html", "application/xhtml+xml")
_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_HEAD = re.compile(rb"WARC/.*?\ncontent-length:[ \t]*(\d+).*?\n\r?\n", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WarcPage:
    """A page as it was fetched.

    Attributes:
        url: its address.
        date: when it was fetched, as the archive has it.
        html: its bytes; None where the archive has its text.
        text: that; None where there is a page.
    """

    url: str
    date: str
    html: bytes | None
    text: str | None


class _Record(NamedTuple):
    start: int
    page: WarcPage | None


class WarcFile:
    """An archive, as it is or compressed record by record.

    Its pages are answers of the status 2xx in HTML, and what was converted to text (WET). All else,
    as requests and pictures, is no page.

    Attributes:
        path: of the file.
        form: "WARC", or "WARC .gz".
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_compressed = path.suffix.lower() == ".gz"

    @property
    def form(self) -> str:
        """What files have in common that can be written to one."""
        return "WARC .gz" if self._is_compressed else "WARC"

    def can_be(self, path: Path) -> bool:
        """Whether a file of that name is of this form: records are copied as they are."""
        is_compressed = path.suffix.lower() == ".gz"
        return without_suffix(path) in ARCHIVES and is_compressed is self._is_compressed

    def identity(self) -> str:
        """Tells it from other files, and from what it was before it changed."""
        return beginning_of(self.path)

    def chunks(self) -> Generator[Chunk]:
        """Its pages.

        Raises:
            FeedError: it can't be read.
        """
        return chunks_of(self._pages())

    def unpacked(self, packed: Sequence[WarcPage]) -> Sequence[WarcPage]:
        """The pages of a chunk."""
        return packed

    def item(self, record: WarcPage) -> WarcPage:
        """A page is what is compared."""
        return record

    @contextmanager
    def written(self, path: Path, stream: BinaryIO) -> Iterator[_Archive]:
        """Write such an archive to a stream."""
        yield _Archive(stream)

    def _pages(self) -> Generator[tuple[WarcPage, int]]:
        for record in self._records():
            if (page := record.page) is not None:
                yield page, len(page.html or page.text or "")

    def _records(self) -> Generator[_Record]:
        warc, before = _fastwarc(), -1
        try:
            with self.path.open("rb") as stream:
                archive = warc.ArchiveIterator(stream, parse_http=True, auto_decode="all")
                for record in archive:
                    self._check_place(record.stream_pos, before)
                    before = record.stream_pos
                    yield _Record(record.stream_pos, _page(record, warc.WarcRecordType))
                self._check_end(stream, max(before, 0))
        except FeedError:
            raise
        except (OSError, ValueError) as error:
            raise FeedError(f"{self.path}: no WARC that can be read ({error})") from error

    def _check_place(self, start: int, before: int) -> None:
        """Refuse records that can't be told apart by where they stand in the file."""
        if start == before:
            raise FeedError(f"{self.path}: compressed as a whole, not record by record: unpack it")

    def _check_end(self, stream: BinaryIO, last: int) -> None:
        """Refuse a file that was cut off: FastWARC takes what there is of a record, or leaves it.

        Args:
            stream: the file.
            last: where the last record begins that was found in it.
        """
        if not _ends_whole(stream, last):
            raise FeedError(f"{self.path}: ends within a record: it was cut off")


class _Archive:
    """An archive that is written."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def add(self, source: WarcFile, wanted: Iterator[bool], *, rest: bool) -> None:
        """Copy the pages of another archive that are wanted, and all that is no page or not."""
        end = _Record(source.path.stat().st_size, None)
        with source.path.open("rb") as stream:
            for record, following in pairwise(chain(source._records(), [end])):
                is_wanted = rest if record.page is None else next(wanted, False)
                if is_wanted:
                    stream.seek(record.start)
                    self._copy(stream, following.start - record.start)

    def _copy(self, stream: BinaryIO, size: int) -> None:
        while size and (block := stream.read(min(size, _BLOCK))):
            self._stream.write(block)
            size -= len(block)


def _ends_whole(stream: BinaryIO, last: int) -> bool:
    """Whether all is there of a record, and of what follows."""
    size = stream.seek(0, SEEK_END)
    stream.seek(last)
    begun = stream.read(_BLOCK)
    if not begun.startswith(_GZIP):
        head = _HEAD.match(begun)
        return not begun or (head is not None and last + head.end() + int(head[1]) <= size)
    stream.seek(last)
    try:
        with gzip.GzipFile(fileobj=stream) as rest:
            while rest.read(_BLOCK):
                pass
    except (EOFError, zlib.error):
        return False
    return True


def _page(record: Any, types: Any) -> WarcPage | None:
    """The page of a record, if it is one."""
    url, date = record.headers.get("WARC-Target-URI", ""), record.headers.get("WARC-Date", "")
    if record.record_type == types.conversion:
        return WarcPage(url, date, None, record.reader.read().decode("utf-8", "replace"))
    if record.record_type != types.response or record.http_headers is None:
        return None
    status, type_ = record.http_headers.status_code, record.http_content_type or ""
    if not 200 <= (status or 0) < 300 or type_.lower() not in _HTML:
        return None
    return WarcPage(url, date, record.reader.read(), None)


def _fastwarc() -> Any:
    try:
        from fastwarc import warc  # noqa: PLC0415 - for whoever has such files
    except ImportError as error:
        raise FeedError("WARC needs FastWARC: pip install 'scrapy-simhash[warc]'") from error
    return warc
