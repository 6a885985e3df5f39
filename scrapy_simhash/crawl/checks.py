"""The checks of settings: functions that return a value ready for use, or raise."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from scrapy_simhash.db.values import check_name, secret_of

#: The values of SIMHASH_COMPARE.
Compare = Literal["auto", "page", "item"]
COMPARE: tuple[Compare, ...] = get_args(Compare)

#: The values of SIMHASH_REVISIT, which may also be a number of seconds.
Revisit = Literal["conditional", "adaptive"] | float

#: The command line has no None.
_NONE = (None, "", "None")


def optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What this check allows, or None."""

    def check_or_none(given: Any) -> Any:
        try:
            return None if given in _NONE else check(given)
        except ValueError as error:
            raise ValueError(f"{error}, or None") from None

    return check_or_none


def name(given: Any) -> str:
    """A name or an import path; which ones exist depends on other settings."""
    if not isinstance(given, str) or not given:
        raise ValueError("must be a name or an import path")
    return given


def flag(given: Any) -> bool:
    """True or False, in any of the forms that Scrapy accepts."""
    words = {"True": True, "true": True, "False": False, "false": False}
    try:
        return words[given] if given in words else bool(int(given))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("must be True or False") from error


def mapping(given: Any) -> dict[str, Any]:
    """A dictionary, also as JSON."""
    try:
        return dict(json.loads(given) if isinstance(given, str) else given)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("must be a dictionary") from error


def one_of(*allowed: str) -> Callable[[Any], str]:
    """One of these words."""

    def check(given: Any) -> str:
        if given not in allowed:
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return str(given)

    return check


def number(
    low: float, high: float = math.inf, kind: type[float | int] = float
) -> Callable[[Any], float]:
    """A number in a closed range, also as text; with `kind=int` an integer."""
    noun = "a number" if kind is float else "an integer"
    limits = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:,.0f}"

    def check(given: Any) -> float:
        try:
            value = math.nan if isinstance(given, bool) else float(given)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not low <= value <= high or (kind is int and value % 1 != 0):
            raise ValueError(f"must be {noun} {limits}")
        return kind(value)

    return check


def revisit(given: Any) -> Revisit:
    """How known pages are asked for."""
    try:
        return given if given in ("conditional", "adaptive") else number(0)(given)
    except ValueError:
        allowed = "'conditional', 'adaptive', a number of seconds"
        raise ValueError(f"must be one of {allowed}") from None


def namespace(given: Any) -> str:
    """The name of a namespace, in which {spider} stands for that of the spider."""
    if not isinstance(given, str) or not given:
        raise ValueError("must be a name; {spider} in it stands for the spider's")
    if set(given.replace("{spider}", "")) & {"{", "}"}:
        raise ValueError("must have no placeholder but {spider}")
    check_name(given.replace("{spider}", "x"))
    return given


def secret(given: Any) -> str:
    """A secret that is long enough."""
    secret_of(given)
    return str(given)


def report_file(given: Any) -> Path:
    """The path of a file in an existing folder."""
    # Unlike the method, false for a name that is too long, or a link that leads to itself.
    if not isinstance(given, str | PathLike) or not os.path.isdir(Path(given).parent):  # noqa: PTH112
        raise ValueError("must be the path of a file in an existing folder")
    return Path(given)
