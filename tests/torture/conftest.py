"""How long the torture lasts, and the table at its end."""

from __future__ import annotations

import pytest
from torture.rows import Row

_table = pytest.StashKey[list[Row]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture",
        choices=["short", "long"],
        default="short",
        help="short takes one or two minutes, long about ten",
    )


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    # Unknown where the tests were not started in this folder.
    return bool(request.config.getoption("--torture", "short") == "long")


@pytest.fixture
def table(request: pytest.FixtureRequest) -> list[Row]:
    return request.config.stash.setdefault(_table, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_table, [])
    if not rows:
        return
    terminalreporter.section("torture")
    line = "{:<58}{:>6}{:>9}{:>6}{:>12}{:>13}"
    terminalreporter.line(
        line.format("case", "runs", "groups", "lost", "kept twice", "stats wrong")
    )
    for row in rows:
        terminalreporter.line(line.format(*row))
