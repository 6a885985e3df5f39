"""JSON arrays, as `scrapy crawl -O items.json` writes them, read in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.compressed import compressing, without_suffix
from scrapy_simhash.feed.json_lines import ARRAY, JsonLines, LineBlock
from scrapy_simhash.feed.source import (
    CHUNK_BYTES,
    MOST_BYTES,
    TOO_LONG,
    FeedError,
    Output,
    RecordError,
)

# Bytes that are searched for the beginning of the first element.
_HEAD = 1 << 16
_ARRAY_OF_OBJECTS = re.compile(rb"\s*+\[\s*+(?:\{|\]\s*+\Z)")
# An object on several lines.
_LONG_OBJECT = re.compile(rb"\s*+\{[ \t\r]*+\n")

# What stands before the first element, between two elements, and behind the last one. A crawl with
# `-o items.json` appends an array, so two elements may be of two arrays.
_FIRST = re.compile(rb"\s*+\[\s*+")
_BETWEEN = re.compile(rb"\s*+(?:,|\]\s*+\[)?+\s*+")
_END = re.compile(rb"\s*+\]\s*+")
# Text up to the next bracket outside of a string, and a value without brackets.
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\]]', re.DOTALL)
_SCALAR = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+"|[^\s,"{}\[\]]++)(?=[\s,\]])', re.DOTALL)


def json_file(path: Path, named: str | None = None) -> JsonLines:
    """A file of JSON: an array of objects, whatever its name, or JSON Lines.

    Raises:
        FeedError: it is a single object that holds others, or is on several lines.
    """
    source = JsonLines(path, named)
    with source.opened() as stream:
        head = stream.read(_HEAD)
        if _ARRAY_OF_OBJECTS.match(head):
            return JsonArray(path, named)
        is_long = _LONG_OBJECT.match(head) is not None
        if is_long or (without_suffix(path) == ARRAY and b"\n" not in head.strip()):
            _check_object(source, head + stream.read(MOST_BYTES), is_long=is_long)
    return source


def _check_object(source: JsonLines, text: bytes, *, is_long: bool) -> None:
    try:
        item = source.item((1, text))
    except RecordError:
        item = {}
    name = next((name for name, value in item.items() if _are_objects(value)), None)
    if name is not None or is_long:
        more = "" if name is None else f". Its field {name!r} is one: jq '.[\"{name}\"]' writes it"
        raise FeedError(
            f"{source.path}: a single JSON object; allowed are an array of objects, and an object "
            f"on each line{more}"
        )


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and {*map(type, value)} == {dict}


class JsonArray(JsonLines):
    """A file of one or several JSON arrays. Its records are elements with their numbers."""

    form = "JSON array"
    unit = "item"

    @property
    def is_seekable(self) -> bool:
        """Elements are not lines."""
        return False

    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted elements; to an array, with what stands between them."""
        if without_suffix(output.path) != ARRAY:
            super().write(sources, wanted, output)
            return
        opening, end, is_begun = b"", b"", False
        with compressing(output.stream, output.path) as packed:
            for piece in (piece for source in sources for piece in source.pieces()):
                if not piece.element:
                    end = piece.before
                    continue
                opening = opening or piece.before
                if next(wanted, False):
                    between = b",\n" if b"[" in piece.before else piece.before
                    packed.write(between if is_begun else opening)
                    packed.write(piece.element)
                    is_begun = True
            packed.write(end if is_begun else (opening or b"[") + end)

    def pieces(self) -> Generator[_Piece]:
        """Yield the elements of the arrays; the last piece has no element.

        Raises:
            FeedError: this is no array, the array is cut off, or an element is too long.
        """
        with self.opened() as stream:
            yield from _Scanner(self.path, stream).pieces()

    def _blocks(self) -> Generator[LineBlock]:
        """Yield the elements as lines: a line feed in an element is white space."""
        number, lines, size = 1, list[bytes](), 0
        with closing(self.pieces()) as pieces:
            for _, element in pieces:
                if element:
                    lines.append(element.replace(b"\n", b" ") + b"\n")
                    size += len(lines[-1])
                if lines and (size >= CHUNK_BYTES or not element):
                    yield LineBlock(number, 0, size, b"".join(lines))
                    number, lines, size = number + len(lines), [], 0


class _Piece(NamedTuple):
    """An element and what stands before it, as they are written."""

    before: bytes
    element: bytes


class _Scanner:
    """Finds the elements of arrays by their brackets, whether or not these are valid JSON."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._stream = path, stream
        self._text, self._start, self._number = b"", 0, 1

    def pieces(self) -> Generator[_Piece]:
        """Yield the elements; the last piece has no element."""
        match = _FIRST.match
        while True:
            before = self._size_of(match)
            place = self._start + before
            if end := _END.match(self._text, place):
                if end.end() < len(self._text):
                    raise self._error("something stands behind the end of the array")
                if self._read():
                    continue
                yield _Piece(self._text[place if self._number == 1 else self._start :], b"")
                return
            size = self._size_of_value(before)
            place = self._start + before
            stop = place + size
            yield _Piece(self._text[self._start : place], self._text[place:stop])
            self._start, self._number, match = stop, self._number + 1, _BETWEEN.match

    def _size_of(self, match: Callable[[bytes, int], re.Match[bytes] | None]) -> int:
        """The size of what stands before the next element or the end."""
        while True:
            gap = match(self._text, self._start)
            if gap and gap.end() < len(self._text):
                return gap.end() - self._start
            self._read_more()

    def _size_of_value(self, before: int) -> int:
        """The size of an element behind so many bytes."""
        depth = size = 0
        while True:
            place = self._start + before
            if self._text[place] not in b"{[":
                if scalar := _SCALAR.match(self._text, place):
                    return scalar.end() - place
            else:
                while bracket := _BRACKET.match(self._text, place + size):
                    size = bracket.end() - place
                    depth += 1 if self._text[bracket.end() - 1] in b"{[" else -1
                    if not depth:
                        return size
            self._read_more()

    def _read_more(self) -> None:
        if not self._read():
            raise self._error("the array is cut off")

    def _read(self) -> bool:
        """Read on, and forget what was taken; False at the end of the file."""
        if len(self._text) - self._start > MOST_BYTES:
            raise self._error(TOO_LONG)
        block = self._stream.read(CHUNK_BYTES)
        self._text, self._start = self._text[self._start :] + block, 0
        return bool(block)

    def _error(self, problem: str) -> FeedError:
        return FeedError(f"{self._path}, item {self._number}: {problem}")
