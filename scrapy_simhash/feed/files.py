"""Feeds as files: JSON Lines and CSV, read item by item."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO, TextIO

__all__ = ["Feed", "FeedError"]


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
        with self._open() as stream, self._text(stream) as text:
            return _line_of(next(csv.reader(text), []))

    def items(self) -> Generator[tuple[dict[str, Any], bytes]]:
        """The items, each with the line that says the same.

        Raises:
            FeedError: a line is no item; says which.
        """
        with self._open() as stream:
            if self.is_csv:
                with self._text(stream) as text:
                    yield from self._rows(text)
            else:
                yield from self._objects(stream)

    def _objects(self, lines: BinaryIO) -> Generator[tuple[dict[str, Any], bytes]]:
        for number, line in enumerate(lines, 1):
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

    def _rows(self, text: TextIO) -> Generator[tuple[dict[str, Any], bytes]]:
        reader = csv.reader(text)
        # A field may be as long as the texts of the feed are.
        limit = csv.field_size_limit(1 << 30)
        try:
            names = next(reader, [])
            for row in reader:
                if row:
                    yield dict(zip(names, row, strict=False)), _line_of(row)
        except csv.Error as error:
            raise FeedError(f"{self.path}, line {reader.line_num}: {error}") from error
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
        try:
            with gzip.open(self.path, "rb") as unpacked:
                yield cast("BinaryIO", unpacked)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FeedError(f"{self.path} can't be decompressed: {error}") from error

    @contextmanager
    def _text(self, stream: BinaryIO) -> Iterator[TextIO]:
        try:
            with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
                yield text
        except UnicodeDecodeError as error:
            raise FeedError(f"{self.path} is not UTF-8: {error}") from error


def _line_of(row: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue().encode()
