"""The tests with each version that is supported: `nox`, or `nox -s lowest`."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "uv"

EXTRAS = ".[postgresql,mariadb,trafilatura,parquet,warc,zstd]"
PYTEST = (
    *("pytest", "-n", "auto", "--dist", "worksteal"),
    *("-m", "", "--hypothesis-profile=full"),
)


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.15"])
@nox.parametrize("scrapy", ["2.16", "2.18", "2.19"])
def tests(session: nox.Session, scrapy: str) -> None:
    """All tests, which crawl with asyncio, the select reactor and without a reactor."""
    session.install("-e", EXTRAS, "--group", "test", f"scrapy=={scrapy}.*")
    session.run(*PYTEST, *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The lowest versions that are allowed; for newer Pythons there are no wheels of them."""
    session.install("--resolution", "lowest-direct", "-e", EXTRAS, "--group", "test")
    session.run(*PYTEST, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Which lines and branches the tests reach, with those of the processes that they start."""
    session.install("-e", EXTRAS, "--group", "test")
    session.run(*PYTEST, "--cov", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    session.install("-e", ".", "--group", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The site; whatever Sphinx warns of is an error."""
    session.install("-e", ".", "--group", "docs")
    session.run("python", "-m", "sphinx", "-q", "-W", "--keep-going", "docs", "docs/_build")
