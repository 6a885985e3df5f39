"""``scrapy simhash``: finds a command and runs it.

Scrapy imports this module for each of its own commands, so ours are imported only when used.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simhash.cli.parser import COMMANDS, add_commands, module_of


class Simhash(ScrapyCommand):
    """``scrapy simhash`` with its commands."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Called by Scrapy for the help."""
        return "<command> [options]"

    def short_desc(self) -> str:
        """Called by Scrapy for its list of commands."""
        return "Inspect, tune and undo the removal of near-duplicates"

    def add_options(self, parser: ArgumentParser) -> None:
        """Called by Scrapy."""
        super().add_options(parser)
        add_commands(parser, "scrapy simhash", COMMANDS)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Called by Scrapy."""
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        if opts.command is None:
            raise UsageError
        assert self.settings is not None  # noqa: S101 - set by Scrapy
        main = import_module("scrapy_simhash.cli.main")
        self.exitcode = main.main(module_of(opts.command), self.settings, opts)
