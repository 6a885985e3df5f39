"""Which process, on which system, whether it still lives, and what it has given up itself."""

from __future__ import annotations

import os
import secrets
import socket
import uuid
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["host_id", "is_alive", "register", "unregister"]

#: What this process has entered, and not left.
_registered: set[str] = set()


def host_id() -> str:
    """What tells this system's processes from another's: containers share neither of the two."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    if len(parts) == 1:
        # Names are not unique: the hardware address is, or a random number, which suits as well.
        parts.append(f"{uuid.getnode():012x}")
    return " ".join(parts)[:255]


def register() -> str:
    """A name for something that this process does, and that dies with it at the latest.

    It has the process number, the process's start, as a number may be used again, and something of
    its own, as a process may do several things, one after the other.
    """
    name = f"{os.getpid()} {_started(psutil.Process()):.2f} {secrets.token_hex(8)}"
    _registered.add(name)
    return name


def unregister(name: str) -> None:
    """What :func:`register` has named is over, though the process lives on."""
    _registered.discard(name)


def is_alive(name: str) -> bool:
    """Whether what :func:`register` has named, on this system, is not over."""
    number, _, rest = name.partition(" ")
    started = rest.partition(" ")[0]
    try:
        found = psutil.Process(int(number))
        # One that nobody has waited for yet is dead all the same.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        lives = not is_zombie and abs(_started(found) - float(started)) < 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True
    return lives and (found.pid != os.getpid() or name in _registered)


def _started(process: psutil.Process) -> float:
    started = process.create_time()
    # There it is counted from the boot, the time of which moves whenever the clock is set.
    return started - psutil.boot_time() if psutil.LINUX else started
