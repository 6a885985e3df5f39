"""Identifies processes, and tells whether one is still alive."""

from __future__ import annotations

import os
import secrets
import socket
import time
import uuid
from contextlib import suppress
from pathlib import Path

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

    It consists of the process number, the time (numbers are reused), and a random part (a process
    may have several activities).
    """
    # Linux counts the start of a process from the boot: the clock may be set.
    is_linux = hasattr(time, "CLOCK_BOOTTIME")
    now = time.clock_gettime(time.CLOCK_BOOTTIME) if is_linux else time.time()
    name = f"{os.getpid()} {now:.2f} {secrets.token_hex(8)}"
    _registered.add(name)
    return name


def unregister(name: str) -> None:
    """End an activity, though the process lives on."""
    _registered.discard(name)


def is_alive(name: str) -> bool:
    """Whether an activity that was registered on this system has not ended."""
    import psutil  # noqa: PLC0415  (slow, and only needed if there are others)

    number, _, rest = name.partition(" ")
    try:
        found = psutil.Process(int(number))
        started = found.create_time() - (psutil.boot_time() if psutil.LINUX else 0)
        # A zombie is dead; its parent has not waited for it yet.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        # One that started later has got the number of the one that was registered.
        lives = not is_zombie and started < float(rest.partition(" ")[0]) + 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True
    return lives and (found.pid != os.getpid() or name in _registered)
