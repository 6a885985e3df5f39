"""Feeds as files: JSON Lines and CSV, read item by item."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import count, zip_longest
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path
    from typing import IO, Any, AnyStr, BinaryIO

__all__ = ["Feed", "FeedError", "bounded_lines"]

# As much as the quarantine takes of an item.
_MOST, _TOO_LONG = 64 << 20, "longer than 64 MiB"


class FeedError(ValueError):
    """A feed, its output or the note of its progress is not what it has to be."""


class Feed:
    """A file of items: JSON Lines or CSV by its name, compressed if that ends in ``.gz``.

    Raises:
        FeedError: its name says nothing known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        suffixes = [suffix.lower() for suffix in path.suffixes]
        self.is_compressed = suffixes[-1:] == [".gz"]
        kind = suffixes[-2:-1] if self.is_compressed else suffixes[-1:]
        if not kind or kind[0] not in {".jsonl", ".jl", ".ndjson", ".csv"}:
            raise FeedError(f"{path}: wanted is a name that ends in .jsonl, .jl or .csv, or .gz")
        self.is_csv = kind == [".csv"]

    def header(self) -> bytes:
        """What stands before the first item.

        Raises:
            FeedError: it can't be read.
        """
        if not self.is_csv:
            return b""
        with closing(self._rows()) as rows:
            return _line_of(next(rows, []))

    def items(self) -> Generator[tuple[dict[str, Any], bytes]]:
        """The items, each with the line that says the same.

        Raises:
            FeedError: a line is no item; says which.
        """
        return self._named_rows() if self.is_csv else self._objects()

    def _objects(self) -> Generator[tuple[dict[str, Any], bytes]]:
        with self._open() as stream:
            for number, line in bounded_lines(self.path, stream):
                if line.isspace():
                    continue
                try:
                    item = json.loads(line)
                except RecursionError as error:
                    raise FeedError(f"{self.path}, line {number}: nested too deeply") from error
                except ValueError as error:
                    raise FeedError(f"{self.path}, line {number}: no JSON ({error})") from error
                if not isinstance(item, dict):
                    raise FeedError(f"{self.path}, line {number}: an object is wanted")
                yield item, line if line.endswith(b"\n") else line + b"\n"

    def _named_rows(self) -> Generator[tuple[dict[str, Any], bytes]]:
        with closing(self._rows()) as rows:
            names = next(rows, [])
            are_distinct = len(set(names)) == len(names)
            for row in rows:
                if row:
                    is_plain = are_distinct and len(row) <= len(names)
                    item = dict(zip(names, row, strict=False)) if is_plain else _named(names, row)
                    yield item, _line_of(row)

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
        with self.path.open("rb") as stream:
            beginning = stream.read(1 << 20)
        size = self.path.stat().st_size
        return blake2b(beginning + str(size).encode(), digest_size=12).hexdigest()

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        if not self.is_compressed:
            with self.path.open("rb") as stream:
                yield stream
            return
        with gzip.open(self.path, "rb") as unpacked:
            yield cast("BinaryIO", unpacked)


def bounded_lines(path: Path, stream: IO[AnyStr]) -> Iterator[tuple[int, AnyStr]]:
    """The lines of a file with their numbers, from 1 on.

    Raises:
        FeedError: a line is longer than 64 MiB, as in a file of another kind or in a few bytes
            that stand for very many; or what is compressed ends too early, or is damaged.
    """
    for number in count(1):
        try:
            line = stream.readline(_MOST + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FeedError(f"{path}, line {number}: can't be decompressed: {error}") from error
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
