"""Runs a command, and tells of its trouble in one line."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.cli.project import Project
from scrapy_simhash.exceptions import (
    IndexUnavailable,
    SchemaMismatch,
    SchemeMismatch,
    SettingError,
)
from scrapy_simhash.feed.files import FeedError
from scrapy_simhash.history.namespaces import NotFound
from scrapy_simhash.report.visible import visible

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from scrapy.settings import Settings as ScrapySettings

__all__ = ["main"]

# What lies with the user, the project or the machine. Whatever else comes up is ours, and is shown
# as that: a plain LookupError or TypeError must never read as if the user had erred.
_TROUBLE = (
    CommandError,
    FeedError,
    IndexUnavailable,
    NotFound,
    OSError,
    SchemaMismatch,
    SchemeMismatch,
    SettingError,
)


def main(command: Any, settings: ScrapySettings, options: Namespace) -> int:
    """Do what the command line asks for.

    Args:
        command: the module of the command, with its `run`.
        settings: the project's.
        options: what the command line said.

    Returns:
        the exit code: 0, or 1 after trouble, which is told in one line of standard error; a bug of
        ours, or of code that the project brings, with its traceback before that line.
    """
    try:
        command.run(Project(settings, options), options)
    except KeyboardInterrupt:
        print("scrapy simhash: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who read the output has seen enough. What is still buffered must not fail at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _TROUBLE as error:
        line = " ".join(visible(str(error)).split()) or type(error).__name__
        print(f"scrapy simhash {options.command}: {line}", file=sys.stderr)
        return 1
    except Exception:  # noqa: BLE001 - told with all that is known of it
        print(visible(traceback.format_exc()), file=sys.stderr)
        print(
            f"scrapy simhash {options.command}: this is a bug, of scrapy-simhash unless the last "
            "lines above are in code of yours; please report it with them",
            file=sys.stderr,
        )
        return 1
    return 0
