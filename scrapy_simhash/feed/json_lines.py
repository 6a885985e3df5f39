"""JSON Lines, plain or compressed."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.compressed import compressing, is_compressed, without_suffix
from scrapy_simhash.feed.encodings import TextFile
from scrapy_simhash.feed.source import (
    CHUNK_BYTES,
    MOST_BYTES,
    MOST_VALUES,
    TOO_LONG,
    TOO_MANY,
    Chunk,
    FeedError,
    Output,
    RecordError,
)

try:
    import orjson
except ModuleNotFoundError:
    orjson = None  # type: ignore[assignment]  # json takes two or three times as long

#: Suffixes of JSON Lines, and that of arrays.
JSON_LINES = frozenset({".jsonl", ".jl", ".ndjson"})
ARRAY = ".json"

_BRACE = ord("{")

# From here on a float of orjson may be an integer that it has rounded.
_ROUNDED = 2.0**63
# Levels of nesting that both parsers read.
_LEVELS = 100


class JsonLines(TextFile):
    """A file of JSON objects, one on each line. Its records are lines with their numbers."""

    form = "JSON Lines"
    # What a record is called.
    unit = "line"

    def can_write(self, path: Path) -> bool:
        """Compressed or not, also as an array."""
        return without_suffix(path) in {*JSON_LINES, ARRAY}

    def chunks(self) -> Generator[Chunk]:
        """The lines that are not blank."""
        with closing(self._blocks()) as blocks:
            for block in blocks:
                _, length = _count(block.content)
                packed = block._replace(content=b"") if self.is_seekable else block
                yield Chunk(length, packed, block.size)

    @property
    def is_seekable(self) -> bool:
        """Whether other processes can read the lines themselves."""
        return not is_compressed(self.path) and self.encoding == "utf-8"

    def unpacked(self, packed: LineBlock) -> Iterable[tuple[int, bytes]]:
        """The lines of a chunk that are not blank, with their numbers."""
        for number, line in enumerate(self.block(packed).content.split(b"\n"), packed.number):
            if line and not line.isspace():
                yield number, line

    def block(self, packed: LineBlock) -> LineBlock:
        """A chunk with its content."""
        if packed.content:
            return packed
        with self.path.open("rb") as stream:
            stream.seek(packed.start)
            return packed._replace(content=stream.read(packed.size))

    def item(self, record: tuple[int, bytes]) -> dict[str, Any]:
        """The object on a line."""
        number, line = record
        place = f"{self.path}, {self.unit} {number}"
        # Parsed, each of these values takes up to 200 bytes.
        if len(line) > MOST_VALUES < sum(map(line.count, (b",", b"[", b"{"))):
            raise RecordError(f"{place}: {TOO_MANY}")
        try:
            item = _parsed(line)
        except RecursionError as error:
            raise RecordError(f"{place}: nested too deeply") from error
        except UnicodeDecodeError as error:
            raise RecordError(f"{place}: {self.unreadable}") from error
        except ValueError as error:
            raise RecordError(f"{place}: invalid JSON ({error})") from error
        if not isinstance(item, dict):
            raise RecordError(f"{place}: not a JSON object")
        return item

    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted lines; there is nothing else."""
        with compressing(output.stream, output.path) as packed:
            if without_suffix(output.path) == ARRAY:
                records = (record for source in sources for record in source.records())
                write_array(packed, (line for _, line in compress(records, wanted)))
                return
            for source in sources:
                with closing(source._blocks()) as blocks:
                    for block in blocks:
                        for part in _chosen(block.content, wanted):
                            packed.write(part)

    def _blocks(self) -> Generator[LineBlock]:
        """Blocks of whole lines; no line is longer than allowed."""
        number, start = 1, 0
        with self.opened() as stream:
            while content := stream.read(CHUNK_BYTES):
                if not content.endswith(b"\n"):
                    begun = len(content) - content.rfind(b"\n") - 1
                    missing = stream.readline(MOST_BYTES + 1 - begun)
                    if begun + len(missing) > MOST_BYTES:
                        line = number + content.count(b"\n")
                        raise FeedError(f"{self.path}, line {line}: {TOO_LONG}")
                    content += missing
                yield LineBlock(number, start, len(content), content)
                number += _count(content)[0]
                start += len(content)


class LineBlock(NamedTuple):
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


def _parsed(line: bytes) -> Any:
    """The value on a line, as json reads it, which knows NaN, huge integers and lone surrogates."""
    if orjson is not None:
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(line)
            if _is_exact(value):
                return value
    # Given bytes, json would tell the encoding of each line.
    return json.loads(line.decode("utf-8-sig", "surrogatepass"))


def _is_exact(value: Any) -> bool:
    """Whether json surely reads the same as orjson."""
    values = [value]
    for _ in range(_LEVELS):
        inner = list[Any]()
        for one in values:
            kind = type(one)
            if kind is dict:
                inner += one.values()
            elif kind is list:
                inner += one
            elif kind is float and abs(one) >= _ROUNDED:
                return False
        if not inner:
            return True
        values = inner
    return False


def write_array(stream: BinaryIO, elements: Iterable[bytes]) -> None:
    """Write JSON objects as an array, as Scrapy does."""
    before = b"[\n"
    for element in elements:
        stream.write(before + element.strip())
        before = b",\n"
    stream.write(b"\n]\n" if before == b",\n" else b"[]\n")


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
