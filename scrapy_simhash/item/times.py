"""Dates and times in the values of an item, in the notations that people and programs use."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from scrapy_simhash.features.tokens import listed, normal
from scrapy_simhash.item.languages import UNSPACED, ago, any_of, months, pattern, phrases

# Characters of a date, at most.
_LONGEST_DATE = 64
_MONTHS = months()
_WEEKDAYS = phrases("weekdays")
# Words in a date that are ignored.
_WORDS = _WEEKDAYS | listed(
    "at on of the st nd rd th er am um den der uhr à le de del las a t date datum published posted "
    "updated last modified edited 发布时间 发布于 更新时间 更新于 时间 日期"
)
_DATE = re.compile(
    r"(?<!\d)(?:(\d{4})([-/.]) ?(\d\d?)\2 ?(\d\d?)|(\d\d?)([-/.]) ?(\d\d?)\6 ?(\d{4}))(?!\d)",
    re.ASCII,
)
_SHORT_DATE = re.compile(r"(\d\d?([-/.])\d\d?\2)(\d\d)((?:,? \d\d?:\d\d.*)?)", re.ASCII)
# A day without a year, if it is written with units or a time.
_DAY = re.compile(r"(?<!\d)(\d\d?)([-/.]) ?(\d\d?)[/.]?(?!\d)", re.ASCII)
_UNITS = re.compile(r"(?<=\d) ?[年月日号號년월일]")
_CLOCK = re.compile(
    r"(?<![\d:.,])(?P<half>[上下]午|午[前後])? ?(?P<hour>\d\d?) ?[:h时時點点시](?P<minute>\d\d)分?"
    r"(?::?(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?秒?(?![\d:])(?: ?(?P<noon>[ap])\.?m\b\.?)?"
    r" ?(?P<zone>\(?(?:z|utc|gmt|[ecmp][sd]t|[cew]es?t|bst|ist|jst|msk)\b\)?)?"
    r"(?P<offset>[+-](?:0\d|1[0-4]):?(?:\d\d)?(?!\d))?",
    re.ASCII,
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_MONTH = any_of(_MONTHS)
_HINT = re.compile(
    r"\d(?:\d{3}(?!\d)| ?[:h时時點点시月월]"
    rf"|(?:st|nd|rd|th|\.)? (?:de |of )?(?:{_MONTH}))"
    rf"|(?:{_MONTH})\.? \d"
)
_ALLOWED = re.compile(r"[\w\s,.;:|()/·•+-]+")
_ISO_DATE = re.compile(r"\d{4}([-/])\d\d\1\d\d")
_MACHINE = re.compile(
    _ISO_DATE.pattern + r"[T ]\d\d:\d\d|[A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} "
)
# Rules out most values that are no times.
_TIME = re.compile(r"\d(?: ?[:h时時點点시]|\d{9})", re.ASCII)
_EPOCH = re.compile(r"\d{10,19}(?:\.\d{1,9})?", re.ASCII)
_EPOCH_UNITS = (1.0, 1e3, 1e6, 1e9)  # s, ms, µs, ns
# Seconds within which a time that people read is a time of the crawl: older ones may be the item's.
_RECENT = 600.0

_MANY = r"(?:\d{1,3}\+?|an?|one|eine[mnr]?|un[ae]?|uma?|[一二两兩三四五六七八九十几幾半]{1,3}个?)"
_SPAN = rf"{_MANY} ?(?:{pattern('units')}|{pattern('units', *UNSPACED)})"
# "2 days and 3 hours"
_SPANS = rf"(?:{_SPAN}[.,]*(?: (?:and|und|et|y|e|и)(?= ))? ?)++"
_POSTED = rf"(?:posted|published|added|listed|about|{pattern('changed')})"
_AGO = re.compile(
    rf"(?:{_POSTED} )*+(?:"
    rf"(?:{_MANY} ?)?(?:{any_of(ago())})"
    rf"|{_MANY} ?(?:{any_of(ago(*UNSPACED))})"
    rf"|{_SPANS}(?:{pattern('ago')}|{pattern('ago', *UNSPACED)})"
    rf"|(?:{pattern('since')}|{pattern('since', *UNSPACED)}) ?:? ?{_SPANS}"
    rf"|{pattern('now')}|{pattern('now', *UNSPACED)})"
)
_SPAN_OR_CLOCK = re.compile(rf"{_SPANS}|\d{{1,3}}(?::\d\d){{1,3}}")
_DAY_AGO = re.compile(
    rf"(?P<posted>{_POSTED} )?(?:{pattern('day')}|{pattern('day', *UNSPACED)})"
    r"(?P<clock>,? ?(?:at |um |à |a las )?\d\d?:\d\d(?: ?[ap]m| uhr)?)?"
)


class WrittenDate(NamedTuple):
    """A date as it is written, without regard to time zones; parts that are not written are empty.

    Attributes:
        days: the days that it may be, month first: "04-03" and "03-04" for 03/04/2024.
        year: four digits.
        clock: hours and minutes, as in "20:31".
        seconds: with their fraction.
        zone: as in "+0100" or "cet".
    """

    days: Sequence[str]
    year: str = ""
    clock: str = ""
    seconds: str = ""
    zone: str = ""


def may_be_date(text: str) -> bool:
    """Whether a folded text has a year, or a time or a month beside a number."""
    return _HINT.search(text) is not None


@lru_cache(maxsize=64)  # a value is asked about as a moment and as a date
def read_date(text: str) -> WrittenDate | None:
    """Read a folded text that is nothing but a date, a date with a time, or a time; else None.

    >>> read_date("5 march 2024, 8:31 pm")
    WrittenDate(days=['03-05'], year='2024', clock='20:31', seconds='', zone='')
    """
    if len(text) > _LONGEST_DATE or not _ALLOWED.fullmatch(text):
        return None
    text, units = _UNITS.subn("/", text)
    if clock := _CLOCK.search(text):
        text = f"{text[: clock.start()]} {text[clock.end() :]}"
    date = _DATE.search(text) or (_DAY.search(text) if clock or units > 1 else None)
    if date:
        text = f"{text[: date.start()]} {text[date.end() :]}"
    words = [word for word in _WORD.findall(text) if word not in _WORDS and word[:2] != "星期"]
    try:
        if date:
            day = None if words else _numeric_day(date.groups(), has_units=units > 1)
        else:
            day = _named_day(words)
        if day is None and (date or words or not clock):
            return None
        return WrittenDate(*(day or ([], "")), *(_clock_parts(clock) if clock else ()))
    except ValueError:
        return None


def read_short_date(text: str) -> WrittenDate | None:
    """Read a folded text such as "13/05/24" or "13.05.24 08:30"; None if it is none.

    Only for fields of dates: elsewhere it may be a version or a code.
    """
    match = _SHORT_DATE.fullmatch(text)
    if match is None:
        return None
    day, _, year, time = match.groups()
    # POSIX reads two digits of a year in this way.
    return read_date(f"{day}{'19' if year > '68' else '20'}{year}{time}")


def is_weekday(text: str) -> bool:
    """Whether a folded text is nothing but names of days of the week."""
    words = _WORD.findall(text)
    return bool(words) and all(word in _WEEKDAYS or word[:2] == "星期" for word in words)


def is_within(value: Any, start: float, stop: float) -> bool:
    """Whether a value is a time from `start` to `stop`, in seconds since the epoch.

    A time is a datetime, an epoch in s, ms, µs or ns, ISO 8601 with date and time (also with a
    space, with slashes, or followed by "UTC"), or an HTTP date. In other notations it must be one
    of the last ten minutes. Without a time zone it counts as UTC and as local time. A date alone
    does not count, because many items have it.
    """
    if start > stop:  # a file has no clock of a crawl
        return False
    if type(value) is str:
        if not _may_be_moment(value):
            return False
        if not _MACHINE.match(value) and not _EPOCH.fullmatch(value):
            start = max(start, stop - _RECENT)
    return any(start <= moment <= stop for moment in _moments(value))


def moment_of(value: Any) -> float | None:
    """A time or day in seconds since the epoch, in UTC unless it has a time zone.

    None if the value is neither, or may be one of two days.
    """
    if type(value) is str and value[4:5] == "-":  # faster than what follows
        with suppress(ValueError):
            value = dt.datetime.fromisoformat(value)
    if type(value) is str and _EPOCH.fullmatch(value):
        value = float(value)
    elif type(value) is str:
        written = read_date(_folded(value)) if len(value) <= _LONGEST_DATE else None
        if written is None or not written.year or len(written.days) != 1:
            return None
        if not written.clock:
            value = dt.date.fromisoformat(f"{written.year}-{written.days[0]}")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    moments = list(_moments(value))
    if type(value) in (int, float):
        moments = [moment for moment in moments if 1e9 <= moment < 5e9]
    # The last one is in UTC, if there is no zone.
    return moments[-1] if moments else None


def is_moment(value: Any) -> bool:
    """Whether a value is a date or a time, after September 2001 if it is a number."""
    if isinstance(value, dt.date):
        return True
    if isinstance(value, str) and len(value) <= _LONGEST_DATE:
        text = _folded(value)
        if _ISO_DATE.match(text) or _AGO.fullmatch(text) or read_date(text) is not None:
            return True
    return any(1e9 <= moment < 5e9 for moment in _moments(value))


def is_relative(value: Any, *, dated: bool) -> bool:
    """Whether a value is a time relative to the download, as in "3 hours ago".

    "yesterday" alone may be the name of a song, so it counts only if the field is one of times.
    """
    if type(value) is not str or len(value) > _LONGEST_DATE:
        return False
    text = _folded(value)
    day = _DAY_AGO.fullmatch(text)
    return bool(_AGO.fullmatch(text) or (day and (dated or day["posted"] or day["clock"])))


def is_span(text: str) -> bool:
    """Whether a folded text is a duration, such as "2 days 3 hours" or "02:15:00"."""
    return len(text) <= _LONGEST_DATE and _SPAN_OR_CLOCK.fullmatch(text) is not None


@lru_cache(maxsize=64)
def _folded(text: str) -> str:
    return " ".join(normal(text, "NFKC").casefold().split())


def _numeric_day(groups: Sequence[str], *, has_units: bool) -> tuple[list[str], str]:
    """The days that a date in numbers may be, month first, and its year.

    There are two days if either number may be the month. Without a year, as in "01-03 10:10" or
    "1月3日", the month comes first, except before a point.
    """
    if len(groups) == 3:
        first, mark, second = groups
        pair, year = (first, second), ""
        is_clear = has_units or mark == "-"
    else:
        first_year, _, month, day, first, mark, second, last_year = groups
        year = first_year or last_year
        is_clear, pair = bool(first_year), (month, day) if first_year else (first, second)
    pairs = [pair] if is_clear else [pair[::-1]] if mark == "." else [pair, pair[::-1]]
    # Without a year, a day of any year is valid.
    days = [
        f"{dt.date(int(year or 4), int(month), int(day)):%m-%d}"
        for month, day in pairs
        if len(pairs) == 1 or int(month) <= 12
    ]
    return list(dict.fromkeys(days)), year


def _named_day(words: Sequence[str]) -> tuple[list[str], str] | None:
    """The day of a date with the name of its month, and its year; None if it is none."""
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    numbers = sorted((word for word in words if word.isdecimal()), key=len)
    sizes = [len(digits) for digits in numbers]
    if len(words) != len(numbers) + 1 or len(months) != 1 or sizes[:1] not in ([1], [2]):
        return None
    if sizes[1:] not in ([], [4]):
        return None
    year = "".join(numbers[1:])
    return [f"{dt.date(int(year or 4), months[0], int(numbers[0])):%m-%d}"], year


def _clock_parts(clock: re.Match[str]) -> tuple[str, str, str]:
    """The hours and minutes, the seconds, and the zone of a time."""
    hour, half = int(clock["hour"]), clock["noon"] or clock["half"]
    if half and hour <= 12:
        hour = hour % 12 + 12 * (half in ("p", "下午", "午後"))
    time = dt.time(hour, int(clock["minute"]), int(clock["second"] or 0))
    seconds = clock["second"] or ""
    if part := (clock["part"] or "").rstrip("0"):
        seconds += f".{part}"
    zone = (clock["zone"] or "").strip("()")
    if offset := (clock["offset"] or "").replace(":", ""):
        zone = offset.ljust(5, "0").replace("-0000", "+0000")
    elif zone in ("z", "utc", "gmt"):
        zone = "+0000"
    return f"{time:%H:%M}", seconds, zone


def _may_be_moment(text: str) -> bool:
    return len(text) <= _LONGEST_DATE and _TIME.search(text) is not None


def _moments(value: Any) -> Iterator[float]:
    """Yield the seconds since the epoch that a value may stand for."""
    kind = type(value)
    if kind is str and _may_be_moment(value):
        if _EPOCH.fullmatch(value):
            yield from _moments(float(value))
        elif (written := read_date(_folded(value))) and written.clock:
            seconds, zone = float(written.seconds or 0), written.zone
            for day in written.days if written.year else ():
                offset = zone if zone[:1] in ("+", "-") else ""
                text = f"{written.year}-{day}T{written.clock}{offset}"
                for moment in _seconds(dt.datetime.fromisoformat(text)):
                    yield moment + seconds
    elif kind is int or kind is float:
        yield from (value / unit for unit in _EPOCH_UNITS if value >= 1e9)
    elif kind is dt.datetime:
        yield from _seconds(value)


def _seconds(moment: dt.datetime) -> Sequence[float]:
    try:
        if moment.utcoffset() is not None:
            return (moment.timestamp(),)
        return (moment.timestamp(), moment.replace(tzinfo=dt.UTC).timestamp())
    except (ValueError, OverflowError, OSError):  # years beyond those of the platform
        return ()
