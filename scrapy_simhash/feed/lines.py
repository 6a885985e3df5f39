"""JSON Lines and CSV, plain or compressed."""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from itertools import compress, count, zip_longest
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.compressed import (
    compressing,
    is_compressed,
    open_unpacked,
    without_suffix,
)
from scrapy_simhash.feed.source import CHUNK_BYTES, Chunk, FeedError, Source, chunks_of

#: Suffixes of JSON Lines.
JSON_LINES = frozenset({".jsonl", ".jl", ".ndjson"})

# The quarantine takes no larger items either.
_MOST, _TOO_LONG = 64 << 20, "longer than 64 MiB"


class _Lines(Source):
    """A file of records that follow each other, perhaps behind a header."""

    @abstractmethod
    def header(self) -> bytes:
        """What precedes the first record."""

    @abstractmethod
    def records(self) -> Generator[Any]:
        """The records, without blank lines.

        Raises:
            FeedError: the file can't be read; the message says where.
        """

    @abstractmethod
    def line(self, record: Any) -> bytes:
        """The bytes of a record in a file."""

    def write(
        self,
        sources: Sequence[_Lines],
        wanted: Iterator[bool],
        path: Path,
        stream: BinaryIO,
        *,
        others: bool,
    ) -> None:
        """Copy the wanted records; there are no others."""
        with compressing(stream, path) as packed:
            packed.write(self.header())
            for source in sources:
                with closing(source.records()) as records:
                    # compress takes the record first: at the end of a file no flag is lost.
                    for line in map(source.line, compress(records, wanted)):
                        packed.write(line)


class JsonLines(_Lines):
    """A file of JSON objects, one on each line. Its records are lines with their numbers."""

    form = "JSON Lines"

    def can_write(self, path: Path) -> bool:
        """Compressed or not."""
        return without_suffix(path) in JSON_LINES

    def header(self) -> bytes:
        """JSON Lines have none."""
        return b""

    def records(self) -> Generator[tuple[int, bytes]]:
        """The lines that are not blank."""
        with closing(self._blocks()) as blocks:
            for block, lines in blocks:
                yield from _numbered(block, lines)

    def chunks(self) -> Generator[Chunk]:
        """The lines that are not blank."""
        # Where the file is not compressed, other processes can read the lines themselves.
        is_plain = not is_compressed(self.path)
        with closing(self._blocks()) as blocks:
            for block, lines in blocks:
                blank = lines.count(b"") + sum(map(bytes.isspace, lines))
                if length := len(lines) - blank:
                    yield Chunk(length, block._replace(content=b"") if is_plain else block)

    def unpacked(self, packed: _Block) -> Iterable[tuple[int, bytes]]:
        """The lines of a chunk."""
        if not packed.content:
            with self.path.open("rb") as stream:
                stream.seek(packed.start)
                packed = packed._replace(content=stream.read(packed.size))
        return _numbered(packed, packed.content.split(b"\n"))

    def item(self, record: tuple[int, bytes]) -> dict[str, Any]:
        """The object on a line."""
        number, line = record
        try:
            item = json.loads(line)
        except RecursionError as error:
            raise FeedError(f"{self.path}, line {number}: nested too deeply") from error
        except ValueError as error:
            raise FeedError(f"{self.path}, line {number}: invalid JSON ({error})") from error
        if not isinstance(item, dict):
            raise FeedError(f"{self.path}, line {number}: not a JSON object")
        return item

    def line(self, record: tuple[int, bytes]) -> bytes:
        """The line with its line feed."""
        return record[1] + b"\n"

    def _blocks(self) -> Generator[tuple[_Block, list[bytes]]]:
        """Whole lines, as a block and one by one; no line is longer than allowed."""
        number, start = 1, 0
        with open_unpacked(self.path) as stream:
            while content := stream.read(CHUNK_BYTES):
                if not content.endswith(b"\n"):
                    begun = len(content) - content.rfind(b"\n") - 1
                    missing = stream.readline(_MOST + 1 - begun)
                    if begun + len(missing) > _MOST:
                        line = number + content.count(b"\n")
                        raise FeedError(f"{self.path}, line {line}: {_TOO_LONG}")
                    content += missing
                lines = content.split(b"\n")
                yield _Block(number, start, len(content), content), lines
                number += len(lines) - 1
                start += len(content)


class CsvFile(_Lines):
    """A table whose first row names the columns. Its records are rows."""

    @property
    def form(self) -> str:
        """CSV with the names of its columns."""
        return f"CSV {','.join(self._names or [])}"

    def can_write(self, path: Path) -> bool:
        """Compressed or not."""
        return without_suffix(path) == ".csv"

    def header(self) -> bytes:
        """The row with the names."""
        return b"" if self._names is None else self.line(self._names)

    def records(self) -> Generator[list[str]]:
        """The rows behind the header."""
        with closing(self._rows()) as rows:
            next(rows, None)
            yield from filter(None, rows)

    def chunks(self) -> Generator[Chunk]:
        """The rows behind the header."""
        with closing(self.records()) as rows:
            yield from chunks_of((row, sum(map(len, row))) for row in rows)

    def item(self, record: Sequence[str]) -> dict[str, Any]:
        """The cells of a row by the names of their columns."""
        names = self._names or []
        is_plain = len(set(names)) == len(names) >= len(record)
        return dict(zip(names, record, strict=False)) if is_plain else _named(names, record)

    def line(self, record: Sequence[str]) -> bytes:
        """The row in CSV."""
        text = io.StringIO()
        csv.writer(text).writerow(record)
        return text.getvalue().encode()

    @cached_property
    def _names(self) -> list[str] | None:
        """The first row; None in an empty file."""
        with closing(self._rows()) as rows:
            return next(rows, None)

    def _rows(self) -> Generator[list[str]]:
        """The rows; none is longer than a line may be."""
        number = held = 0

        def lines() -> Iterator[str]:
            nonlocal number, held
            for number, line in _bounded_lines(self.path, text):
                held += len(line)
                # A row continues as long as a quotation mark is open.
                if held > _MOST:
                    raise FeedError(f"{self.path}, line {number}: {_TOO_LONG}")
                yield _checked(self.path, number, line)

        # By default csv refuses cells of 128 KiB.
        limit = csv.field_size_limit(_MOST)
        try:
            with (
                open_unpacked(self.path) as stream,
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


class _Block(NamedTuple):
    """Consecutive whole lines.

    Attributes:
        number: of the first line, from 1.
        start, size: place in the unpacked file, in bytes.
        content: the lines; empty if they can be read from there.
    """

    number: int
    start: int
    size: int
    content: bytes


def _numbered(block: _Block, lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    for number, line in enumerate(lines, block.number):
        if line and not line.isspace():
            yield number, line


def _bounded_lines(path: Path, stream: IO[str]) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1.

    Raises:
        FeedError: a line is longer than 64 MiB, as in a binary file or a decompression bomb.
    """
    for number in count(1):
        line = stream.readline(_MOST + 1)
        if len(line) > _MOST:
            raise FeedError(f"{path}, line {number}: {_TOO_LONG}")
        if not line:
            return
        yield number, line


def _checked(path: Path, number: int, line: str) -> str:
    """The line, if its bytes were UTF-8: others were decoded to lone surrogates."""
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise FeedError(f"{path}, line {number}: not UTF-8") from error
    return line


def _named(names: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    """The cells by column name; cells of equally named columns as a dict by position.

    Rows that differ in one of these columns must stay different.
    """
    named: dict[str, dict[str, str]] = {}
    for place, (name, cell) in enumerate(zip_longest(names, row, fillvalue="")):
        named.setdefault(name, {})[str(place)] = cell
    return {
        name: cells if len(cells) > 1 else next(iter(cells.values()))
        for name, cells in named.items()
    }
