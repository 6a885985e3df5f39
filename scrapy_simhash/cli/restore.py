"""``scrapy simhash restore``: write dropped items as JSON Lines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import Row

from scrapy_simhash.cli.arguments import (
    add_database,
    add_prefer,
    add_run,
    not_negative,
    output_file,
    positive,
    seconds,
)
from scrapy_simhash.cli.output import json_line, lines_to, progress_bar
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.history.better import better_items
from scrapy_simhash.history.drops import quarantined, unpack_item
from scrapy_simhash.history.query import NamespaceRow
from scrapy_simhash.index.verdict import group_name
from scrapy_simhash.visible import plural


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="write to a new FILE, not to standard output",
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        type=seconds,
        help="only items dropped since TIME: 2030-01-31 or 2030-01-31T12:00",
    )
    add_run(parser)
    parser.add_argument(
        "--orphans",
        action="store_true",
        help="only items whose original was not stored in the end",
    )
    parser.add_argument(
        "--id",
        type=positive,
        action="append",
        metavar="N",
        help="only the item with this number in the report or in `show` (may be repeated)",
    )
    parser.add_argument(
        "--min-distance", type=not_negative, metavar="N", help="only items at least N bits apart"
    )
    parser.add_argument(
        "--better",
        action="store_true",
        help="only the best item of each group, if it is better than the stored one, together "
        "with what it replaces",
    )
    add_prefer(parser, "with --better, the quality that counts")


def run(project: Project, options: Namespace) -> None:
    """Run the command.

    Raises:
        CommandError: options do not go together, or see `_write`.
    """
    if options.better:
        _run_better(project, options)
        return
    if options.prefer is not None:
        raise CommandError("--prefer needs --better")
    with project.namespace() as (database, namespace):
        found = quarantined(
            database,
            namespace,
            orphans=options.orphans,
            run=options.run,
            since=options.since,
            min_distance=options.min_distance,
            numbers=options.id,
        )
        _write(((row, None) for row in found), options.output)


def _run_better(project: Project, options: Namespace) -> None:
    if options.orphans or options.id or options.min_distance is not None:
        raise CommandError("--better can't be combined with --orphans, --id or --min-distance")
    criteria = project.settings.prefer if options.prefer is None else options.prefer
    if not criteria:
        raise CommandError("--better needs --prefer, or SIMHASH_PREFER")
    with project.namespace() as (database, namespace):
        found = (
            (row, _described(namespace, row, by, kept))
            for row, by, kept in better_items(database, namespace, criteria)
            if options.run in {None, row.run} and row.created >= (options.since or 0)
        )
        _write(found, options.output)


def _described(namespace: NamespaceRow, row: Row[Any], by: str, kept: Row[Any]) -> dict[str, Any]:
    """What stands beside the fields of a better item."""
    return {
        "replaces": {
            "url": kept.url,
            "key": kept.key,
            "group": group_name(namespace.id, kept.origin),
            "created": kept.created,
        },
        "by": by,
        "url": row.url,
        "key": row.key,
        "run": row.run,
        "created": row.created,
        # JavaScript and jq round numbers of 63 bits.
        "id": str(row.id),
    }


def _write(found: Iterable[tuple[Row[Any], dict[str, Any] | None]], output: Path | None) -> None:
    """Write items to a file, which appears once it is complete, or to standard output.

    Args:
        found: the rows of dropped items, each with what stands beside its fields, if anything.
        output: the file.

    Raises:
        CommandError: the file exists; or some items can't be read, after writing all others.
    """
    written = gone = incomplete = damaged = 0
    with lines_to(output) as stream, progress_bar() as progress:
        task = progress.add_task("Restoring", total=None)
        for row, beside in found:
            if row.item is None:
                gone += 1
                continue
            try:
                fields = unpack_item(bytes(row.item))
            except ValueError:
                damaged += 1
                continue
            stream.write(json_line(fields if beside is None else {**beside, "item": fields}))
            written += 1
            incomplete += str(row.item_type).endswith("(incomplete)")
            progress.advance(task)
        stream.flush()
    print(f"{written:,} {plural(written, 'item')} restored", file=sys.stderr)
    if gone:
        print(f"Not kept (SIMHASH_QUARANTINE): {gone:,} {plural(gone, 'item')}", file=sys.stderr)
    if incomplete:
        items = plural(incomplete, "item")
        print(f"Without values that could not be kept: {incomplete:,} {items}", file=sys.stderr)
    if damaged:
        raise CommandError(
            f"{damaged:,} {plural(damaged, 'item')} can't be read: the database is damaged"
        )
