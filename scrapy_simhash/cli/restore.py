"""``scrapy simhash restore``: give back dropped items, as JSON Lines."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, not_negative, positive
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.output import json_line, progress_bar
from scrapy_simhash.durable import open_new, sync_folder
from scrapy_simhash.visible import plural

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import BinaryIO

    from scrapy_simhash.cli.project import Project

__all__ = ["add_arguments", "run"]


def add_arguments(parser: ArgumentParser) -> None:
    """What its command line may say."""
    add_database(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
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
        "--since", metavar="TIME", help="only those since then: 2030-01-31 or 2030-01-31T12:00"
    )
    parser.add_argument(
        "--min-distance", type=not_negative, metavar="N", help="only those so far away, or farther"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    since = None if options.since is None else _seconds(options.since)
    restored = gone = incomplete = damaged = 0
    with ExitStack() as stack:
        database, namespace = stack.enter_context(project.namespace())
        if options.output is None:
            stream = sys.stdout.buffer
        else:
            stream = stack.enter_context(_new_file(Path(options.output)))
        progress = stack.enter_context(progress_bar())
        task = progress.add_task("Restoring", total=None)
        for row in history.quarantined(
            database,
            namespace,
            orphans=options.orphans,
            run=options.run,
            since=since,
            min_distance=options.min_distance,
            numbers=options.id,
        ):
            if row.item is None:
                gone += 1
                continue
            try:
                fields = history.unpack(bytes(row.item))
            except ValueError:
                damaged += 1
                continue
            stream.write(json_line(fields))
            restored += 1
            incomplete += str(row.item_type).endswith("(incomplete)")
            progress.advance(task)
        stream.flush()
        if options.output is not None:
            # It may be pruned from the database next.
            os.fsync(stream.fileno())
            sync_folder(Path(options.output).parent)
    print(f"{restored:,} {plural(restored, 'item')} restored", file=sys.stderr)
    if gone:
        print(f"{gone:,} more were not kept (SIMHASH_QUARANTINE)", file=sys.stderr)
    if incomplete:
        print(
            f"{incomplete:,} of them have values that could not be kept as they were",
            file=sys.stderr,
        )
    if damaged:
        raise CommandError(f"{damaged:,} more can't be read: the database is damaged there")


def _seconds(given: str) -> float:
    """A time of the command line, in seconds since the epoch; the machine's zone unless it says."""
    try:
        return datetime.fromisoformat(given).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise CommandError(
            f"--since {given}: wanted is a time such as 2030-01-31 or 2030-01-31T12:00"
        ) from error


def _new_file(path: Path) -> BinaryIO:
    """Never over another file: what is restored may be all that there is."""
    try:
        return open_new(path)
    except FileExistsError as error:
        raise CommandError(f"{path} is there already; remove it, or name another one") from error
