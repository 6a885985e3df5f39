"""Read and write compressed files. The suffix selects the compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.feed.source import FeedError, optional


def _zstd() -> Any:
    try:
        return import_module("compression.zstd")  # since Python 3.14
    except ImportError:
        return optional("backports.zstd", "zstd")


# What opens a stream to read or to write. Without a time in gzip, equal contents make equal files.
_OPENERS: dict[str, Callable[[Any, Any], Any]] = {
    ".gz": lambda stream, mode: gzip.GzipFile("", mode, 6, stream, mtime=0),
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda stream, mode: _zstd().open(stream, mode),
}
# Formats with a compression of their own.
_AS_A_WHOLE = {".parquet", ".warc", ".wet"}
# The errors for damaged and truncated files; bz2 raises OSError without errno.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)


def format_of(path: Path) -> str:
    """The suffix that tells the format, without that of a compression, in lower case.

    A compressed archive is a format of its own: each record is compressed.

    >>> format_of(Path("items.jsonl.gz")), format_of(Path("pages.warc.gz"))
    ('.jsonl', '.warc.gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    found = next((suffix for suffix in reversed(suffixes) if suffix not in _OPENERS), "")
    return "".join(suffixes[-2:]) if found in _AS_A_WHOLE and found != suffixes[-1] else found


def is_compressed(path: Path) -> bool:
    """Whether the name ends in the suffix of a compression."""
    return path.suffix.lower() in _OPENERS


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its decompressed content.

    Raises:
        FeedError: the file is damaged or truncated. Reads inside the block raise it too.
    """
    damaged = (*_DAMAGED, _zstd().ZstdError) if path.suffix.lower() == ".zst" else _DAMAGED
    try:
        with path.open("rb") as stream, _opened(stream, path, "rb") as unpacked:
            yield unpacked
    except damaged as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise FeedError(f"{path}: can't be decompressed: {error}") from error


def compressing(stream: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    """Compress what is written to a stream, if the suffix of the path is that of a compression."""
    return _opened(stream, path, "wb")


def _opened(stream: BinaryIO, path: Path, mode: str) -> AbstractContextManager[BinaryIO]:
    opener = _OPENERS.get(path.suffix.lower())
    return opener(stream, mode) if opener else nullcontext(stream)
