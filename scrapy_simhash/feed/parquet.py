"""Parquet tables, by pyarrow."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.feed.source import Chunk, FeedError, Source, chunks_of

# Rows that are read at a time.
_ROWS = 1024


def pyarrow() -> Any:
    """The library.

    Raises:
        FeedError: it is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: PLC0415 - optional
    except ImportError as error:
        raise FeedError("Parquet needs pyarrow: pip install 'scrapy-simhash[parquet]'") from error
    return pyarrow


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

    def records(self) -> Generator[dict[str, Any]]:
        """The rows."""
        for batch in self._batches():
            yield from batch.to_pylist()

    def write(
        self,
        sources: Sequence[ParquetTable],
        wanted: Iterator[bool],
        path: Path,
        stream: BinaryIO,
        *,
        others: bool,
    ) -> None:
        """Copy the wanted rows; there is nothing else."""
        library = pyarrow()
        with self._open() as file:
            schema = file.schema_arrow
        with library.parquet.ParquetWriter(stream, schema) as writer:
            for batch in (batch for source in sources for batch in source._batches()):
                chosen = library.array(islice(wanted, len(batch)), library.bool_())
                if kept := batch.slice(0, len(chosen)).filter(chosen):
                    writer.write_batch(kept)

    def _sized_rows(self) -> Generator[tuple[dict[str, Any], int]]:
        for batch in self._batches():
            size = batch.nbytes // max(1, len(batch))
            yield from ((row, size) for row in batch.to_pylist())

    def _batches(self) -> Iterator[Any]:
        with self._open() as file:
            try:
                yield from file.iter_batches(_ROWS)
            except (OSError, ValueError) as error:
                raise FeedError(f"{self.path}: can't be read: {error}") from error

    @contextmanager
    def _open(self) -> Iterator[Any]:
        library = pyarrow()
        try:
            file = library.parquet.ParquetFile(self.path)
        except library.ArrowInvalid as error:
            raise FeedError(f"{self.path}: not a Parquet file ({error})") from error
        with file:
            yield file


def write_rows(stream: BinaryIO, rows: Iterable[dict[str, Any]], schema: Any) -> None:
    """Write dicts as a table."""
    library = pyarrow()
    left = iter(rows)
    with library.parquet.ParquetWriter(stream, schema) as writer:
        while part := list(islice(left, _ROWS * 16)):
            writer.write_table(library.Table.from_pylist(part, schema))
