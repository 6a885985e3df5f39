"""Feeds as files: JSON Lines and CSV, read item by item, written by whole parts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO, TextIO

__all__ = ["Feed", "Output"]


class Feed:
    """A file of items: JSON Lines or CSV by its name, compressed if that ends in ``.gz``.

    Raises:
        ValueError: its name says nothing known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        suffixes = [suffix.lower() for suffix in path.suffixes]
        self.is_compressed = suffixes[-1:] == [".gz"]
        kind = suffixes[-2:-1] if self.is_compressed else suffixes[-1:]
        if not kind or kind[0] not in {".jsonl", ".jl", ".ndjson", ".csv"}:
            raise ValueError(f"{path}: wanted is a name that ends in .jsonl, .jl or .csv, or .gz")
        self.is_csv = kind == [".csv"]

    def header(self) -> bytes:
        """What stands before the first item."""
        if not self.is_csv:
            return b""
        with self._open() as stream, _text(stream) as text:
            return _line_of(next(csv.reader(text), []))

    def items(self) -> Generator[tuple[dict[str, Any], bytes]]:
        """The items, each with the line that says the same.

        Raises:
            ValueError: a line is no item; says which.
        """
        with self._open() as stream:
            if self.is_csv:
                with _text(stream) as text:
                    yield from self._rows(text)
                return
            for number, line in enumerate(stream, 1):
                if line.isspace():
                    continue
                try:
                    item = json.loads(line)
                except ValueError as error:
                    raise ValueError(f"{self.path}, line {number}: no JSON ({error})") from error
                if not isinstance(item, dict):
                    raise ValueError(  # noqa: TRY004 - it is the file that is wrong
                        f"{self.path}, line {number}: an object is wanted"
                    )
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
            raise ValueError(f"{self.path}, line {reader.line_num}: {error}") from error
        finally:
            csv.field_size_limit(limit)

    def identity(self) -> str:
        """Tells it from other feeds, and from what it was before it changed."""
        with self.path.open("rb") as stream:
            beginning = stream.read(1 << 20)
        size = self.path.stat().st_size
        return blake2b(beginning + str(size).encode(), digest_size=12).hexdigest()

    def _open(self) -> BinaryIO:
        if self.is_compressed:
            return cast("BinaryIO", gzip.open(self.path, "rb"))
        return self.path.open("rb")


class Output:
    """A file that grows by whole parts, and is cut back to what is known of it."""

    def __init__(self, path: Path, length: int, header: bytes) -> None:
        self._compressed = path.suffix.lower() == ".gz"
        self._stream = path.open("r+b" if path.exists() else "w+b")
        self._stream.seek(length)
        self._stream.truncate()
        if not length and header:
            self.write(header)

    def write(self, lines: bytes) -> None:
        """Append whole lines."""
        # Members of gzip that follow each other are one file: it can be cut between any two.
        self._stream.write(gzip.compress(lines, 6) if self._compressed and lines else lines)

    def sync(self) -> int:
        """Wait until it is stored; its length."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _text(stream: BinaryIO) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _line_of(row: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(row)
    return text.getvalue().encode()
