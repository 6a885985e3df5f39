"""Identifies processes, and tells whether one is still alive."""

from __future__ import annotations

import os
import secrets
import socket
import uuid
from contextlib import suppress
from pathlib import Path

import psutil

# The names that this process has registered and not unregistered.
_registered: set[str] = set()


def host_id() -> str:
    """Identifies this system: host name, boot and PID namespace, which containers do not share."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    if len(parts) == 1:
        # Host names are not unique: add the hardware address, or the random number in its place.
        parts.append(f"{uuid.getnode():012x}")
    return " ".join(parts)[:255]


def register() -> str:
    """A name for an activity of this process, which ends with the process at the latest.

    It consists of the process number, its start time (numbers are reused), and a random part (a
    process may have several activities).
    """
    name = f"{os.getpid()} {_started(psutil.Process()):.2f} {secrets.token_hex(8)}"
    _registered.add(name)
    return name


def unregister(name: str) -> None:
    """End an activity, though the process lives on."""
    _registered.discard(name)


def is_alive(name: str) -> bool:
    """Whether an activity that was registered on this system has not ended."""
    number, _, rest = name.partition(" ")
    started = rest.partition(" ")[0]
    try:
        found = psutil.Process(int(number))
        # A zombie is dead; its parent has not waited for it yet.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        lives = not is_zombie and abs(_started(found) - float(started)) < 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True
    return lives and (found.pid != os.getpid() or name in _registered)


def _started(process: psutil.Process) -> float:
    started = process.create_time()
    # Linux counts it from the boot time, which moves when the clock is set.
    return started - psutil.boot_time() if psutil.LINUX else started
