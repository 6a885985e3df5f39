"""Tables in Parquet, by pyarrow."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_simhash.feed.chunks import Chunk, chunks_of
from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.feed.files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["ParquetTable", "pyarrow", "write_rows"]

# Rows that are read, or written, at a time.
_ROWS = 1024


def pyarrow() -> Any:
    """The library.

    Raises:
        FeedError: it is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: PLC0415 - for whoever has such files
    except ImportError as error:
        raise FeedError("Parquet needs pyarrow: pip install 'scrapy-simhash[parquet]'") from error
    return pyarrow


class ParquetTable:
    """A file of rows, each of which is an item.

    Attributes:
        path: of the file.
        form: "Parquet" with its columns and their types.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def form(self) -> str:
        """What files have in common that can be written to one."""
        with self._open() as file:
            return f"Parquet {file.schema_arrow.remove_metadata()}"

    def can_be(self, path: Path) -> bool:
        """Whether a file of that name is of this form."""
        return path.suffix.lower() == ".parquet"

    def identity(self) -> str:
        """Tells it from other files, and from what it was before it changed."""
        return beginning_of(self.path)

    def chunks(self) -> Generator[Chunk]:
        """Its rows.

        Raises:
            FeedError: it can't be read.
        """
        return chunks_of(self._sized_rows())

    def unpacked(self, packed: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The rows of a chunk."""
        return packed

    def item(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row is an item."""
        return record

    @contextmanager
    def written(self, path: Path, stream: BinaryIO) -> Iterator[_Rows]:
        """Write such a table to a stream."""
        with self._open() as file:
            schema = file.schema_arrow
        with pyarrow().parquet.ParquetWriter(stream, schema) as writer:
            yield _Rows(writer)

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
            raise FeedError(f"{self.path}: no Parquet ({error})") from error
        with file:
            yield file


class _Rows:
    """A table that is written."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add(self, source: ParquetTable, wanted: Iterator[bool], *, rest: bool) -> None:
        """Write the rows of another table that are wanted."""
        library = pyarrow()
        for batch in source._batches():
            chosen = library.array(islice(wanted, len(batch)), library.bool_())
            # What is not looked at any more is not there.
            if kept := batch.slice(0, len(chosen)).filter(chosen):
                self._writer.write_batch(kept)


def write_rows(stream: BinaryIO, rows: Iterable[dict[str, Any]], schema: Any) -> None:
    """Write rows as a table."""
    library = pyarrow()
    left = iter(rows)
    with library.parquet.ParquetWriter(stream, schema) as writer:
        while part := list(islice(left, _ROWS * 16)):
            writer.write_table(library.Table.from_pylist(part, schema))
