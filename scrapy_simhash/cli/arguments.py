"""Options that commands share, and checks of what is given for them."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["add_database", "add_json", "positive"]


def add_database(parser: ArgumentParser) -> None:
    """For a command that works on a namespace."""
    parser.add_argument("--database", metavar="URL", help="instead of SIMHASH_DATABASE_URL")
    parser.add_argument("--namespace", metavar="NAME", help="instead of SIMHASH_NAMESPACE")


def add_json(parser: ArgumentParser) -> None:
    """For a command whose output a program may read."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def positive(given: str) -> int:
    """A whole number from 1 upwards.

    Raises:
        ArgumentTypeError: it is none.
    """
    number = int(given) if given.isdecimal() else 0
    if number < 1:
        raise ArgumentTypeError(f"{given!r}: a whole number from 1 upwards is allowed")
    return number
