"""What the cases of the torture share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from loopback import serve
from sqlalchemy.engine import URL
from torture.pages import Pages
from torture.scene import Scene

SEEDS = 10
#: Computes, and writes to a folder, until its standard input is closed.
BUSY = """
import os, sys, tempfile, threading

def write():
    while True:
        with tempfile.TemporaryFile(dir=sys.argv[1]) as file:
            for _ in range(32):
                file.write(bytes(1 << 20))
                file.flush()
                os.fsync(file.fileno())

def compute():
    while True:
        sum(range(10_000))

for work in (write, compute):
    threading.Thread(target=work, daemon=True).start()
sys.stdin.read()
"""


@contextmanager
def load(folder: Path) -> Iterator[None]:
    """Keep all cores and the disk busy."""
    command = [sys.executable, "-c", BUSY, folder]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--torture") == "long")


@pytest.fixture
def seeds(is_long, tmp_path):
    """Numbers by which a case chooses its moments; half of the many are beside a load."""
    with ExitStack() as stack:

        def seeds(short: int = 1) -> Iterator[int]:
            for seed in range(SEEDS if is_long else short):
                if is_long and seed == SEEDS // 2:
                    stack.enter_context(load(tmp_path))
                yield seed

        yield seeds


@pytest.fixture
def table(record_property):
    """Rows that are printed when all tests are over."""
    rows = []
    yield rows
    for row in rows:
        record_property("torture", tuple(row))


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def site(pages):
    with serve(pages) as address:
        yield address


@pytest.fixture
def scene(tmp_path, site, pages):
    scenes: list[Scene] = []

    def make(database: URL | None = None) -> Scene:
        scenes.append(Scene(tmp_path / str(len(scenes)), site, pages, database))
        return scenes[-1]

    yield make
    for made in scenes:
        for run in made.runs:
            if run.process.is_alive():
                run.kill()
