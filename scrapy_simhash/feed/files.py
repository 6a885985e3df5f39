"""Feeds as files: JSON Lines and CSV, read item by item."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing, contextmanager
from functools import cached_property
from hashlib import blake2b
from itertools import count, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.feed import chunks as chunking
from scrapy_simhash.feed.chunks import Chunk, chunks_of
from scrapy_simhash.feed.compressed import (
    compressing,
    is_compressed,
    open_unpacked,
    without_suffix,
)
from scrapy_simhash.feed.errors import FeedError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO, Any, AnyStr, BinaryIO

__all__ = ["Feed", "FeedError", "beginning_of", "bounded_lines"]

# As much as the quarantine takes of an item.
_MOST, _TOO_LONG = 64 << 20, "longer than 64 MiB"


_KINDS = {".jsonl", ".jl", ".ndjson", ".csv"}


class Feed:
    """A file of items: JSON Lines or CSV by its name, which may say that it is compressed.

    Attributes:
        path: of the file.
        form: "JSON Lines", or "CSV" with the names of its columns.

    Raises:
        FeedError: its name says nothing known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        suffix = without_suffix(path)
        if suffix not in _KINDS:
            raise FeedError(f"{path}: wanted is a name that ends in .jsonl, .jl or .csv, or .gz")
        self.is_csv = suffix == ".csv"

    @property
    def form(self) -> str:
        """What files have in common that can be written to one."""
        return f"CSV {','.join(self._header or [])}" if self.is_csv else "JSON Lines"

    def can_be(self, path: Path) -> bool:
        """Whether a file of that name is of this form."""
        return (without_suffix(path) == ".csv") is self.is_csv and without_suffix(path) in _KINDS

    def header(self) -> bytes:
        """What stands before the first item.

        Raises:
            FeedError: it can't be read.
        """
        return _line_of(self._header) if self.is_csv and self._header is not None else b""

    def items(self) -> Generator[tuple[dict[str, Any], bytes]]:
        """The items, each with the line that says the same.

        Raises:
            FeedError: a line is no item; says which.
        """
        with closing(self.records()) as records:
            for record in records:
                yield self.item(record), self.line(record)

    def records(self) -> Generator[Any]:
        """The rows, or the lines with their numbers, of the items.

        Raises:
            FeedError: what there is can't be read; says where.
        """
        if self.is_csv:
            with closing(self._rows()) as rows:
                next(rows, None)
                yield from filter(None, rows)
            return
        with closing(self._blocks()) as blocks:
            for block, lines in blocks:
                yield from _items_of(block, lines)

    def chunks(self) -> Generator[Chunk]:
        """The same by the many. Lines are not sent but found again, unless they are compressed.

        Raises:
            FeedError: what there is can't be read; says where.
        """
        if self.is_csv:
            with closing(self.records()) as rows:
                yield from chunks_of((row, sum(map(len, row))) for row in rows)
            return
        is_plain = not is_compressed(self.path)
        with closing(self._blocks()) as blocks:
            for block, lines in blocks:
                if count := sum(1 for _ in _items_of(block, lines)):
                    yield Chunk(count, block._replace(content=b"") if is_plain else block)

    def unpacked(self, packed: Any) -> Iterable[Any]:
        """The records of a chunk.

        Raises:
            FeedError: the file is not what it was any more.
        """
        if self.is_csv:
            rows: Iterable[Any] = packed
            return rows
        block: _Block = packed
        if not block.content:
            with self.path.open("rb") as stream:
                stream.seek(block.start)
                block = block._replace(content=stream.read(block.size))
        return _items_of(block, block.content.split(b"\n"))

    def item(self, record: Any) -> dict[str, Any]:
        """The item of a record.

        Raises:
            FeedError: it is none; says which.
        """
        if self.is_csv:
            names = self._header or []
            is_plain = len(set(names)) == len(names) >= len(record)
            return dict(zip(names, record, strict=False)) if is_plain else _named(names, record)
        number, line = record
        try:
            item = json.loads(line)
        except RecursionError as error:
            raise FeedError(f"{self.path}, line {number}: nested too deeply") from error
        except ValueError as error:
            raise FeedError(f"{self.path}, line {number}: no JSON ({error})") from error
        if not isinstance(item, dict):
            raise FeedError(f"{self.path}, line {number}: an object is wanted")
        return item

    def line(self, record: Any) -> bytes:
        """A record as it is written."""
        if self.is_csv:
            return _line_of(record)
        line: bytes = record[1]
        return line + b"\n"

    @contextmanager
    def written(self, path: Path, stream: BinaryIO) -> Iterator[Lines]:
        """Write such a feed to a stream, in the form that a path says."""
        with compressing(stream, path) as packed:
            packed.write(self.header())
            yield Lines(packed)

    @cached_property
    def _header(self) -> list[str] | None:
        """The first row of a CSV file; None where there is none."""
        with closing(self._rows()) as rows:
            return next(rows, None)

    def _blocks(self) -> Generator[tuple[_Block, list[bytes]]]:
        """Lines by the many, as they stand and one by one; none is longer than one may be."""
        number, start = 1, 0
        with self._open() as stream:
            while content := stream.read(chunking.BYTES):
                if not content.endswith(b"\n"):
                    begun = len(content) - content.rfind(b"\n") - 1
                    rest = stream.readline(_MOST + 1 - begun)
                    if begun + len(rest) > _MOST:
                        line = number + content.count(b"\n")
                        raise FeedError(f"{self.path}, line {line}: {_TOO_LONG}")
                    content += rest
                lines = content.split(b"\n")
                yield _Block(number, start, len(content), content), lines
                number += len(lines) - 1
                start += len(content)

    def _rows(self) -> Generator[list[str]]:
        """The rows of a CSV file; no row is longer than a line may be."""
        number = held = 0

        def lines() -> Iterator[str]:
            nonlocal number, held
            for number, line in bounded_lines(self.path, text):
                held += len(line)
                # A row goes on as long as a quotation mark is open.
                if held > _MOST:
                    raise FeedError(f"{self.path}, line {number}: {_TOO_LONG}")
                yield _checked(self.path, number, line)

        # A field may be as long as the texts of the feed are.
        limit = csv.field_size_limit(_MOST)
        try:
            with (
                self._open() as stream,
                io.TextIOWrapper(
                    stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
                ) as text,
            ):
                for row in csv.reader(lines()):
                    yield row
                    held = 0
        except csv.Error as error:
            raise FeedError(f"{self.path}, line {number}: {error}") from error
        finally:
            csv.field_size_limit(limit)

    def identity(self) -> str:
        """Tells it from other feeds, and from what it was before it changed."""
        return beginning_of(self.path)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with open_unpacked(self.path) as stream:
            yield stream


class Lines:
    """A feed that is written."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def add(self, source: Feed, wanted: Iterator[bool], *, rest: bool) -> None:
        """Write the records of another feed that are wanted, as they are."""
        with closing(source.records()) as records:
            for record, is_wanted in zip(records, wanted, strict=False):
                if is_wanted:
                    self._stream.write(source.line(record))


class _Block(NamedTuple):
    """Whole lines that follow each other.

    Attributes:
        number: of the first one, from 1 on.
        start, size: where they stand in the file, in bytes.
        content: empty where they are to be found there.
    """

    number: int
    start: int
    size: int
    content: bytes


def _items_of(block: _Block, lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that say something, with their numbers."""
    for number, line in enumerate(lines, block.number):
        if line and not line.isspace():
            yield number, line


def beginning_of(path: Path) -> str:
    """A digest of the first mebibyte of a file and of its size."""
    with path.open("rb") as stream:
        beginning = stream.read(1 << 20)
    size = path.stat().st_size
    return blake2b(beginning + str(size).encode(), digest_size=12).hexdigest()


def bounded_lines(path: Path, stream: IO[AnyStr]) -> Iterator[tuple[int, AnyStr]]:
    """The lines of a file with their numbers, from 1 on.

    Raises:
        FeedError: a line is longer than 64 MiB, as in a file of another kind or in a few bytes
            that stand for very many.
    """
    for number in count(1):
        line = stream.readline(_MOST + 1)
        if len(line) > _MOST:
            raise FeedError(f"{path}, line {number}: {_TOO_LONG}")
        if not line:
            return
        yield number, line


def _checked(path: Path, number: int, line: str) -> str:
    """A line in which bytes that are no UTF-8 would be lone surrogates."""
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise FeedError(f"{path}, line {number}: not UTF-8") from error
    return line


def _named(names: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    """The cells by their names; by name and place where a name stands twice, or there is none.

    Of two columns of one name neither may hide the other: rows that differ there are different.
    """
    named: dict[str, dict[str, str]] = {}
    for place, (name, cell) in enumerate(zip_longest(names, row, fillvalue="")):
        named.setdefault(name, {})[str(place)] = cell
    return {
        name: cells if len(cells) > 1 else next(iter(cells.values()))
        for name, cells in named.items()
    }


def _line_of(row: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue().encode()
