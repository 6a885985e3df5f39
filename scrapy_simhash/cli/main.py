"""Runs a command, and tells of its trouble in one line."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from scrapy_simhash.cli.errors import TROUBLE
from scrapy_simhash.cli.project import Project
from scrapy_simhash.visible import visible, without_passwords

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from scrapy.settings import Settings as ScrapySettings

__all__ = ["main"]


def main(command: Any, settings: ScrapySettings, options: Namespace) -> int:
    """Do what the command line asks for.

    Args:
        command: the module of the command, with its `run`.
        settings: the project's.
        options: what the command line said.

    Returns:
        the exit code: 0; 2 after trouble, which is told in one line of standard error; 1 after a
        bug of ours, or of code that the project brings, with its traceback before that line.
    """
    project = None
    try:
        project = Project(settings, options)
        command.run(project, options)
    except KeyboardInterrupt:
        print("scrapy simhash: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who read the output has seen enough. What is still buffered must not fail at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except TROUBLE as error:
        _tell(options, _said(error))
        return 2
    except Exception:  # noqa: BLE001 - told with all that is known of it
        said = traceback.format_exc()
        # Nobody has written code for all that a damaged file may hold.
        if (damage := _damage(project)) is not None:
            _tell(options, damage)
            return 2
        print(visible(without_passwords(said)), file=sys.stderr)
        _tell(
            options,
            "this is a bug, of scrapy-simhash unless the last lines above are in code of yours; "
            "please report it with them",
        )
        return 1
    return 0


def _tell(options: Namespace, said: str) -> None:
    line = visible(without_passwords(" ".join(said.split())))
    print(f"scrapy simhash {options.command}: {line}", file=sys.stderr)


def _damage(project: Project | None) -> str | None:
    if project is None:
        return None
    try:
        return project.damage()
    except Exception:  # noqa: BLE001 - something else is wrong, and is told
        return None


def _said(error: Exception) -> str:
    """What an error says; of a file first which one."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
