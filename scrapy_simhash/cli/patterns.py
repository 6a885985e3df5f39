"""``scrapy simhash patterns``: show which parts of addresses only lead to known pages."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from scrapy_simhash.cli.arguments import add_database, add_json, output_file, positive
from scrapy_simhash.cli.output import lines_to, print_table, working
from scrapy_simhash.cli.printing import print_json
from scrapy_simhash.cli.project import Project
from scrapy_simhash.history.patterns import LEAST, Pattern, read_patterns
from scrapy_simhash.visible import plural, visible

# Characters with a meaning of their own in the URL patterns of rules.
_SPECIAL = frozenset("*|?#")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
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
    with project.namespace_of(None) as namespace, working("Reading addresses"):
        found = read_patterns(namespace)
    irrelevant = [one for one in found if one.repeats >= options.least]
    rules = _rules([one for one in irrelevant if one.groups >= options.least], found)
    if options.rules is not None:
        with lines_to(options.rules) as stream:
            stream.write(json.dumps(rules, indent=2).encode() + b"\n")
    if options.json:
        print_json(
            {
                "namespace": namespace.name,
                "irrelevant": [one._asdict() | {"saved": one.repeats} for one in irrelevant],
                "rules": rules,
            }
        )
        return
    _print_irrelevant(irrelevant, options.least)
    if options.rules is not None:
        print(
            f"{len(rules)} {plural(len(rules), 'rule')} written to {visible(str(options.rules))}."
        )


def _print_irrelevant(found: Sequence[Pattern], least: int) -> None:
    if not found:
        print(
            f"No irrelevant part was found. A part is listed if at least {least:,} "
            f"{plural(least, 'page')} repeated another one and no page contradicts it."
        )
        return
    print_table(
        ("part", "addresses", "duplicates", "different pages", "example"),
        [(one.part, one.compared, one.repeats, one.groups, one.example) for one in found],
        "Irrelevant parts of addresses",
    )
    total = sum(one.repeats for one in found)
    print(f"Without these parts, up to {total:,} {plural(total, 'download')} would be saved.")


def _rules(proven: Iterable[Pattern], found: Iterable[Pattern]) -> list[dict[str, Any]]:
    """Rules that remove parameters, one for each place.

    A rule ignores case, "www." and default ports, so a contradiction at such a place prevents it.
    Dates and facets in paths have no rule: no pattern tells them from other folders.
    """
    contradicted = {_matched(one.part) for one in found if one.contradicted}
    names: dict[str, list[str]] = {}
    for one in proven:
        place, is_parameter, name = one.part.partition("?")
        is_plain = not _SPECIAL & set(place) and _matched(one.part) not in contradicted
        if is_parameter and name and is_plain:
            names.setdefault(place, []).append(name)
    return [
        {
            # "|" matches this page only; a folder matches everything in it.
            "urlPattern": {"include": [place if place.count("/") > 1 else f"{place}|"]},
            "processor": "queryRemoval",
            "args": sorted(given),
            "order": 100,
        }
        for place, given in sorted(names.items())
    ]


def _matched(part: str) -> str:
    """A part in the form that equals that of all parts a rule for it would match."""
    host, slash, rest = part.lower().removeprefix("www.").partition("/")
    return f"{host.removesuffix(':80').removesuffix(':443')}{slash}{rest}"
