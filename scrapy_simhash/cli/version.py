"""``scrapy simhash --version``: the versions that matter to the report of a bug."""

from __future__ import annotations

import platform
from argparse import Namespace
from importlib.metadata import version

from scrapy_simhash import native
from scrapy_simhash.cli.output import print_facts
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable


def run(project: Project, _: Namespace) -> None:
    """Print them."""
    print_facts(
        {
            "scrapy-simhash": f"{version('scrapy-simhash')}, core: {native.in_use}",
            "Python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
            **{name: version(name) for name in ("Scrapy", "SQLAlchemy", "lxml")},
            "database": _describe_database(project),
        }
    )


def _describe_database(project: Project) -> str:
    try:
        with project.database() as database:
            number = ".".join(map(str, database.engine.dialect.server_version_info or ()))
            return f"{database}: {database.engine.name} {number}"
    except (CommandError, IndexMismatch, IndexUnavailable) as error:
        return str(error)
