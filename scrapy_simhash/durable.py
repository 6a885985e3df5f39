"""Write files that are private, and always either unchanged or complete.

Crawled data may be confidential, so a new file has mode 0600 from the start, whatever the umask.
Where the system has no such modes (Windows), a file is as private as its folder.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# The disk failed or is full. Other errors of fsync mean that the file system does not support it.
_DISK_ERRORS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})
_PRIVATE = 0o600
# Bytes of a buffer that turns many small writes into a few large ones.
_BUFFER = 1 << 18


def open_new(path: Path) -> BinaryIO:
    """Create a file and open it for writing. Symbolic links are not followed."""
    return open(path, "xb", _BUFFER, opener=_open_privately)


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that gets its name only when it is complete and on the disk.

    Raises FileExistsError if the name is taken, or was taken meanwhile.
    """
    _check_free(path)
    with _file_beside(path) as (stream, part):
        yield stream
        _sync(stream)
        _check_free(path)
        part.rename(path)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        message = "exists; remove it, or choose another name"
        raise FileExistsError(errno.EEXIST, message, str(path))


@contextmanager
def _file_beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the same folder, with a random name until it is renamed."""
    part = path.with_name(f".simhash-{secrets.token_hex(16)}.part")
    try:
        with open_new(part) as stream:
            yield stream, part
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _sync(stream: BinaryIO) -> None:
    """Wait until a file is on the disk, and close it: Windows renames no open file."""
    stream.flush()
    os.fsync(stream.fileno())
    stream.close()


def make_private(path: Path) -> None:
    """Create an empty file, which a library would create readable for others.

    An existing file is not opened, because closing it would release its locks of this process.
    """
    # The library follows symbolic links, and reports errors.
    with suppress(OSError):
        open_new(Path(os.path.realpath(path))).close()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, or replace it, once the content is on the disk.

    A symbolic link is replaced, not followed. A replaced file keeps its permissions if it has the
    same owner.
    """
    with _file_beside(path) as (stream, part):
        stream.write(content)
        if (mode := _mode_of(path)) is not None:
            part.chmod(mode)
        _sync(stream)
        part.replace(path)


def _mode_of(path: Path) -> int | None:
    """The permissions of a file of this user; None if there is none."""
    with suppress(OSError):
        status = path.lstat()
        is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        if stat.S_ISREG(status.st_mode) and is_own:
            return stat.S_IMODE(status.st_mode) & 0o666
    return None


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk; its name needs :func:`sync_folder`."""
    # Pipes and devices are on no disk, and a file may have been moved away.
    if not path.is_file():
        return
    # Windows syncs only files open for writing; elsewhere the file may be write-protected by now.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names of a folder's files are on the disk, if the system supports that."""
    # Windows opens no folders, and some network file systems refuse to sync them.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise
    finally:
        os.close(descriptor)


def sync_folders(paths: Iterable[Path]) -> None:
    """Sync folders and all their parents, any of which may be new."""
    folders = {folder for path in paths for folder in (path, *path.absolute().parents)}
    for folder in sorted(folders):
        sync_folder(folder)
