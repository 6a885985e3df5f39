"""Options that commands share."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, _ActionsContainer
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.db.values import check_name
from scrapy_simhash.item.urls import host_of

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

# The largest integer that databases store.
_MOST = (1 << 63) - 1


def checked(check: Callable[[str], Any]) -> Callable[[str], Any]:
    """A type for argparse whose errors are those of a check."""

    def parse(given: str) -> Any:
        try:
            return check(given)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error

    return parse


#: What most commands look at without an option.
LAST_CRAWLS = "what the last crawl of each spider met"


def add_shared(parser: ArgumentParser, *names: str, default: str = "") -> None:
    """Add options that commands share.

    They are "database", "json" and, with what is looked at by default, "time" and "site"; see
    `Project.selections`.
    """
    if "database" in names:
        parser.add_argument(
            "--database",
            metavar="URL",
            help="instead of SIMHASH_DATABASE_URL",
            **as_setting("SIMHASH_DATABASE_URL", checked(_url)),
        )
        parser.add_argument(
            "--namespace",
            metavar="NAME",
            type=checked(check_name),
            help="instead of SIMHASH_NAMESPACE",
        )
    if "json" in names:
        add_flag(parser, "--json", "print JSON")
    if "time" in names:
        times = parser.add_mutually_exclusive_group()
        times.add_argument(
            "--since",
            metavar="WHEN",
            type=_since,
            help="what was met since run N was started, or since a time: N, 2030-01-31 or "
            f"2030-01-31T12:00 (default: {default})",
        )
        times.add_argument(
            "--run",
            dest="runs",
            metavar="N,M",
            type=_runs,
            default=(),
            help="what these runs met",
        )
        parser.set_defaults(site=None, is_everything=default != LAST_CRAWLS)
    if "site" in names:
        help_ = "only items of this site, such as example.com"
        parser.add_argument("--site", metavar="HOST", type=_site, help=help_)


def as_setting(name: str, check: Callable[[str], Any] = str) -> dict[str, Any]:
    """What an option takes that stands for a setting, as `-s` with its name does."""
    return {"dest": "settings", "action": "append", "type": lambda given: (name, check(given))}


def add_flag(parser: ArgumentParser, name: str, help_: str) -> None:
    """An option without a value."""
    parser.add_argument(name, action="store_true", help=help_)


def add_output(parser: _ActionsContainer, help_: str) -> None:
    """An option for a file to write."""
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help=help_)


def _url(given: str) -> URL:
    from scrapy_simhash.db.engine import check_url  # noqa: PLC0415 - takes long to import

    return check_url(given)


def output_file(given: str) -> Path:
    """Parse the path of a file to write."""
    path = Path(given)
    if not os.path.isdir(path.parent):  # noqa: PTH112 - pathlib raises if a name is too long
        raise ArgumentTypeError(f"there is no folder {path.parent}")
    if os.path.isdir(path):  # noqa: PTH112
        raise ArgumentTypeError(f"{path} is a folder")
    return path


def item_id(given: str) -> tuple[int, int]:
    """Parse the id of a dropped item: the numbers of its namespace and its sighting."""
    namespace, _, number = given.partition("-")
    try:
        return positive(namespace), positive(number)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{given!r}: expected an id such as 1-17") from error


def _since(given: str) -> float:
    """The number of a run, or a time in seconds since the epoch; by default of this time zone."""
    if given.isdecimal():
        return positive(given)
    try:
        return datetime.fromisoformat(given).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"{given!r}: expected a run such as 12, or a time such as 2030-01-31 or "
            "2030-01-31T12:00"
        ) from error


def _runs(given: str) -> list[int]:
    return [*map(positive, given.split(","))]


def _site(given: str) -> str:
    if host := host_of(given if "//" in given else f"http://{given}"):
        return host
    raise ArgumentTypeError(f"{given!r}: expected a host such as example.com")


def positive(given: str) -> int:
    """Parse an integer from 1 upwards."""
    number = int(given) if given.isdecimal() and len(given) < 20 else 0
    if not 1 <= number <= _MOST:
        raise ArgumentTypeError(f"{given!r}: expected an integer from 1 upwards")
    return number
