"""JSON Lines and CSV, plain or compressed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_simhash.feed.compressed import (
    compressing,
    is_compressed,
    open_unpacked,
    without_suffix,
)
from scrapy_simhash.feed.source import (
    CHUNK_BYTES,
    MOST_BYTES,
    MOST_VALUES,
    Chunk,
    FeedError,
    Output,
    RecordError,
    Source,
    chosen,
    chunks_of,
)

#: Suffixes of JSON Lines.
JSON_LINES = frozenset({".jsonl", ".jl", ".ndjson"})

_BRACE = ord("{")
_TOO_LONG, _TOO_MANY = "longer than 16 MiB", f"more than {MOST_VALUES:,} values"


class JsonLines(Source):
    """A file of JSON objects, one on each line. Its records are lines with their numbers."""

    form = "JSON Lines"

    def can_write(self, path: Path) -> bool:
        """Compressed or not."""
        return without_suffix(path) in JSON_LINES

    def chunks(self) -> Generator[Chunk]:
        """The lines that are not blank."""
        # Where the file is not compressed, other processes can read the lines themselves.
        is_plain = not is_compressed(self.path)
        with closing(self._blocks()) as blocks:
            for block in blocks:
                _, length = _count(block.content)
                yield Chunk(length, block._replace(content=b"") if is_plain else block, block.size)

    def unpacked(self, packed: Block) -> Iterable[tuple[int, bytes]]:
        """The lines of a chunk that are not blank, with their numbers."""
        for number, line in enumerate(self.block(packed).content.split(b"\n"), packed.number):
            if line and not line.isspace():
                yield number, line

    def block(self, packed: Block) -> Block:
        """A chunk with its content."""
        if packed.content:
            return packed
        with self.path.open("rb") as stream:
            stream.seek(packed.start)
            return packed._replace(content=stream.read(packed.size))

    def item(self, record: tuple[int, bytes]) -> dict[str, Any]:
        """The object on a line."""
        number, line = record
        place = f"{self.path}, line {number}"
        # Parsed, each of these values takes up to 200 bytes.
        if len(line) > MOST_VALUES < sum(map(line.count, (b",", b"[", b"{"))):
            raise RecordError(f"{place}: {_TOO_MANY}")
        try:
            item = json.loads(line)
        except RecursionError as error:
            raise RecordError(f"{place}: nested too deeply") from error
        except ValueError as error:
            raise RecordError(f"{place}: invalid JSON ({error})") from error
        if not isinstance(item, dict):
            raise RecordError(f"{place}: not a JSON object")
        return item

    def write(self, sources: Sequence[JsonLines], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted lines; there is nothing else."""
        with compressing(output.stream, output.path) as packed:
            for source in sources:
                with closing(source._blocks()) as blocks:
                    for block in blocks:
                        for part in _chosen(block.content, wanted):
                            packed.write(part)

    def _blocks(self) -> Generator[Block]:
        """Blocks of whole lines; no line is longer than allowed."""
        number, start = 1, 0
        with open_unpacked(self.path) as stream:
            while content := stream.read(CHUNK_BYTES):
                if not content.endswith(b"\n"):
                    begun = len(content) - content.rfind(b"\n") - 1
                    missing = stream.readline(MOST_BYTES + 1 - begun)
                    if begun + len(missing) > MOST_BYTES:
                        line = number + content.count(b"\n")
                        raise FeedError(f"{self.path}, line {line}: {_TOO_LONG}")
                    content += missing
                yield Block(number, start, len(content), content)
                number += _count(content)[0]
                start += len(content)


class CsvFile(Source):
    """A table whose first row names the columns. Its records are rows with their last lines."""

    @property
    def form(self) -> str:
        """CSV with the names of its columns."""
        return f"CSV {','.join(self._names)}"

    def can_write(self, path: Path) -> bool:
        """Compressed or not."""
        return without_suffix(path) == ".csv"

    def header(self) -> bytes:
        """The row with the names; it may be a blank line. Nothing in an empty file."""
        with closing(self._rows()) as rows:
            return b"" if next(rows, None) is None else _line(self._names)

    def records(self) -> Generator[tuple[int, list[str]]]:
        """The rows behind the header."""
        with closing(self._rows()) as rows:
            next(rows, None)
            yield from (record for record in rows if record[1])

    def chunks(self) -> Generator[Chunk]:
        """The rows behind the header."""
        with closing(self.records()) as rows:
            yield from chunks_of(
                (record, sum(map(len, record[1]), len(record[1]))) for record in rows
            )

    def item(self, record: tuple[int, list[str]]) -> dict[str, Any]:
        """The cells of a row by the names of their columns."""
        number, row = record
        try:
            "".join(row).encode()
        except UnicodeEncodeError as error:  # other bytes were decoded to lone surrogates
            raise RecordError(f"{self.path}, line {number}: not UTF-8") from error
        if self._has_unique_names and len(row) <= len(self._names):
            return dict(zip(self._names, row, strict=False))
        return self._named(row)

    def write(self, sources: Sequence[CsvFile], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted rows behind the header."""
        with compressing(output.stream, output.path) as packed:
            packed.write(self.header())
            for _, (_, row) in chosen(sources, wanted):
                packed.write(_line(row))

    @cached_property
    def _names(self) -> list[str]:
        """The first row; empty in an empty file."""
        with closing(self._rows()) as rows:
            names = next(rows, (0, []))[1]
        if any("\udc80" <= sign <= "\udcff" for sign in "".join(names)):  # see `item`
            raise FeedError(f"{self.path}, line 1: not UTF-8")
        return names

    @cached_property
    def _has_unique_names(self) -> bool:
        return len(set(self._names)) == len(self._names)

    def _named(self, row: Sequence[str]) -> dict[str, Any]:
        """The cells by column name; cells of equally named columns as a dict by position.

        Rows that differ in one of these columns must stay different.
        """
        named: dict[str, dict[str, str]] = {}
        for place, cell in enumerate(row):
            name = self._names[place] if place < len(self._names) else ""
            named.setdefault(name, {})[str(place)] = cell
        return {
            name: cells if len(cells) > 1 else next(iter(cells.values()))
            for name, cells in named.items()
        }

    def _rows(self) -> Generator[tuple[int, list[str]]]:
        """The rows with the numbers of their last lines, from 1; none is longer than allowed."""
        number = size = cells = 0

        def checked(line: str) -> str:
            nonlocal number, size, cells
            number += 1
            size += len(line)
            cells += line.count(",")
            if size > MOST_BYTES or cells > MOST_VALUES:
                problem = _TOO_LONG if size > MOST_BYTES else _TOO_MANY
                raise FeedError(f"{self.path}, line {number}: {problem}")
            return line

        # By default csv refuses cells of 128 KiB.
        limit = csv.field_size_limit(MOST_BYTES)
        try:
            with (
                open_unpacked(self.path) as stream,
                io.TextIOWrapper(
                    stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
                ) as text,
            ):
                # A row continues as long as a quotation mark is open.
                lines = iter(lambda: text.readline(MOST_BYTES + 1 - size), "")
                for row in csv.reader(map(checked, lines)):
                    yield number, row
                    size = cells = 0
        except csv.Error as error:
            raise FeedError(f"{self.path}, line {number}: {error}") from error
        finally:
            csv.field_size_limit(limit)


class Block(NamedTuple):
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


def _chosen(content: bytes, wanted: Iterator[bool]) -> Iterator[memoryview | bytes]:
    """The wanted lines among those that are not blank, consecutive ones together."""
    lines, start, at = memoryview(content), 0, 0
    while at < len(content):
        end = content.find(b"\n", at) + 1 or len(content)
        is_blank = content[at] != _BRACE and content[at:end].isspace()
        if is_blank or not next(wanted, False):
            yield lines[start:at]
            start = end
        at = end
    yield lines[start:]
    if start < at and not content.endswith(b"\n"):
        yield b"\n"


def _line(row: Sequence[str]) -> bytes:
    """A row in CSV."""
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue().encode(errors="surrogateescape")


def _count(content: bytes) -> tuple[int, int]:
    """How many lines these are, and how many of them are not blank."""
    lines = filled = at = 0
    while at < len(content):
        end = content.find(b"\n", at)  # much faster than count() if lines are long
        end = end if end >= 0 else len(content)
        # Nearly every line begins with a brace, and need not be copied to be looked at.
        filled += content[at] == _BRACE or (end > at and not content[at:end].isspace())
        lines += 1
        at = end + 1
    return lines, filled
