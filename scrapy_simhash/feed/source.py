"""What all file formats have in common: records that are read in chunks and copied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

#: Approximate size of a chunk, in bytes.
CHUNK_BYTES = 1 << 20

#: The most bytes of a record, or characters in CSV.
MOST_BYTES = 16 << 20
#: The most values or cells of a record. A parsed record takes up to 300 MB.
MOST_VALUES = 500_000

#: What is wrong with a larger record.
TOO_LONG = "longer than 16 MiB"
TOO_MANY = f"more than {MOST_VALUES:,} values"

# The most records of a chunk.
_CHUNK_RECORDS = 512


class FeedError(ValueError):
    """A file can't be read or written."""


class RecordError(FeedError):
    """A record is no item; the records after it can be read."""


def optional(module: str, extra: str) -> Any:
    """Import a module that only one format needs.

    Raises:
        FeedError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise FeedError(
            f"this format needs {module.partition('.')[0]}: pip install 'scrapy-simhash[{extra}]'"
        ) from error


class Chunk(NamedTuple):
    """Consecutive records, in a form that can be sent to another process.

    Attributes:
        length: the number of records.
        packed: the records, or their place in the file.
        size: the approximate size of the unpacked records, in bytes.
    """

    length: int
    packed: Any
    size: int


class Output(NamedTuple):
    """A file to write.

    Attributes:
        path: its name, which selects the compression.
        stream: where to write.
        others: whether to copy what is neither an item nor a page as well.
    """

    path: Path
    stream: BinaryIO
    others: bool = False


def chunks_of(records: Iterable[tuple[Any, int]]) -> Generator[Chunk]:
    """Group records, which come with their approximate sizes in bytes."""
    part: list[Any] = []
    size = 0
    for record, length in records:
        part.append(record)
        size += length
        if len(part) == _CHUNK_RECORDS or size >= CHUNK_BYTES:
            yield Chunk(len(part), part, size)
            part, size = [], 0
    if part:
        yield Chunk(len(part), part, size)


class Source(ABC):
    """A file of records. It can be pickled.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    @abstractmethod
    def form(self) -> str:
        """The format with its columns: files of equal forms can be copied to one file."""

    @abstractmethod
    def can_write(self, path: Path) -> bool:
        """Whether these records can be copied to a file of that name."""

    @abstractmethod
    def chunks(self) -> Generator[Chunk]:
        """The records of the file.

        Raises:
            FeedError: the file can't be read; the message says where.
        """

    def records(self) -> Generator[Any]:
        """The records of the file, one by one.

        Raises:
            FeedError: as `chunks`.
        """
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                yield from self.unpacked(chunk.packed)

    def unpacked(self, packed: Any) -> Iterable[Any]:
        """The records of a chunk."""
        records: Iterable[Any] = packed
        return records

    def item(self, record: Any) -> Any:
        """The item, or page, that a record stands for.

        Raises:
            RecordError: the record is no item; the message says where it is.
        """
        return record

    @abstractmethod
    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Copy the wanted records unchanged to a new file.

        Args:
            sources: files of this form.
            wanted: for each record of these files, in order, whether it is copied.
            output: the new file.
        """


def chosen(sources: Iterable[Any], wanted: Iterator[bool]) -> Iterator[tuple[Any, Any]]:
    """Yield the wanted records, each with its source."""
    for source in sources:
        with closing(source.records()) as records:
            # compress takes the record first, so at the end of a file no flag is lost.
            for record in compress(records, wanted):
                yield source, record
