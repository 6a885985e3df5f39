"""``scrapy simhash drops``: list what a crawl dropped, or kept although another item is similar."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

from scrapy_simhash.cli.arguments import add_database, add_json, add_selection
from scrapy_simhash.cli.output import write_lines
from scrapy_simhash.cli.project import Project
from scrapy_simhash.cli.records import by_original
from scrapy_simhash.history.decisions import read_decisions, with_contents
from scrapy_simhash.history.drops import count_unlisted
from scrapy_simhash.history.selection import Selection
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.index.words import STORED
from scrapy_simhash.visible import plural


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_selection(parser, "what the last crawl of each spider met")
    parser.add_argument(
        "--kept",
        action="store_true",
        help="list what was kept although another item is similar, and why",
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.selections(options) as chosen:
        for namespace, selection in chosen:
            read = read_decisions(namespace, selection, kept=options.kept)
            parts = (with_contents(namespace, part, project.settings.scheme) for part in read)
            counts = write_lines(options, parts, by_original, is_brief=not options.kept)
            lines = _sum(namespace, selection, counts, options)
            print(f"{selection}: {'. '.join(lines)}", file=sys.stderr)


def _sum(
    namespace: NamespaceRow, selection: Selection, counts: Counter[str], options: Namespace
) -> Iterator[str]:
    shown = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    if options.kept:
        yield f"{shown or 'nothing kept'} although another item is similar"
        if counts:
            yield "If a field is irrelevant, name it in SIMHASH_IGNORE_FIELDS"
        return
    yield shown or "nothing dropped"
    listed = counts.total() - counts[STORED]
    if more := count_unlisted(namespace, selection):
        yield f"Not listed: {more:,} {plural(more, 'item')} that had not changed at all"
    if listed:
        yield f"To restore: scrapy simhash restore {selection.options}"
    command = f"scrapy simhash drops --kept {selection.options}"
    yield f"What was kept although another item is similar: {command}"
