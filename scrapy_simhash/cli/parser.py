"""The commands, and the parser of their options; each command is imported only when it is used."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any

from scrapy_simhash.loading import import_large

#: The commands by what they are for, each in the file of its name.
GROUPS = {
    "Before a crawl": {
        "try": "crawl a few hundred pages and show what would be dropped; stores nothing",
    },
    "What a crawl did": {
        "drops": "list what was dropped, or kept although another item is similar, and why",
        "changes": "list what is new, changed, moved, removed and back",
        "show": "show everything stored about a page",
        "report": "write the HTML report, a single file that works offline",
        "stats": "show the size of the index, its runs and its growth",
    },
    "What to change": {
        "tune": "show what other similarities would have dropped",
        "patterns": "show which parts of addresses only lead to pages already known",
        "compare": "compare two pages or texts",
        "explain": "show how the fingerprint of a text is computed",
    },
    "Undo and clean up": {
        "restore": "write dropped items, as JSON Lines",
        "prune": "delete stored items not seen for a long time",
        "reset": "delete a namespace with everything in it",
    },
    "Without a crawl": {
        "dedupe": "remove near-duplicates from files",
    },
}
#: What needs no Scrapy.
ALONE = ("dedupe", "compare", "explain")
COMMANDS = {name: help_ for group in GROUPS.values() for name, help_ in group.items()}


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Lists the commands in groups, and suggests one if the name is unknown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # argparse would list them all in its error.
        self.choices = None  # type: ignore[assignment]

    def _get_subactions(self) -> list[argparse.Action]:
        listed = {action.dest: action for action in super()._get_subactions()}
        groups = {
            title: [listed[name] for name in names if name in listed]
            for title, names in GROUPS.items()
        }
        return [_Group(title, actions) for title, actions in groups.items() if actions]

    def __call__(self, parser: Any, namespace: Any, values: Any, *args: Any) -> None:
        given = values[0]
        if given in COMMANDS and given not in self._name_parser_map:
            raise argparse.ArgumentError(None, f"{given!r} needs Scrapy: scrapy simhash {given}")
        if given not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415  (slow)

            close = get_close_matches(given, COMMANDS, 1)
            hint = f"did you mean {close[0]!r}?" if close else "scrapy simhash --help lists them"
            raise argparse.ArgumentError(None, f"there is no command {given!r}; {hint}")
        super().__call__(parser, namespace, values, *args)


class _Group(argparse.Action):
    """A heading in the help, with the commands below it."""

    def __init__(self, title: str, listed: list[argparse.Action]) -> None:
        super().__init__([], title)
        self._listed = listed

    def _get_subactions(self) -> list[argparse.Action]:
        return self._listed


def add_commands(parser: argparse.ArgumentParser, prog: str, names: Iterable[str]) -> None:
    """Add commands to the parser of a program."""
    commands = parser.add_subparsers(
        title="Commands",
        dest="command",
        metavar="<command>",
        prog=prog,
        parser_class=_CommandParser,
        action=_Commands,
    )
    for name in names:
        commands.add_parser(name, help=COMMANDS[name], description=COMMANDS[name], module=name)


class _CommandParser(argparse.ArgumentParser):
    """Takes its options from the module of the command, imported on first use."""

    def __init__(self, *, module: str, **options: Any) -> None:
        super().__init__(**options)
        self._module = module
        self.add_argument(
            "-s",
            "--set",
            action="append",
            default=argparse.SUPPRESS,
            metavar="NAME=VALUE",
            help="set or override a setting (may be repeated)",
        )

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Called once, by the parser of ``scrapy simhash``."""
        module_of(self._module).add_arguments(self)
        return super().parse_known_args(*args, **kwargs)


def module_of(command: str) -> Any:
    """The module of a command."""
    # The threads that numpy would start for linear algebra take longer than most commands.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # "try" can't be the name of a module.
    name = f"{command}_" if iskeyword(command) else command
    return import_large(f"scrapy_simhash.cli.{name}", is_start=True)
