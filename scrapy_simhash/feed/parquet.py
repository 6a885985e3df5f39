"""Parquet tables, by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

from scrapy_simhash.feed.source import (
    FeedError,
    FeedRecord,
    Output,
    Source,
    chosen,
    optional,
)

PARQUET = ".parquet"

# Rows that are read, and written, together.
_READ = 128
_ROWS = 1024


def _pyarrow() -> Any:
    optional("pyarrow.parquet", "parquet")
    return optional("pyarrow", "parquet")


class ParquetTable(Source):
    """A table. Its records are rows as dicts, which are the items."""

    suffixes = frozenset({PARQUET})

    @property
    def form(self) -> str:
        """Parquet with the columns and their types."""
        return f"Parquet {self._schema()}"

    def records(self) -> Generator[FeedRecord]:
        """Yield the rows, of which few are held: each may be a page."""
        number = 0
        with self._open() as file:
            for batch in file.iter_batches(_READ, use_threads=False):
                size = batch.nbytes // (len(batch) or 1)
                for row in batch.to_pylist():
                    number += 1
                    yield FeedRecord(number, row, size)

    def write(
        self, sources: Sequence[ParquetTable], wanted: Iterator[bool], output: Output
    ) -> None:
        """Write the wanted rows, with the types of the table."""
        rows = (record.content for _, record in chosen(sources, wanted))
        _write(rows, output.stream, self._schema())

    def _schema(self) -> Any:
        with self._open() as file:
            return file.schema_arrow.remove_metadata()

    @contextmanager
    def _open(self) -> Iterator[Any]:
        library = _pyarrow()
        try:
            with library.parquet.ParquetFile(self.path) as file:
                yield file
        except (library.ArrowException, OSError) as error:
            raise FeedError(f"{self.path}: can't be read as Parquet ({error})") from error


def write_parquet(
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    stream: BinaryIO,
    types: Mapping[str, str] | None,
) -> None:
    """Write rows, whose columns have these types in Arrow or, with None, those of their values.

    Raises:
        FeedError: a column has values of several types, or of one that Parquet lacks.
    """
    library = _pyarrow()
    schema = library.schema([])
    try:
        if types is not None:
            kinds = {name: library.type_for_alias(kind) for name, kind in types.items()}
            schema = library.schema(kinds.items())
        else:
            for part in _parts(rows()):
                both = [schema, library.schema(list(library.array(part).type))]
                schema = library.unify_schemas(both, promote_options="permissive")
        _write(rows(), stream, schema)
    except (library.ArrowException, OverflowError, UnicodeError) as error:
        advice = "a column of Parquet has one type; write JSON Lines or CSV"
        raise FeedError(f"can't be written as Parquet: {error}; {advice}") from error


def _write(rows: Iterable[Mapping[str, Any]], stream: BinaryIO, schema: Any) -> None:
    library = _pyarrow()
    with library.parquet.ParquetWriter(stream, schema) as writer:
        for part in _parts(rows):
            array = library.array(part, library.struct(list(schema)))
            writer.write_batch(library.RecordBatch.from_struct_array(array))


def _parts(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    left = iter(rows)
    return iter(lambda: list(islice(left, _ROWS)), [])
