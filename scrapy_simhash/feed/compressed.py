"""Files that are compressed, by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from scrapy_simhash.feed.errors import FeedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["compressing", "is_compressed", "open_unpacked", "without_suffix"]

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# What is damaged, or ends too early. That bz2 says no more than OSError, without a number.
_BAD = (EOFError, zlib.error, lzma.LZMAError, OSError)


def without_suffix(path: Path) -> str:
    """The last suffix of a name but that of its compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_compressed(path: Path) -> bool:
    """Whether a name says so."""
    return path.suffix.lower() in _SUFFIXES


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read what is in it.

    Raises:
        FeedError: it is damaged, or ends too early; also while it is read inside the block.
    """
    with path.open("rb") as stream, _unpacking(stream, path) as unpacked:
        yield unpacked


@contextmanager
def _unpacking(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    suffix = path.suffix.lower()
    bad: tuple[type[Exception], ...] = _BAD
    if suffix == ".zst":
        library = _zstandard()
        bad = (*bad, library.ZstdError)
        # Like the others, it may be several that follow each other.
        reader = library.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        unpacked = io.BufferedReader(reader)
    elif suffix in _SUFFIXES:
        opening: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        unpacked = opening[suffix](stream)
    else:
        yield stream
        return
    try:
        with unpacked:
            yield cast("BinaryIO", unpacked)
    except bad as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise FeedError(f"{path}: can't be decompressed: {error}") from error


@contextmanager
def compressing(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Write to a stream what a file of that name has, compressed if its name says so."""
    suffix = path.suffix.lower()
    packed: Any
    if suffix == ".gz":
        # The same content is the same file.
        packed = gzip.GzipFile("", "wb", 6, stream, mtime=0)
    elif suffix == ".bz2":
        packed = bz2.BZ2File(stream, "wb")
    elif suffix == ".xz":
        packed = lzma.LZMAFile(stream, "wb")  # noqa: SIM115 - closed below
    elif suffix == ".zst":
        packed = _zstandard().ZstdCompressor().stream_writer(stream, closefd=False)
    else:
        yield stream
        return
    with packed:
        yield packed


def _zstandard() -> Any:
    try:
        import zstandard  # noqa: PLC0415 - for whoever has such files
    except ImportError as error:
        raise FeedError(
            "files in .zst need zstandard: pip install 'scrapy-simhash[zstd]'"
        ) from error
    return zstandard
