"""``scrapy simhash restore``: give back dropped items, as JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, not_negative, positive
from scrapy_simhash.cli.items import add_choice, give_back

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_choice(parser)
    parser.add_argument(
        "--orphans", action="store_true", help="only those that no claim stands for any more"
    )
    parser.add_argument(
        "--id",
        type=positive,
        action="append",
        metavar="N",
        help="only this one, by its number in the report or in `show --json` (may be repeated)",
    )
    parser.add_argument("--run", type=positive, metavar="N", help="only those of this run")
    parser.add_argument(
        "--min-distance", type=not_negative, metavar="N", help="only those so far away, or farther"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace() as (database, namespace):
        found = history.quarantined(
            database,
            namespace,
            orphans=options.orphans,
            run=options.run,
            since=options.since,
            min_distance=options.min_distance,
            numbers=options.id,
        )
        give_back(found, options.output, lambda _, fields: fields)
