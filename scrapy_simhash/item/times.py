"""Moments in the values of an item, to tell times of the crawl from those of the thing."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

_ISO = re.compile(r"\d{4}([-/])\d\d\1\d\d[T ]\d\d:\d\d")
_ISO_DATE = re.compile(r"\d{4}([-/])\d\d\1\d\d")
_HTTP = re.compile(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} ")
# Rules out most values.
_MOMENT = re.compile(r"\d{4}[-/\d]|[A-Z][a-z]{2}, ")
_EPOCH = re.compile(r"\d{10,19}(?:\.\d{1,9})?")
_EPOCH_UNITS = (1.0, 1e3, 1e6, 1e9)  # s, ms, µs, ns


def is_within(value: Any, start: float, stop: float) -> bool:
    """Whether a value is a moment in a span of time: seconds since the epoch, both ends included.

    A moment is a datetime, ISO 8601 with date and time (also with a space, with slashes, or
    followed by "UTC"), an HTTP date, or an epoch in s, ms, µs or ns. Without a time zone it counts
    as UTC and as local time. A date alone does not count: many things have it.
    """
    moments = _moments(value)
    return bool(moments) and any(start <= moment <= stop for moment in moments)


def is_moment(value: Any) -> bool:
    """Whether a value is a moment or a date, at any time since 2001."""
    if isinstance(value, dt.date):
        return True
    if isinstance(value, str) and len(value) <= 40 and _ISO_DATE.match(value):
        return True
    return any(1e9 <= moment < 5e9 for moment in _moments(value))


def _moments(value: Any) -> Sequence[float]:
    """The seconds since the epoch that a value may stand for."""
    kind = type(value)
    if kind is str:
        return _moments_of_text(value) if _MOMENT.match(value) and len(value) <= 40 else ()
    if kind is int or kind is float:
        return [value / unit for unit in _EPOCH_UNITS] if value >= 1e9 else ()
    return _seconds(value) if kind is dt.datetime else ()


def _moments_of_text(text: str) -> Sequence[float]:
    if _EPOCH.fullmatch(text):
        return _moments(float(text))
    try:
        if _ISO.match(text):
            text = text.removesuffix(" UTC").removesuffix(" GMT")
            return _seconds(dt.datetime.fromisoformat(text.replace("/", "-")))
        if _HTTP.match(text):
            return _seconds(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        pass
    return ()


def _seconds(moment: dt.datetime) -> Sequence[float]:
    try:
        if moment.utcoffset() is not None:
            return (moment.timestamp(),)
        return (moment.timestamp(), moment.replace(tzinfo=dt.UTC).timestamp())
    except (ValueError, OverflowError, OSError):  # years beyond those of the platform
        return ()
