"""``scrapy simhash prune``: delete stored items not seen for a long time."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from scrapy_simhash.cli.arguments import add_database, add_json, positive
from scrapy_simhash.cli.output import working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl.settings import DAY
from scrapy_simhash.db.pages import delete_pages
from scrapy_simhash.index.upkeep import expire
from scrapy_simhash.visible import plural


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "--older-than", type=positive, metavar="DAYS", help="instead of SIMHASH_EXPIRE"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    days = options.older_than or project.settings.expire
    if days is None:
        raise CommandError("--older-than DAYS or SIMHASH_EXPIRE is needed")
    with project.namespace() as namespace, working("Deleting"):
        index = project.settings.open_index(namespace.database, namespace.name)
        before = namespace.database.now() - days * DAY
        count, drops = expire(index, before)
        delete_pages(project.pages, before)
        left = len(index)
    if options.json:
        print_json(
            {"namespace": namespace.name, "deleted": count, "duplicates": drops, "left": left}
        )
    else:
        print(
            f"{count:,} stored {plural(count, 'item')} and {drops:,} {plural(drops, 'duplicate')} "
            f"deleted, {left:,} stored {plural(left, 'item')} left"
        )
