"""``scrapy simhash changes``: list what is new, changed, moved, missing, gone and back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_database, add_lines, add_run, positive, seconds
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.cli.records import by_status, compared_texts
from scrapy_simhash.history.changes import read_changes, read_window
from scrapy_simhash.history.decisions import with_contents
from scrapy_simhash.history.record import STATUSES, Record
from scrapy_simhash.visible import format_time, plural, shortened

# Characters of the numbers of runs.
_LONGEST = 60

# Changes whose texts are read at once.
_PART = 200


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_lines(parser)
    parser.add_argument(
        "--since",
        metavar="WHEN",
        type=_since,
        help="the number of a run, or 2030-01-31 or 2030-01-31T12:00 (default: what the last "
        "crawl of each spider met)",
    )
    add_run(parser)
    parser.add_argument(
        "--status", metavar="A,B", type=_statuses, default=STATUSES, help=", ".join(STATUSES)
    )
    parser.add_argument(
        "--texts", action="store_true", help="show how the texts differ, where both are kept"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    if options.run and options.since is not None:
        raise CommandError("--run can't be combined with --since")
    counts: Counter[str] = Counter()
    with project.namespace_of(options.run) as namespace:
        window = read_window(namespace, since=options.since, run=options.run)

        def parts() -> Iterator[Iterable[Record]]:
            found = (read_changes(namespace, window, [status]) for status in options.status)
            changes = chain.from_iterable(found)
            while part := list(islice(changes, _PART)):
                counts.update(change.status for change in part)
                yield with_contents(namespace, part, None) if options.texts else part

        more = compared_texts if options.texts else None
        output.write_lines(options, parts(), by_status, more)
    shown = ", ".join(f"{counts[name]:,} {name}" for name in STATUSES if counts[name])
    when = f"since {format_time(window.since)} UTC"
    if window.runs is not None:
        numbers = shortened(", ".join(map(str, window.runs)), _LONGEST)
        when = f"in {plural(len(window.runs), 'run')} {numbers}"
    print(f"{when}: {shown or 'nothing'}", file=sys.stderr)


def _since(given: str) -> float:
    """The number of a run, or a time in seconds since the epoch."""
    return positive(given) if given.isdecimal() else seconds(given)


def _statuses(given: str) -> Sequence[str]:
    names = given.split(",")
    if unknown := [name for name in names if name not in STATUSES]:
        raise ArgumentTypeError(f"{unknown[0]!r}: expected some of {', '.join(STATUSES)}")
    return names
