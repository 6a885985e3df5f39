"""Files that are either as they were or complete, whatever happens meanwhile."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["replace_file", "sync_folder"]


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in the place of what is there, once it is written to the disk as a whole.

    It is written beside it, under a name that nobody can guess and that must be free: a link that
    somebody has put there is not followed.

    Raises:
        OSError: It can't be written; what was there is as it was.
    """
    beside = path.with_name(f".simhash-{secrets.token_hex(16)}.new")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Write to the disk which files a folder has, where the system can do that."""
    # Windows opens no folder, and some network file systems refuse to sync one.
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
