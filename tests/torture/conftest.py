"""How long the torture lasts, what its cases share, and the table at its end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from loopback import serve
from torture.load import load
from torture.pages import Pages
from torture.rows import Row
from torture.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL

SEEDS = 10

_table = pytest.StashKey[list[Row]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture",
        choices=["short", "long"],
        default="short",
        help="short takes a few minutes, long more than an hour",
    )


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    # Unknown where the tests were not started in this folder.
    return bool(request.config.getoption("--torture", "short") == "long")


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
def table(request: pytest.FixtureRequest) -> list[Row]:
    return request.config.stash.setdefault(_table, [])


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


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_table, [])
    if not rows:
        return
    terminalreporter.section("torture")
    heads = ("case", "runs", "groups", "lost", "kept twice", "stats wrong", "unchecked")
    widths = (58, *map(len, heads[1:]))
    for cells in [heads, ["-" * width for width in widths], *rows]:
        padded = (f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        terminalreporter.line(f"| {' | '.join(padded)} |")
