"""What all file formats have in common: records that are read one after another and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

#: Approximate size of a chunk, in bytes.
CHUNK_BYTES = 1 << 20
# The most records of a chunk.
_CHUNK_RECORDS = 512
# Bytes that any file may unpack to, and how many times its size it may beyond these.
_FREE = 1 << 30
_RATIO = 1000
# Bytes that are kept in memory of each record.
_PER_RECORD = 1 << 10

#: The most bytes of a record, or characters, and the most values or cells. One takes up to 300 MB.
MOST_BYTES = 16 << 20
MOST_VALUES = 500_000
#: What is wrong with a larger record.
TOO_LARGE = "more than 16 MiB or 500,000 values"


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
        needs = f"pip install 'scrapy-simhash[{extra}]'"
        raise FeedError(f"this format needs an optional package: {needs}") from error


class FeedRecord(NamedTuple):
    """What stands for an item in a file. It can be sent to another process.

    Attributes:
        place: its number, or that of its last line, from 1.
        content: a line, the cells of a row, or a value.
        size: its approximate size, in bytes.
    """

    place: int
    content: Any
    size: int


class Output(NamedTuple):
    """A file to write.

    Attributes:
        path: its name, which selects the format and the compression.
        stream: where to write.
        others: whether to copy what is neither an item nor a page as well.
    """

    path: Path
    stream: BinaryIO
    others: bool = False


class Source(ABC):
    """A file of records. It can be pickled.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    @abstractmethod
    def suffixes(self) -> Collection[str]:
        """The suffixes of files of this format, which `write` writes; see `format_of`."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The format with its columns: files of equal forms can be written to one file."""

    @property
    def notes(self) -> Sequence[str]:
        """What was assumed about the file, for its user."""
        return ()

    @abstractmethod
    def records(self) -> Generator[FeedRecord]:
        """Yield the records of the file.

        Raises:
            FeedError: the file can't be read; the message says where.
        """

    def chunks(self) -> Generator[list[FeedRecord]]:
        """Yield the records in groups.

        Raises:
            FeedError: as `records`, or the file unpacks to too much.
        """
        part, size, left = list[FeedRecord](), 0, _FREE + _RATIO * self.path.stat().st_size
        with closing(self.records()) as records:
            for record in records:
                part.append(record)
                size += record.size
                left -= record.size + _PER_RECORD
                if left < 0:
                    raise FeedError(f"{self.path}: unpacks to 1 GiB and 1,000 times its size")
                if len(part) == _CHUNK_RECORDS or size >= CHUNK_BYTES:
                    yield part
                    part, size = [], 0
        if part:
            yield part

    def item(self, record: FeedRecord) -> Any:
        """The item, or page, that a record stands for.

        Raises:
            RecordError: the record is no item; the message says where it is.
        """
        return record.content

    @abstractmethod
    def write(self, sources: Sequence[Any], wanted: Iterator[bool], output: Output) -> None:
        """Write the wanted records to a new file, also those that are no items.

        Args:
            sources: files of this form.
            wanted: for each record of these files, in order, whether it is written.
            output: the new file.
        """


def chosen(
    sources: Iterable[Source], wanted: Iterator[bool]
) -> Iterator[tuple[Source, FeedRecord]]:
    """Yield the wanted records, each with its source."""
    for source in sources:
        with closing(source.records()) as records:
            # compress takes the record first, so at the end of a file no flag is lost.
            for record in compress(records, wanted):
                yield source, record
