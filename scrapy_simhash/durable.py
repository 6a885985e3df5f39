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
from typing import IO, Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where open files can't be removed by other processes
    fcntl = None  # type: ignore[assignment]

# The disk failed or is full. Other errors of fsync mean that the file system does not support it.
_DISK_ERRORS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})
# Flags that only some systems have.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_PRIVATE = 0o600
# Bytes of a buffer that turns many small writes into a few large ones.
_BUFFER = 1 << 18


def open_new(path: Path) -> BinaryIO:
    """Create a file and open it for writing. Symbolic links are not followed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, _PRIVATE)
    return os.fdopen(descriptor, "wb", _BUFFER)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that gets its name only when it is complete and on the disk.

    Until then it is `.NAME.part`, locked by this process. If the process is killed, the lock ends
    with it, and the next process replaces that file.

    Raises:
        FileExistsError: the name is taken, or was taken meanwhile.
        BlockingIOError: another process is writing this file.
    """
    part = path.with_name(f".{path.name}.part")
    with _open_locked(path, part) as stream:
        try:
            _check_free(path)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            _check_free(path)
            if not _is_named(stream, part):
                message = "was removed while it was written"
                raise FileNotFoundError(errno.ENOENT, message, str(part))  # noqa: TRY301
            _close_on_windows(stream)
            part.rename(path)
        except BaseException:
            if _is_named(stream, part):
                _close_on_windows(stream)
                part.unlink()
            raise
    sync_folder(path.parent)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        message = "exists; remove it, or choose another name"
        raise FileExistsError(errno.EEXIST, message, str(path))


def _open_locked(path: Path, part: Path) -> BinaryIO:
    """Create and lock the temporary file; BlockingIOError if another process writes it."""
    while True:
        with suppress(FileExistsError):
            stream = open_new(part)
            # Between these steps another process may remove the file as stale.
            if _lock(stream) and _is_named(stream, part):
                return stream
            stream.close()
        # Unless it is locked, the file was left by a process that was killed.
        with suppress(FileNotFoundError), os.fdopen(os.open(part, os.O_RDWR | _FLAGS)) as stale:
            if not _lock(stale):
                message = "is being written by another process"
                raise BlockingIOError(errno.EAGAIN, message, str(path))
            is_stale = _is_named(stale, part)
            _close_on_windows(stale)
            if is_stale:
                part.unlink()


def _lock(stream: IO[Any]) -> bool:
    """Lock an open file; False if another process has locked it."""
    try:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _is_named(stream: IO[Any], path: Path) -> bool:
    """Whether an open file still has this name: it may have been removed or replaced."""
    with suppress(FileNotFoundError, ValueError):  # it may be closed as well, on Windows
        return os.path.samestat(os.fstat(stream.fileno()), path.lstat())
    return False


def _close_on_windows(stream: IO[Any]) -> None:
    """Close a file where open files can be neither renamed nor removed; it loses its lock."""
    if os.name == "nt":
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

    The content is first written to a new file in the same folder, with a random name. A symbolic
    link is replaced, not followed. A replaced file keeps its permissions if it has the same owner.
    """
    new = path.with_name(f".simhash-{secrets.token_hex(16)}.new")
    try:
        with open_new(new) as stream:
            stream.write(content)
            if (mode := _mode_of(path)) is not None:
                new.chmod(mode)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


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
