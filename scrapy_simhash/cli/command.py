"""``scrapy simhash``: the command line, and nothing else.

Scrapy imports this module on each of its commands, so what does the work is imported once it is
asked for.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

__all__ = ["Simhash"]


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
            title="Commands", dest="command", metavar="<command>", prog="scrapy simhash"
        )

        def add(
            name: str, help_: str, *, json: bool = True, database: bool = True
        ) -> ArgumentParser:
            command = commands.add_parser(name, help=help_, description=help_)
            command.add_argument(
                "-s",
                "--set",
                action="append",
                default=SUPPRESS,
                metavar="NAME=VALUE",
                help="set or override a setting (may be repeated)",
            )
            if database:
                command.add_argument(
                    "--database", metavar="URL", help="instead of SIMHASH_DATABASE_URL"
                )
                command.add_argument(
                    "--namespace", metavar="NAME", help="instead of SIMHASH_NAMESPACE"
                )
            if json:
                command.add_argument("--json", action="store_true", help="print JSON, for programs")
            return command

        add("stats", "show the size of the index, its scheme and plan, its runs and its growth")

        show = add("show", "show everything known of a page")
        show.add_argument("url", metavar="URL", help="its URL, or its owner key")

        report = add("report", "write the HTML report, one file that opens offline", json=False)
        report.add_argument("-o", "--output", required=True, metavar="FILE")
        report.add_argument("--run", type=int, metavar="N", help="of this run only")

        tune = add("tune", "replay what is stored at other similarities, without crawling again")
        tune.add_argument("--run", type=int, metavar="N", help="of this run only")
        tune.add_argument(
            "--pairs",
            metavar="FILE",
            help="judge by labelled pairs instead: JSON Lines with a, b and label",
        )
        tune.add_argument("--examples", type=int, default=3, metavar="N", help="for each step")
        tune.add_argument(
            "--limit",
            type=_positive,
            default=50_000,
            metavar="N",
            help="replay the newest so many claims and duplicates (default: 50000)",
        )

        restore = add("restore", "give back dropped items, as JSON Lines", json=False)
        restore.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
        restore.add_argument(
            "--orphans", action="store_true", help="only those that no claim stands for any more"
        )
        restore.add_argument("--run", type=int, metavar="N", help="only those of this run")
        restore.add_argument(
            "--since", metavar="TIME", help="only those since then: 2030-01-31 or 2030-01-31T12:00"
        )
        restore.add_argument(
            "--min-distance", type=int, metavar="N", help="only those so far away, or farther"
        )

        prune = add("prune", "forget claims that were not met again for long")
        prune.add_argument(
            "--older-than",
            type=_positive,
            metavar="DAYS",
            help="instead of SIMHASH_EXPIRE",
        )

        reset = add("reset", "forget a namespace with everything in it")
        reset.add_argument("--yes", action="store_true", help="do not ask")

        compare = add("compare", "compare two pages or texts", database=False)
        compare.add_argument("a", metavar="A", help="a URL or a file")
        compare.add_argument("b", metavar="B", help="a URL or a file")

        dedupe = add("dedupe", "leave the near-duplicates out of an existing feed")
        dedupe.add_argument(
            "input", metavar="IN", help="JSON Lines (.jsonl, .jl) or CSV (.csv), also .gz"
        )
        dedupe.add_argument("-o", "--output", required=True, metavar="OUT", help="in the same form")
        dedupe.add_argument(
            "--fields", metavar="A,B", help="the fields to compare, instead of SIMHASH_FIELDS"
        )
        dedupe.add_argument("--dropped", metavar="FILE", help="keep there what was left out")

        explain = add("explain", "show how a text's fingerprint comes about", database=False)
        explain.add_argument("text", metavar="TEXT")

        add("rebuild", "make the keys of a namespace with exact blocks anew, for its present size")

    def run(self, args: list[str], opts: Namespace) -> None:
        """Called by Scrapy.

        Raises:
            UsageError: there is no such command or option.
        """
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        if opts.command is None:
            raise UsageError
        from scrapy_simhash.cli.project import run  # noqa: PLC0415 - on use only, see above

        assert self.settings is not None  # noqa: S101 - Scrapy has set them
        self.exitcode = run(self.settings, opts)


def _positive(given: str) -> int:
    number = int(given) if given.isdecimal() else 0
    if number < 1:
        raise ArgumentTypeError(f"{given!r}: a whole number from 1 upwards is allowed")
    return number
