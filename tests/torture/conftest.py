"""What the cases of the torture share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from loopback import serve
from sqlalchemy.engine import URL
from torture.load import load
from torture.pages import Pages
from torture.scene import Scene

SEEDS = 10


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
