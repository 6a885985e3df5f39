"""``scrapy simhash secret``: print the secret of the database, which nothing else shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    parser.add_argument("--database", metavar="URL", help="instead of SIMHASH_DATABASE_URL")


def run(project: Project, _options: Namespace) -> None:
    """Run the command."""
    with project.database() as database:
        print(database.secret.hex())
