"""Runs a command and reports its errors."""

from __future__ import annotations

import os
import sys
import traceback
from argparse import Namespace
from typing import Any

from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.exceptions import IndexMismatch, IndexUnavailable, NotFound, SettingError
from scrapy_simhash.feed.source import FeedError
from scrapy_simhash.visible import visible, without_passwords

# Errors of the user, the project or the machine. All others are bugs: a LookupError or TypeError
# must never read as if the user had made a mistake.
_EXPECTED = (
    CommandError,
    FeedError,
    IndexMismatch,
    IndexUnavailable,
    NotFound,
    OSError,
    SettingError,
)


def main(command: Any, settings: Any, options: Namespace) -> int:
    """Run the module of a command; gives the exit code.

    It is 0, or that of the command; 2 after an expected error, with one line on standard error; 1
    after a bug, with its traceback before that line.
    """
    try:
        code: int = command.run(Project(settings, options), options) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("scrapy simhash: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe. Flushing what is buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _EXPECTED as error:
        _report(options, _message(error))
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


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
