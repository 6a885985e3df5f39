"""What the value of a setting may be: functions that return it ready for use, or raise."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.db.secret import secret_of
from scrapy_simhash.index.namespace import check_name
from scrapy_simhash.item.quality import criteria_of
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy_simhash.item.quality import Criterion

__all__ = [
    "COMPARE",
    "Compare",
    "criteria",
    "flag",
    "mapping",
    "name",
    "names",
    "namespace",
    "number",
    "number_of_bytes",
    "one_of",
    "optional_name",
    "optional_whole",
    "report_file",
    "secret",
    "whole",
]

Compare = Literal["auto", "page", "item"]

#: What of an item is compared; see SIMHASH_COMPARE.
COMPARE: tuple[Compare, ...] = ("auto", "page", "item")


#: What SIMHASH_QUARANTINE = True keeps, in bytes.
_QUARANTINE = 1 << 30


def name(given: Any) -> str:
    """A name or an import path; what it may be depends on other settings."""
    if not isinstance(given, str) or not given:
        raise ValueError("a name, or an import path as a string, is wanted")
    return given


def flag(given: Any) -> bool:
    """A truth value, in any of the forms that Scrapy knows."""
    if given in ("True", "true"):
        return True
    if given in ("False", "false"):
        return False
    try:
        return bool(int(given))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("allowed are True and False") from error


def mapping(given: Any) -> dict[str, Any]:
    """A dictionary, also as JSON."""
    try:
        return dict(json.loads(given) if isinstance(given, str) else given)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("a dictionary is wanted") from error


def one_of(*allowed: str) -> Callable[[Any], str]:
    """One of these words."""

    def check(given: Any) -> str:
        if given not in allowed:
            raise ValueError(f"allowed are {', '.join(map(repr, allowed))}")
        return str(given)

    return check


def number(low: float, high: float) -> Callable[[Any], float]:
    """A number in a closed range, also as text."""

    def check(given: Any) -> float:
        value = _float(given)
        if not low <= value <= high:
            raise ValueError(f"a number {_range(low, high)} is allowed")
        return value

    return check


def whole(low: int, high: float = math.inf) -> Callable[[Any], int]:
    """A whole number in a closed range, also as text."""

    def check(given: Any) -> int:
        value = _float(given)
        if not low <= value <= high or value % 1 != 0:
            raise ValueError(f"a whole number {_range(low, high)} is allowed")
        return int(value)

    return check


def optional_whole(low: int, high: float = math.inf) -> Callable[[Any], int | None]:
    """A whole number, or None, which the command line can only give as text."""
    check = whole(low, high)

    def check_or_none(given: Any) -> int | None:
        try:
            return None if given in (None, "", "None") else check(given)
        except ValueError as error:
            raise ValueError(f"{error}, or None") from None

    return check_or_none


def _float(given: Any) -> float:
    """What it is as a number; one that is in no range where it is none."""
    try:
        return math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _range(low: float, high: float) -> str:
    return f"from {low:g} upwards" if math.isinf(high) else f"from {low:g} to {high:,.0f}"


def number_of_bytes(given: Any) -> int:
    """A number of bytes; True for the usual one, False for none."""
    allowed = "allowed are True, False or a number of bytes"
    if given in (True, "True", "true", "1", 1):
        return _QUARANTINE
    if given in (False, "False", "false", "0", "", None):
        return 0
    try:
        size = int(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(allowed) from error
    if size < 0:
        raise ValueError(allowed)
    return size


def names(given: Any) -> tuple[str, ...]:
    """A list of names, on the command line separated by commas."""
    if isinstance(given, str):
        given = list(filter(None, map(str.strip, given.split(","))))
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise ValueError("a list of names is wanted")
    return tuple(given)


def optional_name(given: Any) -> str | None:
    """A name, or None, which the command line can only give as text."""
    return None if given in (None, "", "None") else name(given)


def criteria(given: Any) -> tuple[Criterion, ...]:
    """What copies are preferred by; none for None, which the command line gives as text."""
    return () if given in (None, "", "None") else criteria_of(names(given))


def namespace(given: Any) -> str:
    """The name of a namespace, in which {spider} stands for that of the spider."""
    if not isinstance(given, str) or not given:
        raise ValueError("a name is wanted; {spider} in it stands for the spider's")
    if set(given.replace("{spider}", "")) & {"{", "}"}:
        raise ValueError("the only placeholder is {spider}")
    check_name(given.replace("{spider}", "x"))
    return given


def secret(given: Any) -> str | None:
    """A secret, or None, which the command line can only give as text."""
    if given in (None, "", "None"):
        return None
    secret_of(given)
    return str(given)


def report_file(given: Any) -> Path | None:
    """The path of a file in an existing folder, or None."""
    if not given:
        return None
    if not isinstance(given, str | PathLike):
        raise ValueError("the path of a file is wanted")  # noqa: TRY004 - as all that is wrong
    path = Path(given)
    try:
        is_there = path.parent.is_dir()
    except OSError:  # a name that is too long, a link that leads to itself
        is_there = False
    if not is_there:
        folder = shortened(str(path.parent))
        raise ValueError(f"there is no folder {folder!r} to write the report to")
    return path
