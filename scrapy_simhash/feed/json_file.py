"""JSON Lines, and JSON arrays as `scrapy crawl -O items.json` writes them."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from scrapy_simhash.feed.source import (
    CHUNK_BYTES,
    MOST_BYTES,
    MOST_VALUES,
    TOO_LARGE,
    FeedError,
    FeedRecord,
    Output,
    RecordError,
    TextFile,
    chosen,
    compressing,
    format_of,
    open_unpacked,
)

#: Suffixes of JSON Lines, and that of arrays.
JSON_LINES = frozenset({".jsonl", ".jl", ".ndjson"})
ARRAY = ".json"

# Characters that are searched for the beginning of the first element.
_HEAD = 1 << 16
_ARRAY_OF_OBJECTS = re.compile(r"\s*+\[\s*+[{\]]")
# An object on several lines.
_LONG_OBJECT = re.compile(r"\s*+\{[ \t\r]*+\n")
# What stands before an element. A crawl with `-o items.json` appends an array, so two elements may
# be of two arrays; and there may be a comma behind the last one.
_FIRST = re.compile(r"\A\s*+\[\s*+")
_BETWEEN = re.compile(r"[\s,]*+(?:\]\s*+\[[\s,]*+)*+")

_decode = json.JSONDecoder().raw_decode


def json_file(path: Path, named: str | None = None) -> TextFile:
    """A file of JSON: an array of objects, whatever its name, or JSON Lines.

    Raises:
        FeedError: it is a single object that holds others, or is on several lines.
    """
    source = JsonLines(path, named)
    with source.text() as text:
        head = text.read(_HEAD)
        is_array = format_of(path) == ARRAY and head.lstrip().startswith("[")
        if is_array or _ARRAY_OF_OBJECTS.match(head):
            return JsonArray(path, named)
        is_long = _LONG_OBJECT.match(head) is not None
        if is_long or (format_of(path) == ARRAY and "\n" not in head.strip()):
            held = _objects_in(head + text.read(MOST_BYTES))
            if held or is_long:
                query = max(held, key=lambda one: held[one], default=".")
                raise FeedError(
                    f"{path}: a single JSON object; allowed are an array of objects, and an object "
                    f"on each line: jq -c {quote(query)} writes these"
                )
    return source


def _objects_in(text: str) -> Counter[str]:
    """How many objects the first one of a text holds in lists, or all of it, by what finds them."""
    found = Counter[str]()

    def look(value: Mapping[str, Any]) -> None:
        for name, one in value.items():
            if isinstance(one, dict):
                look(one)
            elif isinstance(one, list) and one and all(isinstance(part, dict) for part in one):
                quoted = json.dumps(name, ensure_ascii=False)
                found[f".. | .[{quoted}]? // empty | .[]"] += len(one)

    # What is cut is not read in full, and one may be nested too deeply.
    with suppress(ValueError, RecursionError):
        whole = _decode(text.lstrip())[0]
        look(whole)
        if len(whole) > 1 and all(isinstance(one, dict) for one in whole.values()):
            found[".[]"] = len(whole)
    return found


class JsonLines(TextFile):
    """A file of JSON objects, one on each line. Its records are lines with their numbers."""

    form = "JSON Lines"
    suffixes = JSON_LINES

    def records(self) -> Generator[FeedRecord]:
        """Yield the lines that are not blank, in UTF-8 and without a comma behind the object."""
        for number, line in enumerate(self._lines(), 1):
            if len(line) > MOST_BYTES:
                raise FeedError(f"{self.path}, line {number}: {TOO_LARGE}")
            if text := line.strip():
                yield FeedRecord(number, text[:-1] if text.endswith(b"},") else text, len(line))

    def item(self, record: FeedRecord) -> dict[str, Any]:
        """The object on a line."""
        number, line, size = record
        problem = "not a JSON object"
        # Parsed, each of these values takes up to 200 bytes.
        if size > MOST_VALUES < sum(map(line.count, (b",", b"[", b"{"))):
            problem = TOO_LARGE
        else:
            try:
                item = json.loads(line.decode("utf-8-sig"))
                if isinstance(item, dict):
                    return item
            except RecursionError:
                problem = "nested too deeply"
            except UnicodeDecodeError:
                problem = self.unreadable
            except ValueError as error:
                problem = f"invalid JSON ({error})"
        raise RecordError(f"{self.path}, line {number}: {problem}")

    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted lines."""
        with compressing(output.stream, output.path) as packed:
            packed.writelines(record[1] + b"\n" for _, record in chosen(sources, wanted))

    def _lines(self) -> Generator[bytes]:
        """Yield the lines of the file; one that is too long is cut off."""
        if self.encoding == "utf-8":
            with open_unpacked(self.path) as stream:
                yield from iter(partial(stream.readline, MOST_BYTES + 1), b"")
        else:
            with self.text("\n") as text:
                for line in iter(partial(text.readline, MOST_BYTES + 1), ""):
                    yield line.encode("utf-8", "surrogateescape")


class JsonArray(TextFile):
    """A file of one or several JSON arrays. Its records are elements with their numbers."""

    form = "JSON array"
    suffixes = frozenset({ARRAY})

    def records(self) -> Generator[FeedRecord]:
        """Yield the elements of the arrays, of which one or a chunk is held.

        Raises:
            FeedError: the array is cut off, or an element is too large or can't be read, and so
                none behind it.
        """
        buffer, at, number, gap = "", 0, 1, _FIRST
        problem = cut_off = "the array is cut off"
        with self.text(errors="strict") as text:
            while block := text.read(CHUNK_BYTES):
                buffer, at, problem = buffer[at:] + block, 0, cut_off
                while (found := gap.match(buffer, at)) and found.end() < len(buffer):
                    at, gap = found.end(), _BETWEEN
                    if buffer[at] == "]":
                        problem = "something stands behind the end of the array"
                        break
                    try:
                        item, end = _decode(buffer, at)
                    except (ValueError, RecursionError) as error:
                        # It may go on in the next chunk.
                        problem = f"invalid JSON, or cut off ({getattr(error, 'msg', error)})"
                        break
                    if end == len(buffer):
                        break  # as may a number
                    yield FeedRecord(number, item, end - at)
                    at, number = end, number + 1
                left = len(buffer) - at
                if left > MOST_BYTES or left > MOST_VALUES < buffer.count(",", at):
                    problem = f"{problem}, or {TOO_LARGE}"
                    raise FeedError(f"{self.path}, item {number}: {problem}")
        if buffer[at:].strip() != "]":
            raise FeedError(f"{self.path}, item {number}: {problem}")

    def item(self, record: FeedRecord) -> dict[str, Any]:
        """The element, if it is an object."""
        if not isinstance(record.content, dict):
            raise RecordError(f"{self.path}, item {record.place}: not a JSON object")
        return record.content

    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Write the wanted elements."""
        write_json((record.content for _, record in chosen(sources, wanted)), output)


def _as_text(value: Any) -> str:
    """A value of a Parquet table that JSON has no type for."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


#: Writes a value, in UTF-8 also what is not ASCII.
to_json = json.JSONEncoder(ensure_ascii=False, default=_as_text).encode


def write_json(values: Iterable[Any], output: Output) -> None:
    """Write values as JSON Lines or as an array, by the suffix."""
    # JSON may have lone surrogates, which are no UTF-8.
    lines = (to_json(value).encode("utf-8", "backslashreplace") for value in values)
    with compressing(output.stream, output.path) as packed:
        if format_of(output.path) != ARRAY:
            packed.writelines(line + b"\n" for line in lines)
            return
        packed.write(b"[\n")
        packed.writelines((b",\n" if place else b"") + line for place, line in enumerate(lines))
        packed.write(b"\n]\n")
