"""``scrapy simhash``: finds the command that is asked for, and runs it.

Scrapy imports this module on each of its commands, so a command is imported once it is asked for.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS", "Simhash"]

#: The commands, each in the file of its name, with what they do.
COMMANDS = {
    "try": "try a spider: what would be left out of a few hundred of its pages; stores nothing",
    "stats": "show the size of the index, its scheme and plan, its runs and its growth",
    "show": "show everything known of a page",
    "report": "write the HTML report, one file that opens offline",
    "tune": "replay what is stored at other similarities, without crawling again",
    "patterns": "show which parts of addresses only repeat what is found without them",
    "restore": "give back dropped items, as JSON Lines",
    "better": "give back dropped items that are better than what is kept of their group",
    "prune": "forget claims that were not met again for long",
    "reset": "forget a namespace with everything in it",
    "compare": "compare two pages or texts",
    "dedupe": "leave the near-duplicates out of an existing feed",
    "explain": "show how a text's fingerprint comes about",
    "rebuild": "make the keys of a namespace with exact blocks anew, for its present size",
    "secret": "print the secret of the database, for others that are to agree with it",
}


class Simhash(ScrapyCommand):
    """The command with its sub-commands."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Shown in the help."""
        return "<command> [options]"

    def short_desc(self) -> str:
        """Shown in the list of commands."""
        return "Look into the index of near-duplicates, question it, tune it, undo it"

    def add_options(self, parser: ArgumentParser) -> None:
        """Called by Scrapy."""
        super().add_options(parser)
        commands = parser.add_subparsers(
            title="Commands",
            dest="command",
            metavar="<command>",
            prog="scrapy simhash",
            parser_class=_CommandParser,
        )
        for name, help_ in COMMANDS.items():
            commands.add_parser(name, help=help_, description=help_, module=name)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Called by Scrapy.

        Raises:
            UsageError: there is no such command or option.
        """
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        if opts.command is None:
            raise UsageError
        assert self.settings is not None  # noqa: S101 - Scrapy has set them
        main = import_module("scrapy_simhash.cli.main")
        self.exitcode = main.main(_module(opts.command), self.settings, opts)


class _CommandParser(ArgumentParser):
    """Learns its options from the command's own file, which is read when it is asked for."""

    def __init__(self, *, module: str, **options: Any) -> None:
        super().__init__(**options)
        self._module = module
        self.add_argument(
            "-s",
            "--set",
            action="append",
            default=SUPPRESS,
            metavar="NAME=VALUE",
            help="set or override a setting (may be repeated)",
        )

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Called by the parser around it, once."""
        _module(self._module).add_arguments(self)
        return super().parse_known_args(*args, **kwargs)


def _module(command: str) -> Any:
    # No module can be called "try".
    name = f"{command}_" if iskeyword(command) else command
    return import_module(f"scrapy_simhash.cli.{name}")
