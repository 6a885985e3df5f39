"""What a corpus is read from and written to: files of several formats."""

from __future__ import annotations

from glob import glob
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from scrapy_simhash.feed.compressed import without_suffix
from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.feed.files import Feed
from scrapy_simhash.feed.parquet import ParquetTable
from scrapy_simhash.feed.warc import ARCHIVES, WarcFile

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO

    from scrapy_simhash.feed.chunks import Chunk

__all__ = ["Source", "Written", "find_files", "identity_of", "open_source"]


class Written(Protocol):
    """A file that is written."""

    def add(self, source: Any, wanted: Iterator[bool], *, rest: bool) -> None:
        """Copy those records of a source that are wanted, as they are.

        Args:
            source: of the same form.
            wanted: whether each record is.
            rest: whether to copy what is in the file beside its records, too.
        """


class Source(Protocol):
    """A file of records, each of which says something. It can be sent to another process.

    Attributes:
        path: of the file.
        form: what another one must have in common with it to be written to one file with it.
    """

    path: Path

    @property
    def form(self) -> str:
        """What files have in common that can be written to one."""

    def can_be(self, path: Path) -> bool:
        """Whether a file of that name is of this form."""

    def identity(self) -> str:
        """Tells it from other files, and from what it was before it changed."""

    def chunks(self) -> Generator[Chunk]:
        """Its records by the many, as they can be sent to another process.

        Raises:
            FeedError: it can't be read.
        """

    def unpacked(self, packed: Any) -> Iterable[Any]:
        """The records of a chunk.

        Raises:
            FeedError: they can't be read any more.
        """

    def item(self, record: Any) -> Any:
        """What a record says.

        Raises:
            FeedError: it is no item; says where.
        """

    def written(self, path: Path, stream: BinaryIO) -> AbstractContextManager[Written]:
        """Write such a file to a stream, in the form that a path says."""


def open_source(path: Path) -> Source:
    """A file of records, by its name.

    Raises:
        FeedError: its name says nothing known.
    """
    suffix = without_suffix(path)
    if path.suffix.lower() == ".parquet":
        return cast("Source", ParquetTable(path))
    if suffix in ARCHIVES and path.suffix.lower() in {suffix, ".gz"}:
        return cast("Source", WarcFile(path))
    return cast("Source", Feed(path))


def find_files(given: str) -> list[Path]:
    """The files that a path, a folder or a pattern names, in the order of their names.

    Of a folder all files count whose names say a format.

    Raises:
        FeedError: there is none.
    """
    path = Path(given)
    if path.is_dir():
        found = [one for one in path.rglob("*") if one.is_file() and _is_known(one)]
    elif path.exists() or not set("*?[") & set(given):
        found = [path]
    else:
        found = [Path(one) for one in glob(given, recursive=True) if Path(one).is_file()]  # noqa: PTH207
    if not found:
        raise FeedError(f"{given}: there is no file of a known format")
    return sorted(found)


def identity_of(sources: Sequence[Source]) -> str:
    """Tells files that are taken together from others; of one file it is its own."""
    identities = [source.identity() for source in sources]
    if len(identities) == 1:
        return identities[0]
    return blake2b("".join(identities).encode(), digest_size=12).hexdigest()


def _is_known(path: Path) -> bool:
    return without_suffix(path) in {
        *(".jsonl", ".jl", ".ndjson", ".csv", ".parquet", ".warc", ".wet"),
    } and not path.name.startswith(".")
