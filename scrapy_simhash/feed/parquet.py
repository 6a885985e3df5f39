"""Parquet tables, read by pyarrow, in parts whose size the files declare."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

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

# Rows that are written as a group.
_GROUP = 16 * 1024
# The most columns.
_COLUMNS = 10_000
# The most elements in a list of the footer.
_ELEMENTS = 100_000
_TOO_LARGE = "a row has more than 500,000 values or 16 MiB"
# The most rows that are read at a time.
_ROWS = 1024
# The most bytes that several rows may take.
_BATCH = 64 << 20


def pyarrow() -> Any:
    """Import pyarrow.

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
        """Yield rows in batches that fit into memory, also as dicts."""
        number = 0
        with self._open() as file:
            # Texts that many rows or lists share are kept once.
            texts = [
                file.schema.column(number).path
                for number in range(file.metadata.num_columns)
                if file.schema.column(number).physical_type == "BYTE_ARRAY"
                and _has_dictionary(file.metadata, number)
            ]
        with self._open(read_dictionary=texts) as file:
            try:
                for group in range(file.num_row_groups):
                    rows = _rows_at_a_time(file.metadata.row_group(group), file.schema)
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
    """Yield a batch, or parts of it, whose values in lists and bytes can become objects."""
    values, size = _size(batch.columns)
    if values <= MOST_VALUES and size <= MOST_BYTES:
        yield batch
    elif len(batch) == 1:
        raise FeedError(_TOO_LARGE)
    else:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))


def _size(arrays: Iterable[Any]) -> tuple[int, int]:
    """The number of values in lists, and the bytes of texts."""
    values = size = 0
    for array in arrays:
        inner = _inner(array)
        inner_values, inner_size = _size(inner)
        values += sum(map(len, inner)) + inner_values
        size += inner_size if inner else _bytes(array)
    return values, size


def _inner(array: Any) -> list[Any]:
    """The arrays of the values in lists, structs or maps."""
    types = pyarrow().types
    if types.is_map(array.type):
        start, stop = (array.offsets[place].as_py() for place in (0, -1))
        return [part.slice(start, stop - start) for part in (array.keys, array.items)]
    if types.is_struct(array.type):
        return list(array.flatten())
    return [array.flatten()] if types.is_nested(array.type) else []


def _bytes(array: Any) -> int:
    """The size of the values; texts that values share count for each of them."""
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
            size = sum(part.nbytes for part in group)
            if sum(map(len, group)) >= _GROUP or size >= MOST_BYTES:
                writer.write_table(library.Table.from_batches(group))
                group = []
        if group:
            writer.write_table(library.Table.from_batches(group))


def _has_dictionary(metadata: Any, column: int) -> bool:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return any(
        column < group.num_columns and group.column(column).has_dictionary_page for group in groups
    )


def _rows_at_a_time(group: Any, schema: Any) -> int:
    """The number of rows of a group that are read together, by the sizes that the file declares."""
    if group.num_columns != len(schema):
        raise FeedError("the group has other columns than the table")
    columns = range(len(schema))
    # Values of a fixed size take it even if they are null.
    fixed = sum(max(0, schema.column(number).length or 0) for number in columns)
    # A value that shares its beginning with others may be as long as the whole group in the file.
    shares = any("DELTA_BYTE_ARRAY" in group.column(number).encodings for number in columns)
    each = group.total_byte_size // (1 if shares else max(1, group.num_rows)) + fixed
    if group.total_byte_size > MOST_BYTES * group.num_rows > 0:
        raise FeedError(_TOO_LARGE)
    return int(max(1, min(_ROWS, _BATCH // max(1, each))))
