"""Files that are either as they were or complete, whatever happens meanwhile, and nobody else's.

What is crawled may be secret, so a file is readable for its owner alone from its making on,
whatever the umask is. Where the system knows no such modes (Windows) it has those of its folder.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

__all__ = [
    "make_private",
    "new_file",
    "open_new",
    "open_own",
    "replace_file",
    "sync_file",
    "sync_folder",
    "sync_folders",
]

#: The disk has failed, or is full. Any other error says that this can't be synced at all.
_NOT_WRITTEN = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})


# Where the system has them.
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_OWN = 0o600


def open_new(path: Path) -> BinaryIO:
    """Make a file, to write to. No link is followed.

    Raises:
        FileExistsError: there is something of that name.
        OSError: it can't be made.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, _OWN)
    return os.fdopen(descriptor, "wb")


def open_own(path: Path) -> BinaryIO:
    """Open a file that is there, to read and to write. No link is followed.

    Raises:
        OSError: it is not there, is a link, or can't be opened.
    """
    return os.fdopen(os.open(path, os.O_RDWR | _PLAIN), "r+b")


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that has its name once it is on the disk as a whole, and never before.

    Raises:
        FileExistsError: there is something of that name, or came there meanwhile.
        OSError: it can't be written; nothing is left of it.
    """
    beside = path.with_name(f".simhash-{secrets.token_hex(16)}.new")
    _check_free(path)
    try:
        with open_new(beside) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _check_free(path)
        beside.rename(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def make_private(path: Path) -> None:
    """Make an empty file, before somebody makes it who does not care who reads it.

    One that is there is not touched: who closes a file gives up this process's locks on it.
    """
    # Who is to use it follows a link, as one to another disk; what can't be made it will tell.
    with suppress(OSError):
        open_new(Path(os.path.realpath(path))).close()


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in the place of what is there, once it is written to the disk as a whole.

    It is written beside it, under a name that nobody can guess and that must be free; a link in its
    place is replaced, not followed. Who may read what is replaced, if that is a file of the same
    owner, may read what replaces it: somebody has allowed that.

    Raises:
        OSError: It can't be written; what was there is as it was.
    """
    beside = path.with_name(f".simhash-{secrets.token_hex(16)}.new")
    try:
        with open_new(beside) as stream:
            stream.write(content)
            if (mode := _mode_of(path)) is not None:
                beside.chmod(mode)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _mode_of(path: Path) -> int | None:
    """What its owner has allowed others to do with a file; None where there is none."""
    with suppress(OSError):
        found = path.lstat()
        is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if stat.S_ISREG(found.st_mode) and is_own:
            return stat.S_IMODE(found.st_mode) & 0o666
    return None


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
