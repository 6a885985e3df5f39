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

from scrapy_simhash.feed.source import CHUNK_BYTES, FeedError, optional

# Bytes of memory for unpacking xz; its largest preset takes 65 MiB.
_XZ_MEMORY = 80 << 20
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# The errors for damaged and truncated files; bz2 raises OSError without errno.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)


def without_suffix(path: Path) -> str:
    """The last suffix before that of a compression, in lower case.

    >>> without_suffix(Path("items.jsonl.gz"))
    '.jsonl'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_compressed(path: Path) -> bool:
    """Whether the name ends in the suffix of a compression."""
    return path.suffix.lower() in _SUFFIXES


class _Xz(io.RawIOBase):
    """Reads xz with a limit of memory, which `lzma.open` lacks."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._unpacker = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        unpacked = b""
        while not unpacked:
            packed = b""
            if self._unpacker.eof:
                # Streams follow each other, perhaps with zeros between them.
                packed = self._unpacker.unused_data.lstrip(b"\0")
                while not packed:
                    if not (block := self._stream.read(CHUNK_BYTES)):
                        return 0
                    packed = block.lstrip(b"\0")
                self._unpacker = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
            elif self._unpacker.needs_input and not (packed := self._stream.read(CHUNK_BYTES)):
                raise EOFError("ends within a stream")
            unpacked = self._unpacker.decompress(packed, len(buffer))
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its decompressed content.

    Raises:
        FeedError: the file is damaged or truncated. Reads inside the block raise it too.
    """
    suffix = path.suffix.lower()
    damaged: tuple[type[Exception], ...] = _DAMAGED
    with path.open("rb") as stream:
        unpacked: Any = stream
        if suffix == ".zst":
            library = optional("zstandard", "zstd")
            damaged = (*damaged, library.ZstdError)
            # As with gzip, a file may consist of several frames.
            reader = library.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
            unpacked = io.BufferedReader(reader)
        elif suffix == ".xz":
            unpacked = io.BufferedReader(_Xz(stream))
        elif suffix in _SUFFIXES:
            unpacked = (gzip.open if suffix == ".gz" else bz2.open)(stream)
        try:
            with unpacked:
                yield unpacked
        except damaged as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise FeedError(f"{path}: can't be decompressed: {error}") from error


@contextmanager
def compressing(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Compress what is written to a stream, if the suffix of the path is that of a compression."""
    suffix = path.suffix.lower()
    packed: Any
    if suffix == ".gz":
        # Without a time, equal contents make equal files.
        packed = gzip.GzipFile("", "wb", 6, stream, mtime=0)
    elif suffix == ".bz2":
        packed = bz2.BZ2File(stream, "wb")
    elif suffix == ".xz":
        packed = lzma.LZMAFile(stream, "wb")  # noqa: SIM115 - closed below
    elif suffix == ".zst":
        packed = optional("zstandard", "zstd").ZstdCompressor().stream_writer(stream, closefd=False)
    else:
        yield stream
        return
    with packed:
        yield packed
