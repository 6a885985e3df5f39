"""Parquet tables, by pyarrow. What they take once unpacked is known before anything is unpacked.

A page of some bytes can stand for gigabytes: compression, runs of equal values, and a dictionary
whose values are repeated have no limit in the format. Nor have values of a fixed size, which take
it where they are null, and values that share their beginnings. So the headers of all pages are read
first.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.source import (
    MOST_BYTES,
    MOST_VALUES,
    Chunk,
    FeedError,
    Output,
    Source,
    chunks_of,
    optional,
)

# Rows that are written as a group, the most columns, and the most elements in a list of the footer.
_GROUP, _COLUMNS, _ELEMENTS = 16 * 1024, 10_000, 100_000
# The most values in lists, and bytes, that become objects at a time.
_MOST = (MOST_VALUES, MOST_BYTES)
# Rows that are read at a time, at most, and their bytes if there are several.
_ROWS, _BATCH = 1024, 64 << 20
# What a group of rows may take: this, and so many times its size in the file.
_FREE, _RATIO = 96 << 20, 8
# Levels and the place of a value in a list, in bytes.
_PER_VALUE = 12
# Types of values in Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _INT16, _INT64, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 4, 6, 7, 8, 12
_DICTIONARY, _SHARED_BEGINNINGS = 2, 7


def pyarrow() -> Any:
    """The library.

    Raises:
        FeedError: it is not installed.
    """
    for module in ("pyarrow.compute", "pyarrow.parquet"):
        optional(module, "parquet")
    return optional("pyarrow", "parquet")


class ParquetTable(Source):
    """A table. Its records are rows as dicts, which are the items."""

    @property
    def form(self) -> str:
        """Parquet with the columns and their types."""
        with self._open() as file:
            return f"Parquet {file.schema_arrow.remove_metadata()}"

    def can_write(self, path: Path) -> bool:
        """Any other Parquet file."""
        return path.suffix.lower() == ".parquet"

    def chunks(self) -> Generator[Chunk]:
        """The rows."""
        return chunks_of(self._sized_rows())

    def write(
        self, sources: Sequence[ParquetTable], wanted: Iterator[bool], output: Output
    ) -> None:
        """Copy the wanted rows; there is nothing else."""
        with self._open() as file:
            schema = file.schema_arrow
        _write(output.stream, _kept(sources, wanted, schema), schema)

    def _sized_rows(self) -> Generator[tuple[dict[str, Any], int]]:
        for batch in self._batches():
            rows = batch.to_pylist()
            size = _size(batch.columns)[1] // len(rows)
            yield from ((row, size) for row in rows)

    def _batches(self) -> Iterator[Any]:
        """Rows that fit into memory, also as dicts."""
        number = 0
        with self._open() as file:
            # A list may repeat one long text millions of times.
            columns = map(file.schema.column, range(file.metadata.num_columns))
            texts = [
                column.path
                for column in columns
                if column.max_repetition_level and column.physical_type == "BYTE_ARRAY"
            ]
        with self._open(read_dictionary=texts) as file, self.path.open("rb") as stream:
            try:
                for group in range(file.num_row_groups):
                    rows = _rows_at_a_time(stream, file.metadata.row_group(group), file.schema)
                    for batch in file.iter_batches(rows, [group], use_threads=False):
                        for part in _parts(batch):
                            number += len(part)
                            yield part
            except FeedError as error:
                raise FeedError(f"{self.path}, behind row {number}: {error}") from error
            except (OSError, ValueError, pyarrow().ArrowException) as error:
                raise FeedError(f"{self.path}: can't be read: {error}") from error

    @contextmanager
    def _open(self, **options: Any) -> Iterator[Any]:
        library = pyarrow()
        try:
            # By default a footer of some megabytes stands for a gigabyte of columns or notes.
            file = library.parquet.ParquetFile(
                self.path, thrift_container_size_limit=_ELEMENTS, **options
            )
        except (library.ArrowException, OSError) as error:
            raise FeedError(f"{self.path}: not a Parquet file ({error})") from error
        with file:
            if file.metadata.num_columns > _COLUMNS:
                raise FeedError(f"{self.path}: too many columns (the limit is {_COLUMNS:,})")
            yield file


def _parts(batch: Any) -> Iterator[Any]:
    """A batch, or parts with few enough values and bytes."""
    is_small = all(most >= found for most, found in zip(_MOST, _size(batch.columns), strict=True))
    if is_small:
        yield batch
    elif len(batch) == 1:
        raise FeedError("a row has more than 500,000 values or 16 MiB")
    else:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))


def _size(arrays: Iterable[Any]) -> tuple[int, int]:
    """The number of values in lists, and the bytes of texts."""
    values = size = 0
    for array in arrays:
        inner = _inner(array)
        found = _size(inner)
        values += sum(map(len, inner)) + found[0]
        size += found[1] if inner else _bytes(array)
    return values, size


def _inner(array: Any) -> list[Any]:
    """The values in lists, structs or maps."""
    types = pyarrow().types
    if types.is_map(array.type):
        start, stop = (array.offsets[place].as_py() for place in (0, -1))
        return [part.slice(start, stop - start) for part in (array.keys, array.items)]
    if types.is_struct(array.type):
        return list(array.flatten())
    return [array.flatten()] if types.is_nested(array.type) else []


def _bytes(array: Any) -> int:
    """The size of the values, with each in full that shares its text with others."""
    library = pyarrow()
    if not library.types.is_dictionary(array.type):
        return int(array.nbytes)
    kind = array.dictionary.type
    if library.types.is_string(kind) or library.types.is_binary(kind):
        lengths = library.compute.binary_length(array.dictionary)
        return int(library.compute.sum(lengths.take(array.indices)).as_py() or 0)
    return 8 * len(array)


def _kept(sources: Sequence[ParquetTable], wanted: Iterator[bool], schema: Any) -> Iterator[Any]:
    library = pyarrow()
    for batch in (batch for source in sources for batch in source._batches()):
        chosen = library.array(islice(wanted, len(batch)), library.bool_())
        if kept := batch.slice(0, len(chosen)).filter(chosen):
            yield kept.cast(schema)


def write_rows(stream: BinaryIO, rows: Iterable[dict[str, Any]], schema: Any) -> None:
    """Write dicts as a table."""
    batch, left = pyarrow().RecordBatch, iter(rows)
    parts = iter(lambda: list(islice(left, _ROWS)), [])
    _write(stream, (batch.from_pylist(part, schema) for part in parts), schema)


def _write(stream: BinaryIO, batches: Iterable[Any], schema: Any) -> None:
    """Write batches in groups of rows of a sensible size."""
    library = pyarrow()
    group: list[Any] = []
    with library.parquet.ParquetWriter(stream, schema) as writer:
        for batch in batches:
            group.append(batch)
            if sum(map(len, group)) >= _GROUP or sum(one.nbytes for one in group) >= MOST_BYTES:
                writer.write_table(library.Table.from_batches(group))
                group = []
        if group:
            writer.write_table(library.Table.from_batches(group))


class _Column(NamedTuple):
    """A column of a group of rows, in unpacked bytes.

    Attributes:
        page: of the largest page.
        pages: of all pages.
        fewest: the least number of values in a page but the last.
        values: number of values.
        dictionary: of the dictionary; 0 if there is none.
        each: what a value may take besides its part of a page.
    """

    page: int
    pages: int
    fewest: int
    values: int
    dictionary: int
    each: int

    def bytes_of(self, rows: int) -> int:
        """At most so many bytes have that many consecutive rows, without lists."""
        return (rows // self.fewest + 2) * self.page + rows * (self.dictionary + self.each)


def _rows_at_a_time(stream: BinaryIO, group: Any, schema: Any) -> int:
    """How many rows of a group can be read together.

    Raises:
        FeedError: its rows may take too much memory, or a page is damaged.
    """
    if group.num_columns != len(schema):
        raise FeedError("the group has other columns than the table")
    columns, most, need = [], _FREE, 0
    for number in range(group.num_columns):
        chunk = group.column(number)
        column = _column(stream, chunk, max(0, schema.column(number).length or 0))
        most += _RATIO * chunk.total_compressed_size
        need += column.page + column.dictionary + column.each
        if schema.column(number).max_repetition_level:
            # A single row may have all values.
            need += column.pages + (_PER_VALUE + column.each) * column.values
        else:
            columns.append(column)
    if need > most:
        raise FeedError(f"rows may take {need >> 20:,} MiB once unpacked")
    rows = _ROWS
    while rows > 1 and sum(column.bytes_of(rows) for column in columns) > _BATCH:
        rows //= 2
    return rows


def _column(stream: BinaryIO, chunk: Any, each: int) -> _Column:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    dictionary, sizes, counts = 0, [0], [1]
    for kind, size, count, encoding in _pages(stream, start, start + chunk.total_compressed_size):
        if kind == _DICTIONARY:
            dictionary = max(dictionary, size)
        else:
            sizes.append(size)
            counts.append(count)
            each = max(each, size if encoding == _SHARED_BEGINNINGS else 0)
    fewest = max(1, min(counts[1:-1], default=_ROWS))
    return _Column(max(sizes), sum(sizes), fewest, sum(counts), dictionary, each)


def _pages(stream: BinaryIO, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The kind, the unpacked size, the number of values and the encoding of each page."""
    stream.seek(start)
    while stream.tell() < end:
        try:
            header = _struct(stream)
            kind, size, packed = (int(header[number]) for number in (1, 2, 3))
            details = header.get(5) or header.get(8) or {}
            count, encoding = int(details.get(1, 0)), int(details.get(4 if 8 in header else 2, 0))
        except (IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FeedError("a page has a damaged header") from error
        if min(size, packed, count) < 0:
            raise FeedError("a page has a damaged header")
        yield kind, size, count, encoding
        stream.seek(packed, 1)


def _struct(stream: BinaryIO) -> dict[int, Any]:
    """The whole numbers and structs in a struct of Thrift's compact protocol, by their fields."""
    found: dict[int, Any] = {}
    number = 0
    while head := stream.read(1)[0]:
        number = number + (head >> 4) if head >> 4 else _signed(_varint(stream))
        found[number] = _value(stream, head & 15)
    return found


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _STRUCT:
        return _struct(stream)
    if _INT16 <= kind <= _INT64:
        return _signed(_varint(stream))
    if kind == _BINARY:
        stream.seek(_varint(stream), 1)
    elif kind in (_BYTE, _DOUBLE):
        stream.seek(1 if kind == _BYTE else 8, 1)
    elif kind not in (_TRUE, _FALSE):  # headers of pages have neither lists nor maps
        raise KeyError(kind)
    return None


def _varint(stream: BinaryIO) -> int:
    value = 0
    for place in range(0, 70, 7):
        byte = stream.read(1)[0]
        value |= (byte & 127) << place
        if byte < 128:
            return value
    raise KeyError(value)


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)
