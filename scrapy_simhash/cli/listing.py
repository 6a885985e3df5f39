"""The commands that list what crawls did: drops, changes, patterns of URLs, and the report."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from scrapy_simhash.cli.arguments import (
    LAST_CRAWLS,
    add_flag,
    add_output,
    add_shared,
    output_file,
    positive,
)
from scrapy_simhash.cli.output import (
    by_original,
    by_status,
    compared_texts,
    lines_to,
    print_table,
    working,
    write_lines,
)
from scrapy_simhash.cli.printing import print_lines
from scrapy_simhash.cli.project import Project
from scrapy_simhash.history.changes import read_changes
from scrapy_simhash.history.decisions import count_unlisted, read_decisions, with_contents
from scrapy_simhash.history.patterns import make_rules, read_patterns
from scrapy_simhash.history.record import STATUSES
from scrapy_simhash.history.sql import NamespaceRow, Selection
from scrapy_simhash.index.words import STORED
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report
from scrapy_simhash.visible import plural, visible

_REPORT = "simhash-report.html"


def add_drops(parser: ArgumentParser) -> None:
    """Add the options of ``drops``."""
    add_shared(parser, "database", "json", "time", "site", default=LAST_CRAWLS)
    add_flag(parser, "--kept", "list what was kept although another item is similar, and why")


def run_drops(project: Project, options: Namespace) -> None:
    """List what was dropped, or kept although another item is similar."""
    with project.selections(options) as chosen:
        for namespace, selection in chosen:
            found = read_decisions(namespace, selection, kept=options.kept)
            records = with_contents(namespace, found, project.settings.scheme)
            counts = write_lines(options, records, by_original, is_brief=not options.kept)
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


def add_changes(parser: ArgumentParser) -> None:
    """Add the options of ``changes``."""
    add_shared(parser, "database", "json", "time", "site", default=LAST_CRAWLS)
    parser.add_argument(
        "--status", metavar="A,B", type=_statuses, default=STATUSES, help=", ".join(STATUSES)
    )
    add_flag(parser, "--texts", "show how the texts differ, where both are kept")


def run_changes(project: Project, options: Namespace) -> None:
    """List what is new, changed, moved, missing, gone and back."""
    with project.selections(options) as chosen:
        for namespace, selection in chosen:
            found = (read_changes(namespace, selection, [status]) for status in options.status)
            changes = chain.from_iterable(found)
            if options.texts:
                records = with_contents(namespace, changes, None)
                counts = write_lines(options, records, by_status, compared_texts)
            else:
                counts = write_lines(options, changes, by_status)
            shown = ", ".join(f"{counts[name]:,} {name}" for name in STATUSES if counts[name])
            print(f"{selection}: {shown or 'nothing'}", file=sys.stderr)


def _statuses(given: str) -> Sequence[str]:
    names = given.split(",")
    if unknown := [name for name in names if name not in STATUSES]:
        raise ArgumentTypeError(f"{unknown[0]!r}: expected some of {', '.join(STATUSES)}")
    return names


def add_patterns(parser: ArgumentParser) -> None:
    """Add the options of ``patterns``."""
    add_shared(parser, "database", "json", "time", "site", default=LAST_CRAWLS)
    parser.add_argument(
        "--least",
        type=positive,
        metavar="N",
        default=LEAST,
        help="show a part from N duplicate pages on, and write a rule for it from N different "
        f"pages on ({LEAST})",
    )
    parser.add_argument(
        "--rules",
        type=output_file,
        metavar="FILE",
        help="write rules for duplicate-url-discarder, which drops such requests, to FILE",
    )


def run_patterns(project: Project, options: Namespace) -> None:
    """Show which parts of URLs only repeat pages."""
    with project.selections(options) as chosen, working("Reading URLs"):
        namespace, selection = chosen[0]
        found = read_patterns(namespace, selection)
    irrelevant = [one for one in found if one.repeats >= options.least]
    rules = make_rules(found, options.least)
    if options.json:
        print_lines(one._asdict() | {"saved": one.repeats} for one in irrelevant)
    elif irrelevant:
        print_table(
            ("part", "URLs", "duplicates", "different pages", "example"),
            [(one.part, one.compared, one.repeats, one.groups, one.example) for one in irrelevant],
        )
    total = sum(one.repeats for one in irrelevant)
    print(
        f"{selection}: {len(irrelevant)} {plural(len(irrelevant), 'part')} of URLs that only "
        f"repeat pages; without them, up to {total:,} {plural(total, 'download')} would be saved",
        file=sys.stderr,
    )
    if options.rules is not None:
        with lines_to(options.rules) as stream:
            stream.write(json.dumps(rules, indent=2).encode() + b"\n")
        what = f"{len(rules)} {plural(len(rules), 'rule')}"
        print(f"{what} written to {visible(str(options.rules))}", file=sys.stderr)


def add_report(parser: ArgumentParser) -> None:
    """Add the options of ``report``."""
    add_shared(parser, "database", "time", default=LAST_CRAWLS)
    add_output(parser, f"write the report to FILE (default: {_REPORT})")


def run_report(project: Project, options: Namespace) -> None:
    """Write the HTML report, one file that opens offline."""
    output = options.output or Path(_REPORT)
    with project.selections(options) as chosen, working("Writing the report"):
        namespace, selection = chosen[0]
        write_report(read_report(namespace, project.settings.rule, selection), output)
    print(f"Report: {output.absolute()}", file=sys.stderr)
