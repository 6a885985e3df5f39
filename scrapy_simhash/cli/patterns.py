"""``scrapy simhash patterns``: show which parts of URLs only repeat pages."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from scrapy_simhash.cli.arguments import (
    add_database,
    add_json,
    add_selection,
    output_file,
    positive,
)
from scrapy_simhash.cli.output import lines_to, print_table, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.history.patterns import LEAST, Pattern, make_rules, read_patterns
from scrapy_simhash.visible import plural, visible


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    add_selection(parser, "what the last crawl of each spider met")
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


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.selections(options) as chosen, working("Reading URLs"):
        namespace, selection = chosen[0]
        found = read_patterns(namespace, selection)
    irrelevant = [one for one in found if one.repeats >= options.least]
    rules, unruled = make_rules(found, options.least)
    if options.rules is not None:
        with lines_to(options.rules) as stream:
            stream.write(json.dumps(rules, indent=2).encode() + b"\n")
    if options.json:
        print_json(
            {
                "namespace": namespace.name,
                "irrelevant": [one._asdict() | {"saved": one.repeats} for one in irrelevant],
                "rules": rules,
                "without_rule": unruled,
            }
        )
        return
    _print_irrelevant(irrelevant, options.least)
    if options.rules is not None:
        for part, reason in unruled.items():
            print(f"No rule for {visible(part)}: {reason}.")
        print(
            f"{len(rules)} {plural(len(rules), 'rule')} written to {visible(str(options.rules))}."
        )


def _print_irrelevant(found: Sequence[Pattern], least: int) -> None:
    if not found:
        print(
            f"No part of a URL only repeats pages. A part is listed if at least {least:,} "
            f"{plural(least, 'page')} repeated another one and no page contradicts it."
        )
        return
    print_table(
        ("part", "URLs", "duplicates", "different pages", "example"),
        [(one.part, one.compared, one.repeats, one.groups, one.example) for one in found],
        "Parts of URLs that only repeat pages",
    )
    total = sum(one.repeats for one in found)
    print(f"Without these parts, up to {total:,} {plural(total, 'download')} would be saved.")
