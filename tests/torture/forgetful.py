"""A file system that loses data that was not synced when the power is cut.

Writes are in memory at once, and on "disk" when the file is synced; a name when its folder is
synced. POSIX promises no more. A cut leaves what is on disk and a random part of the rest: any of
the writes to a file, as they reach a disk in any order; of a folder the state after any change.

``python forgetful.py FOLDER`` mounts it. It speaks the protocol of the Linux kernel itself (FUSE,
see linux/fuse.h), so nothing has to be installed. It reads commands from standard input:

- "stop COUNT SUFFIX": refuse all changes after COUNT, counted from the first write to a file whose
  name ends with SUFFIX;
- "stopped": print whether changes are refused;
- "cut SEED": cut the power and mount what is left.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import select
import stat
import struct
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = bytes | int


_SET_SIZE = 1 << 3
_BIG_WRITES = 1 << 5
_LARGEST = 1 << 17
_VALID = struct.pack("<QII", 3600, 0, 0)
_OPENED = struct.pack("<QII", 0, 0, 0)


@dataclass(eq=False)
class File:
    """A file: its content, the content on disk, and the writes since."""

    number: int
    name: bytes
    now: bytearray = field(default_factory=bytearray)
    disk: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)
    mode = stat.S_IFREG | 0o644

    def write(self, offset: int, data: bytes | None) -> None:
        """Write data at an offset; None truncates the file there."""
        self.since.append((offset, data))
        _write(self.now, offset, data)

    def sync(self) -> None:
        self.disk, self.since = bytes(self.now), []

    def left(self, chance: random.Random) -> bytearray:
        content = bytearray(self.disk)
        survive = chance.choice((0.0, 0.5, 1.0))
        for offset, data in self.since:
            if chance.random() < survive:
                _write(content, offset, data)
        return content


@dataclass(eq=False)
class Folder:
    """A folder: its names, the names on disk, and the states since."""

    number: int
    name: bytes
    now: dict[bytes, File | Folder] = field(default_factory=dict)
    disk: dict[bytes, File | Folder] = field(default_factory=dict)
    since: list[dict[bytes, File | Folder]] = field(default_factory=list)
    mode = stat.S_IFDIR | 0o755

    def note(self) -> None:
        """Record a change of its names."""
        self.since.append(dict(self.now))

    def sync(self) -> None:
        self.disk, self.since = dict(self.now), []

    def left(self, chance: random.Random) -> dict[bytes, File | Folder]:
        return chance.choice([self.disk, self.disk, *self.since])


def _write(content: bytearray, offset: int, data: bytes | None) -> None:
    content.extend(bytes(max(0, offset - len(content))))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


class Tree:
    """All files and folders, and the answers to the kernel's requests.

    The method of a request gets the number of a node and the request's body, and returns an answer
    or an error number.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, File | Folder] = {}
        self._add(Folder, b"")
        # Changes that are still accepted, and the suffix whose first write starts the count.
        self._left: float = float("inf")
        self._awaited: bytes | None = None

    def stop(self, count: int, suffix: bytes) -> None:
        """Refuse all changes after `count`, counted from the first write to such a file."""
        self._left, self._awaited = count, suffix

    def has_stopped(self) -> bool:
        return self._left < 0

    def change(self, what: int, node: int, rest: bytes) -> Answer:
        """Make a change, or refuse it."""
        if what == _WRITE and self._nodes[node].name.endswith(self._awaited or b""):
            self._awaited = None
        if self._awaited is None:
            self._left -= 1
        return errno.EIO if self.has_stopped() else _CHANGES[what](self, node, rest)

    def _add(self, kind: type[File | Folder], name: bytes) -> File | Folder:
        node = kind(len(self._nodes) + 1, name)
        self._nodes[node.number] = node
        return node

    def cut(self, chance: random.Random) -> Tree:
        """The tree when the power is back."""
        tree = Tree()

        def restore(old: Folder, new: Folder) -> None:
            for name, node in old.left(chance).items():
                copy = tree._add(type(node), name)
                new.now[name] = copy
                if isinstance(node, Folder):
                    restore(node, copy)
                else:
                    copy.now = node.left(chance)
                copy.sync()

        restore(self._nodes[1], tree._nodes[1])
        tree._nodes[1].sync()
        return tree

    # Changes

    def setattr(self, node: int, rest: bytes) -> Answer:
        wanted, size = struct.unpack_from("<I12xQ", rest)
        if wanted & _SET_SIZE:
            self._nodes[node].write(size, None)
        return _VALID + self._attributes(node)

    def mkdir(self, node: int, rest: bytes) -> Answer:
        return self._enter(node, Folder, rest[8:-1])

    def create(self, node: int, rest: bytes) -> Answer:
        return self._enter(node, File, rest[16:-1]) + _OPENED

    def unlink(self, node: int, rest: bytes) -> Answer:
        folder = self._nodes[node]
        if folder.now.pop(rest[:-1], None) is None:
            return errno.ENOENT
        folder.note()
        return b""

    def rmdir(self, node: int, rest: bytes) -> Answer:
        gone = self._nodes[node].now.get(rest[:-1])
        return errno.ENOTEMPTY if gone is not None and gone.now else self.unlink(node, rest)

    def rename(self, node: int, rest: bytes) -> Answer:
        (target,) = struct.unpack_from("<Q", rest)
        return self._move(node, target, rest[8:])

    def rename2(self, node: int, rest: bytes) -> Answer:
        target, flags = struct.unpack_from("<QI", rest)
        return errno.EINVAL if flags else self._move(node, target, rest[16:])

    def write(self, node: int, rest: bytes) -> Answer:
        offset, size = struct.unpack_from("<8xQI", rest)
        self._nodes[node].write(offset, rest[40 : 40 + size])
        return struct.pack("<I4x", size)

    def fsync(self, node: int, rest: bytes) -> Answer:
        self._nodes[node].sync()
        return b""

    def _move(self, source: int, target: int, names: bytes) -> Answer:
        old, new, _ = names.split(b"\0")
        folder, other = self._nodes[source], self._nodes[target]
        if (moved := folder.now.pop(old, None)) is None:
            return errno.ENOENT
        other.now[new] = moved
        # In one folder a name gives way to another at once.
        for changed in {folder, other}:
            changed.note()
        return b""

    def _enter(self, node: int, kind: type[File | Folder], name: bytes) -> bytes:
        folder, made = self._nodes[node], self._add(kind, name)
        folder.now[name] = made
        folder.note()
        return self._entry(made)

    # What only looks

    def lookup(self, node: int, rest: bytes) -> Answer:
        found = self._nodes[node].now.get(rest[:-1])
        return errno.ENOENT if found is None else self._entry(found)

    def getattr(self, node: int, rest: bytes) -> Answer:
        return _VALID + self._attributes(node)

    def read(self, node: int, rest: bytes) -> Answer:
        offset, size = struct.unpack_from("<8xQI", rest)
        return bytes(self._nodes[node].now[offset : offset + size])

    def readdir(self, node: int, rest: bytes) -> Answer:
        offset, size = struct.unpack_from("<8xQI", rest)
        answer = b""
        for place, (name, child) in enumerate(self._nodes[node].now.items(), 1):
            padding = bytes(-len(name) % 8)
            entry = struct.pack("<QQII", child.number, place, len(name), child.mode >> 12)
            if place > offset and len(answer + entry + name + padding) <= size:
                answer += entry + name + padding
        return answer

    def opening(self, node: int, rest: bytes) -> Answer:
        return _OPENED

    def closing(self, node: int, rest: bytes) -> Answer:
        return b""

    def statfs(self, node: int, rest: bytes) -> Answer:
        free = 1 << 20
        return struct.pack("<5Q4I24x", free, free, free, free, free, 4096, 255, 4096, 0)

    def init(self, node: int, rest: bytes) -> Answer:
        (ahead,) = struct.unpack_from("<8xI", rest)
        return struct.pack("<IIIIHHIIHH32x", 7, 31, ahead, _BIG_WRITES, 16, 12, _LARGEST, 1, 0, 0)

    def _entry(self, node: File | Folder) -> bytes:
        # Name and attributes are valid for long: the kernel is notified of every change.
        head = struct.pack("<QQQQII", node.number, 0, 3600, 3600, 0, 0)
        return head + self._attributes(node.number)

    def _attributes(self, number: int) -> bytes:
        node = self._nodes[number]
        size = len(node.now) if isinstance(node, File) else 0
        return struct.pack("<6Q10I", number, size, 0, *(0,) * 6, node.mode, 1, *(0,) * 3, 4096, 0)


_REQUEST = struct.Struct("<IIQQIIII")
_FORGET, _BATCH_FORGET, _INTERRUPT, _WRITE = 2, 42, 36, 16
_CHANGES: dict[int, Callable[[Tree, int, bytes], Answer]] = {
    4: Tree.setattr,
    9: Tree.mkdir,
    10: Tree.unlink,
    11: Tree.rmdir,
    12: Tree.rename,
    _WRITE: Tree.write,
    20: Tree.fsync,
    30: Tree.fsync,
    35: Tree.create,
    45: Tree.rename2,
}
_LOOKS: dict[int, Callable[[Tree, int, bytes], Answer]] = {
    1: Tree.lookup,
    3: Tree.getattr,
    14: Tree.opening,
    15: Tree.read,
    17: Tree.statfs,
    18: Tree.closing,
    25: Tree.closing,
    26: Tree.init,
    27: Tree.opening,
    28: Tree.readdir,
    29: Tree.closing,
}


class Mount:
    """The way to the kernel: a tree that is seen in a folder.

    Raises:
        OSError: it can't be mounted: there is no /dev/fuse, or one may not.
    """

    def __init__(self, folder: bytes, tree: Tree) -> None:
        self.tree = tree
        self._folder = folder
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0".encode()
        if self._libc.mount(b"forgetful", folder, b"fuse.forgetful", 0, options):
            os.close(self.device)
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def close(self) -> None:
        """Whoever still waits for an answer gets an error."""
        os.close(self.device)
        detach = 2
        self._libc.umount2(self._folder, detach)

    def answer(self) -> None:
        """Answer what the kernel asks for next."""
        request = os.read(self.device, _LARGEST + 4096)
        _, what, unique, node, *_ = _REQUEST.unpack_from(request)
        rest = request[_REQUEST.size :]
        if what in {_FORGET, _BATCH_FORGET, _INTERRUPT}:
            return
        if what in _CHANGES:
            answer = self.tree.change(what, node, rest)
        else:
            answer = _LOOKS[what](self.tree, node, rest) if what in _LOOKS else errno.ENOSYS
        error, data = (answer, b"") if isinstance(answer, int) else (0, answer)
        os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)


def main(folder: str) -> None:
    mount = Mount(os.fsencode(folder), Tree())
    print("mounted", flush=True)
    # Without a buffer: what is read ahead would not be waited for.
    commands = sys.stdin.buffer.raw
    try:
        while True:
            ready, _, _ = select.select([mount.device, commands], [], [])
            if mount.device in ready:
                mount.answer()
            if commands not in ready:
                continue
            match commands.readline().split():
                case [b"stop", count, *suffix]:
                    mount.tree.stop(int(count), b"".join(suffix))
                    print("stopping", flush=True)
                case [b"stopped"]:
                    print(mount.tree.has_stopped(), flush=True)
                case [b"cut", seed]:
                    mount.close()
                    mount = Mount(os.fsencode(folder), mount.tree.cut(random.Random(seed)))
                    print("mounted", flush=True)
                case _:
                    return
    finally:
        mount.close()


if __name__ == "__main__":
    main(sys.argv[1])
