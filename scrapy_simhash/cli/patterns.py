"""``scrapy simhash patterns``: show which parts of addresses only repeat what is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from scrapy_simhash import history
from scrapy_simhash.cli.arguments import add_database, add_json, positive
from scrapy_simhash.cli.output import open_console, print_json, progress_bar
from scrapy_simhash.cli.project import CommandError
from scrapy_simhash.durable import open_new
from scrapy_simhash.visible import plural, shortened, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence
    from typing import Any

    from scrapy_simhash.cli.project import Project
    from scrapy_simhash.history import Pattern

__all__ = ["add_arguments", "run"]

# What the patterns of addresses in rules, and in the URLs that they match, mean something else by.
_SPECIAL = frozenset("*|?#")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    add_database(parser)
    add_json(parser)
    parser.add_argument(
        "--least",
        type=positive,
        metavar="N",
        default=history.LEAST,
        help=f"pages that must have repeated what is known ({history.LEAST})",
    )
    parser.add_argument(
        "--rules", metavar="FILE", help="write rules for the package duplicate-url-discarder there"
    )


def run(project: Project, options: Namespace) -> None:
    """Run the command."""
    with project.namespace() as (database, namespace), progress_bar() as progress:
        progress.add_task("Reading addresses", total=None)
        found = history.patterns(database, namespace)
    nothing, empty = history.repeating(found, options.least)
    rules = _rules(nothing, found)
    if options.rules is not None:
        _write(Path(options.rules), rules)
    if options.json:
        print_json(
            {
                "namespace": namespace.name,
                "says_nothing": [one._asdict() | {"spared": one.repeats} for one in nothing],
                "nothing_new": [one._asdict() | {"spared": one.empty} for one in empty],
                "rules": rules,
            }
        )
        return
    _print_nothing(nothing, options.least)
    _print_empty(empty)
    if options.rules is not None:
        print(f"{len(rules)} {plural(len(rules), 'rule')} written to {visible(options.rules)}")


def _print_nothing(found: Sequence[Pattern], least: int) -> None:
    if not found:
        print(
            f"No part of an address is known to say nothing: that takes {least:,} "
            f"{plural(least, 'page')} with what is known already, and none with anything else."
        )
        return
    table = Table(title="Parts that say nothing", title_justify="left")
    for name in ("part", "differ only in it", "of them repeat", "pages there are"):
        table.add_column(name, justify="left" if name == "part" else "right", overflow="fold")
    table.add_column("for example", overflow="fold")
    for one in found:
        table.add_row(
            Text(shortened(one.part, 200)),
            *(f"{count:,}" for count in (one.compared, one.repeats, one.groups)),
            Text(shortened(one.example, 200)),
        )
    open_console().print(table)
    total = sum(one.repeats for one in found)
    print(f"Without them up to {total:,} {plural(total, 'download')} would have been spared.")


def _print_empty(found: Sequence[Pattern]) -> None:
    if not found:
        return
    table = Table(title="Pages that gave nothing new", title_justify="left")
    table.add_column("addresses with", overflow="fold")
    table.add_column("all duplicates", justify="right")
    table.add_column("for example", overflow="fold")
    for one in found:
        table.add_row(
            Text(shortened(one.part, 200)), f"{one.empty:,}", Text(shortened(one.example, 200))
        )
    open_console().print(table)


def _rules(nothing: Iterable[Pattern], found: Iterable[Pattern]) -> list[dict[str, Any]]:
    """Rules that remove parameters, one for each place.

    Whoever applies them does not tell cases, nor hosts with "www." from others. A date at the end
    of a path can't be told from another folder there, so that there are none for these.
    """
    contradicted = {_matched(one.part) for one in found if one.contradicted}
    names: dict[str, list[str]] = {}
    for one in nothing:
        place, is_parameter, name = one.part.partition("?")
        is_plain = not _SPECIAL & set(place) and _matched(one.part) not in contradicted
        if is_parameter and name and is_plain:
            names.setdefault(place, []).append(name)
    return [
        {
            # A folder stands for all below it, a page for itself.
            "urlPattern": {"include": [place if _is_folder(place) else f"{place}|"]},
            "processor": "queryRemoval",
            "args": sorted(given),
            "order": 100,
        }
        for place, given in sorted(names.items())
    ]


def _is_folder(place: str) -> bool:
    return place.count("/") > 1


def _matched(part: str) -> str:
    return part.lower().removeprefix("www.")


def _write(path: Path, rules: Sequence[dict[str, Any]]) -> None:
    try:
        with open_new(path) as stream:
            stream.write(json.dumps(rules, indent=2).encode() + b"\n")
    except FileExistsError as error:
        raise CommandError(f"{path} is there already; remove it, or name another one") from error
