"""``scrapy simhash``, as Scrapy finds it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simhash.cli.main import COMMANDS, add_commands, parse_options, run_command


class Simhash(ScrapyCommand):
    """``scrapy simhash`` with its commands."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Called by Scrapy for the help."""
        return "<command> [options]"

    def short_desc(self) -> str:
        """Called by Scrapy for its list of commands."""
        return "Inspect and undo the removal of near-duplicates"

    def add_options(self, parser: ArgumentParser) -> None:
        """Called by Scrapy."""
        super().add_options(parser)
        add_commands(parser, COMMANDS)
        self._parser = parser

    def run(self, args: list[str], opts: Namespace) -> None:
        """Called by Scrapy."""
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        options = parse_options(self._parser, "scrapy simhash", COMMANDS, opts)
        assert self.settings is not None  # noqa: S101 - set by Scrapy
        self.settings.setdict(dict(options.settings), priority="cmdline")
        self.exitcode = run_command(options, self.settings)
