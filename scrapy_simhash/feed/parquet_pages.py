"""The pages of a Parquet file: what they take once unpacked, before anything is unpacked.

A page of some bytes can stand for gigabytes: compression, runs of equal values, and a dictionary
whose values are repeated have no limit in the format. Nor have values of a fixed size, which take
it where they are null, and values that share their beginnings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from scrapy_simhash.feed.source import FeedError

# Rows that are read at a time, at most, and their bytes if there are several.
_ROWS, _BATCH = 1024, 64 << 20
# What a group of rows may take: this, and so many times its size in the file.
_FREE, _RATIO = 96 << 20, 8
# Levels and the place of a value in a list, in bytes.
_PER_VALUE = 12
# Types of values in Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _INT16, _INT64, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 4, 6, 7, 8, 12
_DICTIONARY, _SHARED_BEGINNINGS = 2, 7


class Column(NamedTuple):
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


def rows_at_a_time(stream: BinaryIO, group: Any, schema: Any) -> int:
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


def _column(stream: BinaryIO, chunk: Any, each: int) -> Column:
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
    return Column(max(sizes), sum(sizes), fewest, sum(counts), dictionary, each)


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
