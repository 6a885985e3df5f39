"""``scrapy simhash reset``: delete a namespace, or what is known of a part of a site."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from scrapy_simhash.cli.arguments import add_database, add_json
from scrapy_simhash.cli.output import working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.db.engine import shown_url
from scrapy_simhash.db.pages import delete_file
from scrapy_simhash.db.transactions import drop_tables
from scrapy_simhash.index.upkeep import claims_at, forget_claims, reset_namespace
from scrapy_simhash.visible import plural, shortened


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "--url",
        metavar="PATTERN",
        help="only the items with such URLs; * stands for anything",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument(
        "--all",
        action="store_true",
        help="delete all namespaces and tables, whatever version made them",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    if options.url is not None:
        _forget(project, options)
        return
    if options.all:
        _confirm(options, f"Delete everything in {shown_url(project.database_url)}?")
        drop_tables(project.database_url, project.settings.engine_options)
        delete_file(project.pages)
        name, size, done = None, None, "Everything was deleted"
    else:
        with project.namespace() as namespace:
            name, size = namespace.name, namespace.size
            items = f"{size:,} stored {plural(size, 'item')}"
            _confirm(options, f"Delete {items} of {shortened(name)} in {namespace.database}?")
            with working("Deleting"):
                reset_namespace(namespace.database, name)
        done = f"{items} deleted"
    if options.json:
        print_json({"namespace": name, "deleted": size})
    else:
        print(done)


def _forget(project: Project, options: Namespace) -> None:
    """Forget what was found at some URLs."""
    if options.all:
        raise CommandError("--url and --all exclude each other")
    if not options.url:
        raise CommandError("--url is empty: expected a URL, or a part of one with *")
    with project.namespace() as namespace:
        index = project.settings.open_index(namespace.database, namespace.name)
        with working("Searching"):
            claims = claims_at(index, options.url)
        found = f"{len(claims):,} {plural(len(claims), 'item')}"
        if claims:
            _confirm(options, f"Forget {found} of {shortened(namespace.name)}?")
            with working("Deleting"):
                forget_claims(index, claims)
    if options.json:
        print_json({"namespace": namespace.name, "items": len(claims)})
    else:
        print(f"{found} forgotten")


def _confirm(options: Namespace, question: str) -> None:
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("use --yes where standard input is no terminal")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise CommandError("nothing was deleted")
