"""Files that are either as they were or complete, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["replace_file", "sync_file", "sync_folder", "sync_folders"]

#: The disk has failed, or is full. Any other error says that this can't be synced at all.
_NOT_WRITTEN = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})


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


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk; its name is only when its folder is.

    Raises:
        OSError: it is not.
    """
    # A pipe or a device is on no disk; what was moved away meanwhile is somebody else's.
    if not path.is_file():
        return
    # Windows syncs only what could be written to; elsewhere it may be write-protected by now.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Write to the disk which files a folder has, where the system can do that.

    Raises:
        OSError: the disk has failed, or is full.
    """
    # Windows opens no folder, and some network file systems refuse to sync one.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in _NOT_WRITTEN:
            raise
    finally:
        os.close(descriptor)


def sync_folders(paths: Iterable[Path]) -> None:
    """The same for several, and for all above them: any of them may be new.

    Raises:
        OSError: as :func:`sync_folder`.
    """
    for folder in sorted({one for path in paths for one in (path, *path.absolute().parents)}):
        sync_folder(folder)
