"""Runs a command, and tells of its trouble in one line."""

from __future__ import annotations

import os
import sys
import zlib
from typing import TYPE_CHECKING

from scrapy_simhash.cli.project import Project
from scrapy_simhash.exceptions import IndexUnavailable, SchemaMismatch
from scrapy_simhash.report.visible import visible

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from scrapy.settings import Settings as ScrapySettings

__all__ = ["main"]

_TROUBLE = (
    EOFError,
    ImportError,
    IndexUnavailable,
    LookupError,
    OSError,
    SchemaMismatch,
    TypeError,
    ValueError,
    zlib.error,
)


def main(command: Any, settings: ScrapySettings, options: Namespace) -> int:
    """Do what the command line asks for.

    Args:
        command: the module of the command, with its `run`.
        settings: the project's.
        options: what the command line said.

    Returns:
        the exit code: 0, or 1 after trouble, which is told in one line of standard error.
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
        # A LookupError shows its message as a Python literal.
        message = error.args[0] if isinstance(error, LookupError) and error.args else error
        line = " ".join(visible(str(message)).split()) or type(error).__name__
        print(f"scrapy simhash {options.command}: {line}", file=sys.stderr)
        return 1
    return 0
