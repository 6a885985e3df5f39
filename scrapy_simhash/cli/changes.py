"""``scrapy simhash changes``: list what is new, changed, moved, missing, gone and back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_database, add_json, add_selection
from scrapy_simhash.cli.project import Project
from scrapy_simhash.cli.records import by_status, compared_texts
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.decisions import with_contents
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.history.selection import Selection
from scrapy_simhash.history.sql import NamespaceRow

# Changes whose texts are read at once.
_PART = 200


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_selection(parser, "what the last crawl of each spider met")
    parser.add_argument(
        "--status", metavar="A,B", type=_statuses, default=STATUSES, help=", ".join(STATUSES)
    )
    parser.add_argument(
        "--texts", action="store_true", help="show how the texts differ, where both are kept"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.selections(options) as chosen:
        for namespace, selection in chosen:
            parts = _read(namespace, selection, options)
            more = compared_texts if options.texts else None
            counts = output.write_lines(options, parts, by_status, more)
            shown = ", ".join(f"{counts[name]:,} {name}" for name in STATUSES if counts[name])
            print(f"{selection}: {shown or 'nothing'}", file=sys.stderr)


def _read(
    namespace: NamespaceRow, selection: Selection, options: Namespace
) -> Iterator[Iterable[Record]]:
    found = (read_changes(namespace, selection, [status]) for status in options.status)
    changes = chain.from_iterable(found)
    while part := list(islice(changes, _PART)):
        yield with_contents(namespace, part, None) if options.texts else part


def _statuses(given: str) -> Sequence[str]:
    names = given.split(",")
    if unknown := [name for name in names if name not in STATUSES]:
        raise ArgumentTypeError(f"{unknown[0]!r}: expected some of {', '.join(STATUSES)}")
    return names
