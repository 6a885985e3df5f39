"""Fixtures of several folders; which tests are slow; the torture's length and table."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from scrapy.cmdline import execute
from scrapy.settings import Settings


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture",
        choices=["short", "long"],
        default="short",
        help="short takes a few minutes, long most of an hour",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left_out := terminalreporter.config.stash.get(LEFT_OUT, 0):
        terminalreporter.section("slow tests")
        run_them = f"make test-all runs them too (about {MINUTES} minutes)"
        terminalreporter.line(f"{left_out} slow tests were left out: {run_them}")
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
    """The rows that tests have recorded, in any process."""
    for report in terminalreporter.getreports(""):
        if report.when == "teardown":
            yield from (value for name, value in report.user_properties if name == "torture")


#: Folders whose tests start many processes, or draw hundreds of examples.
SLOW_FOLDERS = {"benchmarks", "fuzz", "hostile", "torture"}
SERVERS = ("postgresql", "mariadb")
#: What `make test-all` takes on two cores.
MINUTES = 20
LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark whole folders, and what runs on a database server, as slow."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        on_server = callspec is not None and callspec.params.get("engine") in SERVERS
        if on_server or item.path.parent.name in SLOW_FOLDERS:
            item.add_marker("slow")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the slow tests that the marker leaves out; `-k` comes before it."""
    for item in items:
        if "not slow" in item.config.option.markexpr and item.get_closest_marker("slow"):
            item.config.stash[LEFT_OUT] = item.config.stash.get(LEFT_OUT, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every process of pytest-xdist collects the same tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


# However busy the machine is. `--hypothesis-profile=full` draws half as many examples as
# hypothesis does by itself, which takes minutes less; tests that need more or fewer say by what
# factor. `make fuzz` draws for as many minutes as it is given.
settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("full", deadline=None, max_examples=50)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Gather claims for a shorter time: most tests crawl a few pages, one after the other."""
    monkeypatch.setattr("scrapy_simhash.crawl.thread._GATHER", 0.02)


@pytest.fixture(autouse=True)
def drawn_secrets(request, monkeypatch):
    """Databases draw the same secrets whenever a test is run.

    Which barely similar texts share no band depends on the secret, and a test must not depend on
    chance. Other processes draw their own secrets; so does a test that overrides this fixture.
    """
    draw = random.Random(request.node.nodeid).randbytes
    monkeypatch.setattr("scrapy_simhash.db.transactions.token_bytes", draw)


@pytest.fixture
def call(capsys, monkeypatch):
    """Call the command; gives its exit code, standard output and standard error."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments, **given):
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "simhash", *map(str, arguments)], Settings(given))
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call
