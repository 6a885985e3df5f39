"""``scrapy simhash reset``: forget a namespace with everything in it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import print_json
from scrapy_simhash.index.upkeep import reset_namespace
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--all",
        action="store_true",
        help="forget all namespaces, and make the tables anew, whatever version made them",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    if options.all:
        _ask(options, f"Forget all that is in {project.shown_database}?")
        project.drop_tables()
        if options.json:
            print_json({"namespace": None, "forgotten": None})
        else:
            print("All is forgotten")
        return
    with project.namespace() as (database, namespace):
        name = shortened(namespace.name)
        claims = f"{namespace.size:,} {plural(namespace.size, 'claim')}"
        _ask(options, f"Forget {claims} of {name} in {database}?")
        reset_namespace(database, namespace.name)
    if options.json:
        print_json({"namespace": namespace.name, "forgotten": namespace.size})
    else:
        print(f"{claims} forgotten")


def _ask(options: Namespace, question: str) -> None:
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("--yes is wanted where nobody can be asked")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise CommandError("nothing was forgotten")
