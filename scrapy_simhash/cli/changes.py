"""``scrapy simhash changes``: list what is new, changed, moved, removed and back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from scrapy_simhash.cli import output
from scrapy_simhash.cli.arguments import add_database, add_lines, add_run, positive, seconds
from scrapy_simhash.cli.printing import in_values
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.history.changes import STATUSES, read_changes, read_window
from scrapy_simhash.history.pairs import Change, with_contents
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.report.difference import difference
from scrapy_simhash.report.verdict import changed_fields, field_label
from scrapy_simhash.visible import format_time, iso_time

# Changes whose texts are read at once.
_PART = 200

# Of the table.
HEADS = ("status", "item", "what changed")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_lines(parser)
    parser.add_argument(
        "--since",
        metavar="WHEN",
        type=_since,
        help="the number of a run, or 2030-01-31 or 2030-01-31T12:00 (default: the "
        "start of the last run)",
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

        def parts() -> Iterator[Iterable[Change]]:
            changes = read_changes(namespace, window, options.status)
            while part := list(islice(changes, _PART)):
                counts.update(change.status for change in part)
                is_read = options.texts
                yield with_contents(namespace, part, None) if is_read else part

        output.write_lines(options, HEADS, parts(), partial(map, _cells), partial(map, _fields))
    shown = ", ".join(f"{counts[name]:,} {name}" for name in STATUSES if counts[name])
    when = f"in run {window.run}" if window.run else f"since {format_time(window.since)} UTC"
    print(f"{when}: {shown or 'nothing'}", file=sys.stderr)


def _since(given: str) -> float:
    """The number of a run, or a time in seconds since the epoch."""
    return positive(given) if given.isdecimal() else seconds(given)


def _statuses(given: str) -> Sequence[str]:
    names = given.split(",")
    if unknown := [name for name in names if name not in STATUSES]:
        raise ArgumentTypeError(f"{unknown[0]!r}: expected some of {', '.join(STATUSES)}")
    return names


def _difference(change: Change) -> list[output.Piece]:
    """How the texts differ, if both were read."""
    old, new = change.stored.text, change.mine.text
    if not old or not new or old == new:
        return []
    return output.marked_difference(*difference(old, new))


def _fields(change: Change) -> dict[str, Any]:
    more: dict[str, Any] = {
        "listed_by": change.lister,
        "from": change.origin,
        "similarity": None if change.similarity is None else round(change.similarity, 4),
        "fields": dict(change.fields),
        "text": "".join(map(str, _difference(change))),
    }
    since = iso_time(change.created)
    fields = {"status": change.status, "url": change.url, "since": since, "run": change.run}
    return fields | {name: value for name, value in more.items() if value not in (None, "", {})}


def _cells(change: Change) -> Sequence[Any]:
    parts = [f"listed by {change.lister}"] if change.lister else []
    parts += [f"from {change.origin}"] if change.origin else []
    for name, *values in changed_fields(change):
        more = ""
        if any(values):
            more = f": {in_values(*values)}"
        elif name == OF_TEXT and change.similarity is not None:
            share = output.format_similarity(change.similarity, estimated=False)
            more = ": nothing in common" if share == "0.00" else f": similarity {share}"
        parts.append(f"{field_label(name)}{more}")
    return change.status, change.url, "; ".join(parts), *_difference(change)
