"""Shingles of a corpus that are in a file."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["StoredShingles"]


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
