"""What tests of several folders use; how long the torture lasts, and the table at its end."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from scrapy.cmdline import execute
from scrapy.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture",
        choices=["short", "long"],
        default="short",
        help="short takes a few minutes, long most of an hour",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = [*_rows(terminalreporter)]
    if not rows:
        return
    terminalreporter.section("torture")
    heads = ("case", "runs", "groups", "lost", "kept twice", "stats wrong", "unchecked")
    widths = (58, *map(len, heads[1:]))
    for cells in [heads, ["-" * width for width in widths], *rows]:
        padded = (f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        terminalreporter.line(f"| {' | '.join(padded)} |")


def _rows(terminalreporter: pytest.TerminalReporter) -> Iterator[object]:
    """What the tests have recorded, whichever process they ran in."""
    for report in terminalreporter.getreports(""):
        if report.when == "teardown":
            yield from (value for name, value in report.user_properties if name == "torture")


# However busy the machine is.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Claims are gathered for a shorter time: most tests crawl a few pages, one after the other."""
    monkeypatch.setattr("scrapy_simhash.crawl.gathering._GATHER", 0.02)


@pytest.fixture(autouse=True)
def drawn_secrets(request, monkeypatch):
    """Databases draw the same secrets whenever a test is run.

    Which of the texts that are only just similar enough meet in no band hangs on them, and a test
    must not hang on chance. Processes of their own draw what they like, as do tests that say so by
    a fixture of this name.
    """
    draw = random.Random(request.node.nodeid).randbytes
    monkeypatch.setattr("scrapy_simhash.db.secret.token_bytes", draw)


@pytest.fixture
def call(capsys):
    """Call the command; gives its exit code, standard output and standard error."""

    def call(*arguments, **given):
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "simhash", *map(str, arguments)], Settings(given))
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call
