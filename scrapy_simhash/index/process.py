"""Which process, on which system, and whether it still lives."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["host_id", "is_alive", "process_id"]


def host_id() -> str:
    """What tells this system's processes from another's: containers share neither of the two."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)[:255]


def process_id() -> str:
    """The process number and its start, as a number may be used again."""
    return f"{os.getpid()} {_started(psutil.Process()):.2f}"


def is_alive(process: str) -> bool:
    """Whether a process, given as :func:`process_id` does, lives on this system."""
    number, _, started = process.partition(" ")
    try:
        found = psutil.Process(int(number))
        # One that nobody has waited for yet is dead all the same.
        is_zombie = found.status() == psutil.STATUS_ZOMBIE
        return not is_zombie and abs(_started(found) - float(started)) < 1
    except (psutil.NoSuchProcess, ValueError):
        return False
    except psutil.AccessDenied:
        return True


def _started(process: psutil.Process) -> float:
    started = process.create_time()
    # There it is counted from the boot, the time of which moves whenever the clock is set.
    return started - psutil.boot_time() if psutil.LINUX else started
