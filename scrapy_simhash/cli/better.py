"""``scrapy simhash better``: dropped items that are better than what is kept, as JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_prefer, add_run
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.items import add_choice, give_back

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping
    from typing import Any

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_choice(parser)
    add_run(parser)
    add_prefer(parser, "what makes a copy the better one")


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    criteria = project.settings.prefer if options.prefer is None else options.prefer
    if not criteria:
        raise CommandError("say with --prefer, or in SIMHASH_PREFER, what makes a copy better")
    with project.namespace() as (database, namespace):
        found = (
            one
            for one in history.better(database, namespace, criteria)
            if options.run in {None, one.run} and one.created >= (options.since or 0)
        )
        give_back(found, options.output, _told)


def _told(found: history.Better, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A better item, with what it replaces; JavaScript and jq would round numbers of 63 bits."""
    kept = found.kept
    return {
        "replaces": {
            "url": kept.url,
            "key": kept.key,
            "group": kept.group,
            "created": kept.created,
        },
        "by": found.by,
        "url": found.url,
        "key": found.key,
        "run": found.run,
        "created": found.created,
        "id": str(found.id),
        "item": fields,
    }
