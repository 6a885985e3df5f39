"""``scrapy simhash drops``: list what a crawl dropped, or kept although another item is similar."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

from scrapy_simhash.cli.arguments import add_database, add_lines, add_run
from scrapy_simhash.cli.output import write_lines
from scrapy_simhash.cli.project import Project
from scrapy_simhash.cli.records import by_original
from scrapy_simhash.history.decisions import read_decisions, with_contents
from scrapy_simhash.history.namespaces import find_run, read_runs
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.words import STORED
from scrapy_simhash.visible import plural


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_lines(parser)
    add_run(parser, "of run N (default: the newest)")
    parser.add_argument(
        "--kept",
        action="store_true",
        help="list what was kept although another item is similar, and why",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    counts: Counter[str] = Counter()
    with project.database() as database:
        number, namespaces = find_run(database, project.name, options.run)

        def pages() -> Iterator[list[Record]]:
            for namespace in namespaces:
                for page in read_decisions(namespace, number, kept=options.kept):
                    counts.update(record.status for record in page)
                    yield [*with_contents(namespace, page, project.settings.scheme)]

        write_lines(options, pages(), by_original, is_brief=not options.kept)
        runs = read_runs(namespaces[0])
        of_run = [row.counts for row in runs if row.id == number]
    named = ", ".join(repr(namespace.name) for namespace in namespaces)
    shown = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    lines = [f"{shown or ('nothing kept' if options.kept else 'nothing dropped')}"]
    if options.kept:
        lines[0] += " although another item is similar"
        lines += ["If a field is irrelevant, name it in SIMHASH_IGNORE_FIELDS"] * bool(counts)
    else:
        listed = counts.total() - counts[STORED]
        if of_run and of_run[0] and (more := of_run[0][2] - listed) > 0:
            lines.append(f"Not listed: {more:,} {plural(more, 'item')} that had not changed at all")
        if listed:
            lines.append(f"To restore: scrapy simhash restore --run {number}")
        command = f"scrapy simhash drops --kept --run {number}"
        lines.append(f"What was kept although another item is similar: {command}")
    print(f"Run {number} of {named}: {'. '.join(lines)}", file=sys.stderr)
