"""``scrapy simhash rebuild``: make the keys of a namespace with exact blocks anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import print_json, progress_bar
from scrapy_simhash.index.upkeep import rebuild_keys
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    add_json(parser)


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace() as (database, namespace), progress_bar() as progress:
        task = progress.add_task("Making keys", total=None)
        index = project.index(database, namespace.name)
        if index.lookup.keys.needs_shingles:
            raise CommandError(
                f"namespace {namespace.name!r} has {namespace.plan!r}, made of texts, which are "
                "not kept for ever; bands need no other size. Exact blocks can be made anew"
            )
        plan = rebuild_keys(
            index,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if options.json:
        print_json({"namespace": namespace.name, "before": namespace.plan, "plan": plan.id})
    else:
        name, before = shortened(namespace.name), shortened(namespace.plan)
        print(f"The keys of {name} are {plan.id}, they were {before}")
