"""Read and write compressed files. The suffix selects the compression."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.feed.source import FeedError

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# Raised for damaged and truncated files; by bz2 an OSError without errno.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)


def without_suffix(path: Path) -> str:
    """The last suffix before that of a compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_compressed(path: Path) -> bool:
    """Whether the name ends in the suffix of a compression."""
    return path.suffix.lower() in _SUFFIXES


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its decompressed content.

    Raises:
        FeedError: the file is damaged or truncated; raised also by reads inside the block.
    """
    suffix = path.suffix.lower()
    damaged: tuple[type[Exception], ...] = _DAMAGED
    with path.open("rb") as stream:
        unpacked: Any = stream
        if suffix == ".zst":
            library = _zstandard()
            damaged = (*damaged, library.ZstdError)
            # As with gzip, a file may consist of several frames.
            reader = library.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
            unpacked = io.BufferedReader(reader)
        elif suffix in _SUFFIXES:
            opening: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
            unpacked = opening[suffix](stream)
        try:
            with unpacked:
                yield unpacked
        except damaged as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise FeedError(f"{path}: can't be decompressed: {error}") from error


@contextmanager
def compressing(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Compress what is written to a stream, if the name of the file asks for it."""
    suffix = path.suffix.lower()
    packed: Any
    if suffix == ".gz":
        # Without a time, equal content gives equal files.
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
        import zstandard  # noqa: PLC0415 - optional
    except ImportError as error:
        raise FeedError(".zst files need zstandard: pip install 'scrapy-simhash[zstd]'") from error
    return zstandard
