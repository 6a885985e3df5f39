"""A part of a corpus, and its shingles in files: written by one process, read by another."""

from __future__ import annotations

import os
import secrets
import weakref
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.durable import open_new

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

__all__ = ["Part", "ShingleFile", "Stored", "StoredShingles"]


class Part(NamedTuple):
    """The sketches of some documents that follow each other.

    Attributes:
        rows: shape (documents,), see `corpus.sketches.row_type`.
        keys: shape (documents, slots + 1), int32: those of the text, and that of the item as a
            whole. 0 where there is none, which the row says.
        shingles: of all of them, one after the other.
        said: likewise, in bytes.
        names: of facts, by their hashes.
    """

    rows: NDArray[np.void]
    keys: NDArray[np.int32]
    shingles: NDArray[np.uint64]
    said: bytes
    names: dict[int, str]


class Stored(NamedTuple):
    """A part whose shingles are in a file; its rows say where."""

    part: Part
    file: str


class ShingleFile:
    """A file of shingles that a process writes alone, made when there are some.

    Nothing that was noted is ever written over: another call takes another file.

    Args:
        folder: for it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"shingles-{secrets.token_hex(8)}"
        self._stream: BinaryIO | None = None
        self._count = 0

    def store(self, part: Part) -> Stored:
        """Write the shingles of a part, so that others can read them."""
        if self._stream is None:
            self._stream = open_new(self._path)
        self._stream.write(part.shingles.data)
        self._stream.flush()
        part.rows["shingles"] += self._count
        self._count += part.shingles.size
        return Stored(part._replace(shingles=part.shingles[:0]), self._path.name)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


class StoredShingles:
    """A file of shingles, to read.

    Mapped it would fill the memory by and by: of each file a few kilobytes are read, anywhere.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._descriptor)

    def __getitem__(self, part: slice) -> NDArray[np.uint64]:
        os.lseek(self._descriptor, 8 * part.start, os.SEEK_SET)
        return np.frombuffer(os.read(self._descriptor, 8 * (part.stop - part.start)), np.uint64)
