"""``scrapy simhash restore``: write dropped items as JSON Lines."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from scrapy_simhash.cli import arguments
from scrapy_simhash.cli.output import lines_to, progress_bar
from scrapy_simhash.cli.printing import json_line, without_secrets
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl.quarantine import unpack
from scrapy_simhash.history.drops import choose_drops, read_items
from scrapy_simhash.history.namespaces import read_namespaces
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.visible import plural


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_database(parser)
    arguments.add_output(parser, "write to a new FILE, not to standard output")
    parser.add_argument(
        "--since",
        metavar="TIME",
        type=arguments.seconds,
        help="only items dropped since TIME: 2030-01-31 or 2030-01-31T12:00",
    )
    arguments.add_run(parser)
    parser.add_argument(
        "--orphans", action="store_true", help="only items whose original was not stored after all"
    )
    parser.add_argument(
        "--id",
        type=arguments.item_id,
        action="append",
        metavar="ID",
        help="only the item with this id in the report, `show` or `drops --json` (may be repeated)",
    )
    parser.add_argument(
        "--with-original",
        action="store_true",
        help="write each item together with what it was a copy of",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    if options.id:
        with project.database() as database:
            namespaces = read_namespaces(database, project.name)
            _check_ids(namespaces, options)
            _write(namespaces, options)
    else:
        with project.namespaces_of(options.run) as namespaces:
            _write(namespaces, options)


def _check_ids(namespaces: Iterable[NamespaceRow], options: Namespace) -> None:
    known = {drop.id for one in namespaces for drop, *_ in _found(one, options)}
    ids = ("-".join(map(str, one)) for one in options.id)
    if unknown := ", ".join(one for one in ids if one not in known):
        raise CommandError(
            f"no dropped item has the id {unknown}; `scrapy simhash drops --json` lists them"
        )


def _found(
    namespace: NamespaceRow, options: Namespace
) -> Iterator[tuple[Record, bytes | None, str | None]]:
    """Records, their packed items, None where these are not kept, and the types of these."""
    if options.id:
        return read_items(namespace, [one for place, one in options.id if place == namespace.id])
    since = options.since or 0.0
    numbers = choose_drops(namespace, orphans=options.orphans, run=options.run, since=since)
    return read_items(namespace, numbers)


def _write(namespaces: Iterable[NamespaceRow], options: Namespace) -> None:
    """Write items to a file, which appears once it is complete, or to standard output."""
    counts: Counter[str] = Counter()
    found = chain.from_iterable(_found(one, options) for one in namespaces)
    with lines_to(options.output) as stream, progress_bar() as progress:
        task = progress.add_task("Restoring", total=None)
        for record, item, kind in found:
            if item is None:
                counts["gone"] += 1
                continue
            try:
                fields = unpack(bytes(item))
            except ValueError:
                counts["damaged"] += 1
                continue
            # What was dropped is returned as it was.
            told = without_secrets(record.as_json()) if options.with_original else {}
            stream.write(json_line({**told, "item": fields} if told else fields))
            counts["written"] += 1
            counts["incomplete"] += str(kind).endswith("(incomplete)")
            progress.advance(task)
        stream.flush()
    shown = {name: f"{count:,} {plural(count, 'item')}" for name, count in counts.items() if count}
    print(f"{shown.get('written', '0 items')} restored", file=sys.stderr)
    if "gone" in shown:
        print(f"Not kept (SIMHASH_QUARANTINE), or never made: {shown['gone']}", file=sys.stderr)
    if "incomplete" in shown:
        print(f"Without values that could not be kept: {shown['incomplete']}", file=sys.stderr)
    if "damaged" in shown:
        raise CommandError(f"{shown['damaged']} can't be read: the database is damaged")
