"""Finds a command, parses its options, runs it and reports its errors.

Scrapy imports this module for each of its own commands, so ours are imported only when used.
"""

from __future__ import annotations

import os
import sys
import traceback
from argparse import (
    REMAINDER,
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable, Collection
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, NotFound, SettingError
from scrapy_simhash.visible import visible, without_passwords

#: The commands by what they are for.
GROUPS = {
    "Before a crawl": {
        "try": "crawl some pages, show what would be dropped, and store nothing",
    },
    "What a crawl did": {
        "drops": "list what was dropped, or kept although similar, and why",
        "changes": "list what is new, changed, moved, missing, gone and back",
        "show": "show everything stored about a page",
        "report": "write the HTML report, a single file that works offline",
        "stats": "show the size of the index and its runs",
    },
    "What to change": {
        "patterns": "show which parts of URLs only lead to pages already known",
        "compare": "compare two pages or texts",
        "explain": "show how the fingerprint of a text is computed",
    },
    "Undo and clean up": {
        "restore": "write dropped items, as JSON Lines, and note that they are stored",
        "prune": "delete stored items not seen for a long time",
        "reset": "delete a namespace with everything in it",
    },
    "Without a crawl": {
        "dedupe": "remove near-duplicates from files",
    },
}
COMMANDS = {name: help_ for group in GROUPS.values() for name, help_ in group.items()}

# The files of commands: those that share one, and "try", which can't be the name of a module.
_FILES = {
    "try": "trial",
    **dict.fromkeys(("changes", "drops", "patterns", "report"), "listing"),
    **dict.fromkeys(("prune", "reset", "stats", "version"), "upkeep"),
}


def add_commands(parser: ArgumentParser, names: Collection[str]) -> None:
    """Make a parser take the name of a command, with everything behind it."""
    lines: list[str] = []
    for title, group in GROUPS.items():
        if listed := [f"  {name:10}{group[name]}" for name in group if name in names]:
            lines += [f"{title}:", *listed, ""]
    parser.formatter_class = RawDescriptionHelpFormatter
    lines.append("Each command has a --help of its own.")
    # Above the options that Scrapy adds.
    parser.description = "\n".join([*filter(None, [parser.description]), "", *lines])
    parser.add_argument(
        "--version", action="store_true", help="show the versions of all that is used, and exit"
    )
    parser.add_argument("arguments", nargs=REMAINDER, help=SUPPRESS)


def parse_options(
    parser: ArgumentParser, prog: str, names: Collection[str], given: Namespace
) -> Namespace:
    """The command that a parser has taken, its options, and settings as pairs."""
    # What the encoding of a terminal lacks is escaped, as on standard error.
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    if given.version:
        return Namespace(command="version", settings=[])
    if not given.arguments:
        parser.print_help(sys.stderr)
        parser.exit(2, f"{prog}: a command is missing\n")
    command, *rest = given.arguments
    if command not in COMMANDS:
        from difflib import get_close_matches  # noqa: PLC0415  (slow)

        close = get_close_matches(command, COMMANDS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"{prog} --help lists them"
        parser.exit(2, f"{prog}: there is no command {command!r}; {hint}\n")
    if command not in names:
        parser.exit(2, f"{prog}: {command!r} needs Scrapy: scrapy simhash {command}\n")
    own = _Parser(prog=f"{prog} {command}", description=COMMANDS[command])
    own.add_argument(
        "-s",
        "--set",
        dest="settings",
        action="append",
        default=[],
        type=name_and_value,
        metavar="NAME=VALUE",
        help="set or override a setting (may be repeated)",
    )
    function_of("add", command)(own)
    return own.parse_args(rest, Namespace(command=command))


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line; the usage of a command may have ten."""
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists the options\n")


def name_and_value(given: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, _, value = given.partition("=")
    if not name or "=" not in given:
        raise ArgumentTypeError(f"{given!r}: expected NAME=VALUE")
    return name, value


def function_of(verb: str, command: str) -> Callable[..., Any]:
    """What has to "add" the options of a command to a parser, or to "run" it."""
    # The threads that numpy would start for linear algebra take longer than most commands.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module = import_module(f"scrapy_simhash.cli.{_FILES.get(command, command)}")
    found: Callable[..., Any] = getattr(module, f"{verb}_{command}")
    return found


def run_command(options: Namespace, settings: Any) -> int:
    """Run a command; gives the exit code.

    It is 0, or that of the command; 2 after an expected error, with one line on standard error; 1
    after a bug, with its traceback before that line.
    """
    run = function_of("run", options.command)
    from scrapy_simhash.cli.project import CommandError, Project  # noqa: PLC0415
    from scrapy_simhash.feed.source import FeedError  # noqa: PLC0415

    # Errors of the user, the project or the machine. All others are bugs: a LookupError or
    # TypeError must never read as if the user had made a mistake.
    expected = (CommandError, FeedError, IndexMismatch, IndexUnavailable, NotFound, SettingError)
    try:
        code: int = run(Project(settings, options), options) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("scrapy simhash: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe. Flushing what is buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (*expected, OSError) as error:
        message = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        _report(options, message)
        return 2
    except Exception:  # noqa: BLE001 - reported with its traceback
        print(visible(without_passwords(traceback.format_exc())), file=sys.stderr)
        _report(
            options,
            "this is a bug in scrapy-simhash, unless the last lines above are in your code or the "
            "database file was damaged or edited; please report it with them",
        )
        return 1
    return code


def _report(options: Namespace, message: str) -> None:
    line = visible(without_passwords(" ".join(message.split())))
    print(f"scrapy simhash {options.command}: {line}", file=sys.stderr)
