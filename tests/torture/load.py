"""A load that keeps all cores and the disk busy: ``python load.py FOLDER``.

It ends when whoever started it has, or closes its standard input.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Nobody wants it for longer.
_SECONDS = 3600
_MEGABYTE = bytes(1 << 20)


@contextmanager
def load(folder: Path) -> Iterator[None]:
    """Keep the machine busy: a process for each core, each of which computes and writes."""
    processes = [
        subprocess.Popen([sys.executable, __file__, folder], stdin=subprocess.PIPE)
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def write(folder: Path) -> None:
    while True:
        with tempfile.TemporaryFile(dir=folder) as file:
            for _ in range(32):
                file.write(_MEGABYTE)
                file.flush()
                os.fsync(file.fileno())


def main(folder: Path) -> None:
    threading.Thread(target=write, args=(folder,), daemon=True).start()
    deadline = threading.Timer(_SECONDS, os._exit, (0,))
    deadline.daemon = True
    deadline.start()

    def compute() -> None:
        while True:
            sum(range(10_000))

    threading.Thread(target=compute, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
