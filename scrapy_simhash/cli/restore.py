"""``scrapy simhash restore``: write dropped items as JSON Lines, and note that they are stored."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scrapy_simhash.cli import arguments
from scrapy_simhash.cli.output import lines_to, progress_bar
from scrapy_simhash.cli.printing import json_line, without_secrets
from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.cli.resending import Restored, resend
from scrapy_simhash.crawl.quarantine import unpack
from scrapy_simhash.history.drops import choose_drops, count_unlisted, read_items
from scrapy_simhash.history.namespaces import read_namespaces
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.upkeep import store_restored
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import plural

# The numbers of dropped items, by their namespaces.
_Chosen = Sequence[tuple[NamespaceRow, Sequence[int]]]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_database(parser)
    sinks = parser.add_mutually_exclusive_group()
    arguments.add_output(sinks, "write to a new FILE, not to standard output")
    sinks.add_argument(
        "--pipelines",
        metavar="SPIDER",
        help="send the items through the item pipelines and feeds of a spider instead",
    )
    arguments.add_selection(parser, "everything")
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
            of_ids = [
                (one, [number for place, number in options.id if place == one.id])
                for one in namespaces
            ]
            _check_ids(of_ids, options)
            _restore(project, of_ids, options, Counter())
        return
    with project.selections(options, everything=True) as selected:
        chosen, rest = list[tuple[NamespaceRow, Sequence[int]]](), Counter[str]()
        for namespace, selection in selected:
            drops = choose_drops(namespace, selection, orphans=options.orphans)
            chosen.append((namespace, drops.numbers))
            if not options.orphans:
                rest["restored before"] += drops.restored
                rest["older drops of these items"] += drops.older
                rest["stored by an earlier crawl"] += count_unlisted(namespace, selection)
        _restore(project, chosen, options, rest)


def _check_ids(chosen: _Chosen, options: Namespace) -> None:
    known = {drop.id for one, numbers in chosen for _, drop, *_ in read_items(one, numbers)}
    ids = ("-".join(map(str, one)) for one in options.id)
    if unknown := ", ".join(one for one in ids if one not in known):
        raise CommandError(
            f"no dropped item has the id {unknown}; `scrapy simhash drops --json` lists them"
        )


def _restore(project: Project, chosen: _Chosen, options: Namespace, rest: Counter[str]) -> None:
    """Write items, and note that they are stored, so that no crawl drops them again."""
    counts: Counter[str] = Counter()
    found = _items(chosen, counts)
    if options.pipelines is None:
        stored = _write(found, options)
    else:
        stored = resend(project.scrapy, options.pipelines, found)
        counts["refused"] = counts["found"] - len(stored)
    counts["written"] = len(stored)
    for namespace, _ in chosen:
        scheme = keyed(project.settings.scheme, namespace.database.secret)
        is_own = scheme.id == namespace.scheme
        numbers = [number for place, number in stored if place == namespace.id]
        store_restored(
            *(namespace.database, namespace.id, numbers),
            bits=namespace.bits,
            scheme=scheme if is_own else None,
        )
    _print(counts, rest)


def _items(chosen: _Chosen, counts: Counter[str]) -> Iterator[Restored]:
    """The items that are kept; others are counted."""
    for namespace, numbers in chosen:
        for number, record, item, kind in read_items(namespace, numbers):
            if (fields := _fields(item, counts)) is not None:
                counts["found"] += 1
                counts["incomplete"] += str(kind).endswith("(incomplete)")
                yield Restored(namespace, number, record, fields, str(kind))


def _write(found: Iterable[Restored], options: Namespace) -> list[tuple[int, int]]:
    """Write items as JSON Lines; returns the numbers of their namespaces and their own."""
    written = []
    with lines_to(options.output) as stream, progress_bar() as progress:
        task = progress.add_task("Restoring", total=None)
        for one in found:
            # What was dropped is returned as it was.
            told = without_secrets(one.record.as_json()) if options.with_original else {}
            stream.write(json_line({**told, "item": one.fields} if told else one.fields))
            written.append((one.namespace.id, one.number))
            progress.advance(task)
        stream.flush()
    return written


def _fields(item: bytes | None, counts: Counter[str]) -> dict[str, Any] | None:
    """The fields of a packed item; None, and counted, if they are not there."""
    if item is None:
        counts["gone"] += 1
        return None
    try:
        return unpack(bytes(item))
    except ValueError:
        counts["damaged"] += 1
        return None


def _print(counts: Counter[str], rest: Counter[str]) -> None:
    shown = {name: f"{count:,} {plural(count, 'item')}" for name, count in counts.items() if count}
    others = ", ".join(f"{count:,} {name}" for name, count in rest.items() if count)
    total = rest.total() + counts["written"] + counts["gone"] + counts["damaged"]
    of_all = f" of {total:,}; the others: {others}" if others else ""
    print(f"{shown.get('written', '0 items')} restored{of_all}", file=sys.stderr)
    if "gone" in shown:
        print(f"Not kept (SIMHASH_QUARANTINE), or never made: {shown['gone']}", file=sys.stderr)
    if "refused" in shown:
        print(f"Dropped by an item pipeline, or failed there: {shown['refused']}", file=sys.stderr)
    if "incomplete" in shown:
        print(f"Without values that could not be kept: {shown['incomplete']}", file=sys.stderr)
    if "damaged" in shown:
        raise CommandError(f"{shown['damaged']} can't be read: the database is damaged")
