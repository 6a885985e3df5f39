"""Bookkeeping fields: they only tell when, or in which order, the items of a corpus were stored.

Some names may stand for the clock of a crawl or for the time of a thing: `created_at` of a table
that a crawler fills, and of the posts of a forum. The first 100,000 items of the corpus tell, never
one pair.

- A counter of the items of each file is one if its name may be that of a counter.
- A moment is the crawl's if it never goes back along a file, and one of these holds:

  1. Every item also has a date of publication, or another moment that hardly any other has, and
     that is not later; and these do go back, so that the file is in the order of the crawl.
  2. Most items whose URL was there before are the same again, but for the moment: one thing has
     one time of its own.
  3. There are no URLs, half of the different items are there several times, but for the moment, and
     none was written more than an hour after the one before it.

A feed that is sorted by its own dates has none of the three.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any, NamedTuple

from scrapy_simhash.feed.source import RecordError, Source
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.times import moment_of
from scrapy_simhash.item.urls import own_url
from scrapy_simhash.item.values import MAX_VALUES

# Names in one word. What is an index, or nothing; what may count the items of a file.
_INDEX = re.compile(
    r"#?|(?:unnamed:|level|column)\d+|idx|index|(?:row|line)(?:id|index|no|nr|num|number)?|row|"
    "序号|序號|行号"
)
_COUNT = re.compile(r"_?id|pk|seq|sequence|sn|s[lr]?\.?no\.?|x")
# What may tell when an item was written down.
_VERB = (
    "(?:add|captur|collect|creat|import|insert|load|log|observ|process|pull|receiv|record|request|"
    "sav|stor|sync)(?:ed|e)?"
)
_WRITTEN = re.compile(
    rf"(?:date|time|ts)?(?:{_VERB}|collection|creation|firstseen|insertion|run(?!time)|snapshot)"
    "(?:at|date|on|stamp|time|ts|utc)*+|ctime|entry(?:date|time)|timestamp|ts"
    "|(?:保存|创建|創建|添加|录入|记录)(?:时间|時間|日期)|(?:作成|登録)日時?|생성일시?"
    "|(?:angelegt|erstellt|gespeichert)(?:am)?|fecha(?:creaci[oó]n|registro)|(?:creado|guardado)(?:en)?"
    "|(?:ajouté|créé|enregistré)(?:le)?|date(?:ajout|cr[eé]ation)|data(?:creazione|cria[cç][aã]o)"
    "|(?:creato|salvato)il|criadoem|дата(?:добавления|создания)|добавлено|создано"
)
# When the thing was published, and other moments of its own.
_PUBLISHED = re.compile(
    "(?:date|time)?(?:pub|publi(?:sh|shed|cation)|post|posted)(?:at|date|on|raw|time)*+"
    "|发布(?:时间|日期)|veröffentlicht(?:am)?|fechapublicaci[oó]n|公開日時?|게시일시?"
)
_OWN = re.compile("data|date|datum|fecha|日期|日付|날짜|дата")

# Items of a file among which a field is looked for.
_FIRST = 1024
# Items of a corpus that are looked at.
_MOST = 100_000
# Repetitions that prove something.
_PROOF = 2
# Seconds by which writers that work together may differ.
_SLACK = 60.0
# Seconds that lie between two items of one crawl, at most.
_PAUSE = 3600.0
# Seconds by which a moment in a different time zone may seem later.
_DAY = 86_400.0
# The maximum length of a counter that is written as a list.
_LONGEST_COUNT = 64
_BRACKETS = ("[]", "()")

#: A counter: one number, or one for each level, such as page and row.
Numbers = tuple[int, ...]


class Written(NamedTuple):
    """The bookkeeping fields of a corpus.

    Attributes:
        indexes: numbers of rows.
        others: what may be all that tells rows of data apart: other numbers, and moments.
    """

    indexes: tuple[str, ...]
    others: tuple[str, ...]


def find_written(
    files: Sequence[Source],
    ignore: Collection[str] = (),
    advance: Callable[[int], None] = lambda read: None,
) -> Written:
    """Find these fields in files; without those that are ignored.

    `advance` is called now and then with the number of items read.
    """
    columns = _Columns(frozenset(ignore))
    for source in files:
        columns.begin()
        read = 0
        with closing(source.chunks()) as chunks:
            for chunk in chunks:
                for record in chunk:
                    with suppress(RecordError):
                        columns.meet(source.item(record))
                read += len(chunk)
                advance(columns.read)
                if read >= _FIRST and not columns.is_open:
                    break
    return columns.written()


@dataclass
class _Count:
    """Whether a field counts the items of each file, from any number on."""

    is_index: bool
    first: Numbers | None = None
    last: Numbers | None = None
    steps: int = 0

    def meet(self, value: Any) -> bool:
        """Read the next value; returns whether the field still may be a counter."""
        numbers = _numbers(value)
        if self.last is None or self.first is None:
            self.first = numbers
        elif numbers is not None and _follows(numbers, self.last, self.first):
            self.steps += 1
        elif not (self.is_index and numbers == self.first and numbers in ((0,), (1,))):
            # Data frames that are appended to a file count from 0 again.
            numbers = None
        self.last = numbers
        return numbers is not None

    @property
    def is_proven(self) -> bool:
        return self.steps >= (1 if self.is_index else _PROOF)


class _Columns:
    """Reads the items of a corpus, file by file."""

    def __init__(self, ignore: frozenset[str]) -> None:
        self._ignore = ignore
        self._counts: dict[str, _Count] = {}
        # The moments of items by their numbers: of the crawl, maybe, and of their own.
        self._moments: dict[str, dict[int, float]] = {}
        self._own: dict[str, dict[int, float]] = {}
        # The latest moments of a file.
        self._latest: dict[str, float] = {}
        # The names of all fields, and of those that tell something.
        self._names: set[str] = set()
        self._content: set[str] = set()
        # Hashes of URL and content.
        self._items: dict[int, tuple[int, int]] = {}
        self._starts: list[int] = []
        self.read = 0

    def begin(self) -> None:
        """Begin the next file."""
        self._starts.append(self.read)
        self._latest.clear()
        for column in self._counts.values():
            column.last = None

    @property
    def is_open(self) -> bool:
        """Whether further items can tell anything."""
        return self.read < _MOST and bool(self._counts or self._moments)

    def meet(self, item: Mapping[str, Any]) -> None:
        """Read the next item of a file, if it is one of the first."""
        if self.read >= _MOST:
            return
        for name in set(islice(item, MAX_VALUES)) - self._names:
            self._learn(name, item)
        for name, column in [*self._counts.items()]:
            if (name in item or column.last is not None) and not column.meet(item.get(name)):
                del self._counts[name]
        if self._moments:
            self._items[self.read] = self._read_content(item)
            self._meet_moments(item)
        self.read += 1

    def _learn(self, name: str, item: Mapping[str, Any]) -> None:
        self._names.add(name)
        if name in self._ignore:
            return
        joined, known = _joined(name), name_of(name)
        if _INDEX.fullmatch(joined) or _COUNT.fullmatch(name.casefold()):
            # Beside "y" it is a place.
            if joined != "x" or not any(other.casefold() == "y" for other in item):
                self._counts[name] = _Count(_INDEX.fullmatch(joined) is not None)
        elif _WRITTEN.fullmatch(joined):
            self._moments[name] = {}
        elif known.marks.isdisjoint({"fetched", "url"}) and known.state is None:
            self._content.add(name)
            if _PUBLISHED.fullmatch(joined) or _OWN.fullmatch(joined):
                self._own[name] = {}

    def _meet_moments(self, item: Mapping[str, Any]) -> None:
        for name, own in self._own.items():
            if (moment := moment_of(item.get(name))) is not None:
                own[self.read] = moment
        for name, moments in [*self._moments.items()]:
            moment, latest = moment_of(item.get(name)), self._latest.get(name, -inf)
            if moment is not None and moment >= latest - _SLACK:
                moments[self.read] = moment
                self._latest[name] = max(moment, latest)
            elif item.get(name) not in (None, ""):
                del self._moments[name]

    def _read_content(self, item: Mapping[str, Any]) -> tuple[int, int]:
        """Hashes of the URL of an item, 0 for none, and of all else that it tells."""
        # Finding out which is the own one takes a while.
        own = item.get("url")
        if type(own) is not str:
            own = own_url(item, page_url="", key=None)
        content = hash(repr([item.get(name) for name in sorted(self._content)]))
        return hash(own) if own else 0, content

    def written(self) -> Written:
        """What was found."""
        counts = [name for name, column in self._counts.items() if column.is_proven]
        indexes = [name for name in counts if self._counts[name].is_index]
        others = [name for name in counts if name not in indexes]
        moments = (name for name, moments in self._moments.items() if self._is_crawls(moments))
        return Written(tuple(indexes), (*others, *moments))

    def _is_crawls(self, moments: Mapping[int, float]) -> bool:
        """Whether a moment that never goes back along a file is that of the crawl."""
        if moments and any(self._is_beside(moments, name, own) for name, own in self._own.items()):
            return True
        known, again = dict[tuple[int, int], float](), list[tuple[int, int]]()
        for number, moment in moments.items():
            if known.setdefault(self._items[number], moment) != moment:
                again.append(self._items[number])
        if len(again) < _PROOF:
            return False
        if urls := [url for url, _ in map(self._items.__getitem__, moments) if url]:
            return 2 * len(again) >= len(urls) - len({*urls})
        has_pause = any(step > _PAUSE for step in self._steps(moments))
        return 2 * len({*again}) >= len(known) and not has_pause

    def _is_beside(self, moments: Mapping[int, float], name: str, own: Mapping[int, float]) -> bool:
        """Whether every item also has a date of its own that is not later, in no order."""
        # A day, or the date of a thread of many posts, is not that of one thing.
        contents = {content for _, content in self._items.values()}
        is_own = _PUBLISHED.fullmatch(_joined(name)) or 2 * len({*own.values()}) > len(contents)
        return (
            bool(is_own)
            and any(step < -_SLACK for step in self._steps(own))
            and all(own.get(number, inf) <= moment + _DAY for number, moment in moments.items())
        )

    def _steps(self, moments: Mapping[int, float]) -> Iterator[float]:
        """The seconds to each moment from the latest one before it in its file."""
        latest = dict[int, float]()
        for number, moment in moments.items():
            file = bisect(self._starts, number)
            before = latest.get(file, moment)
            yield moment - before
            latest[file] = max(moment, before)


def _joined(name: str) -> str:
    """A name in one word.

    >>> _joined("Created-at")
    'createdat'
    """
    return re.sub(r"[_\-\s]", "", name.casefold())


def _numbers(value: Any) -> Numbers | None:
    """The value of a counter, written as a number, as digits or as a list of numbers.

    >>> _numbers("7"), _numbers("[0, 7]"), _numbers("07")
    ((7,), (0, 7), None)
    """
    if type(value) is str and len(value) < _LONGEST_COUNT and value[:1] + value[-1:] in _BRACKETS:
        value = [part.strip() for part in value[1:-1].split(",")]
    parts = value if isinstance(value, (list, tuple)) else [value]
    numbers = tuple(number for part in parts if (number := _whole(part)) is not None)
    return numbers if numbers and len(numbers) == len(parts) else None


def _follows(numbers: Numbers, last: Numbers, first: Numbers) -> bool:
    """Whether the value of a counter is the successor of the last one: (1, 0) follows (0, 9)."""
    if len(numbers) != len(last):
        return False
    place = next(
        (at for at, pair in enumerate(zip(numbers, last, strict=True)) if pair[0] != pair[1]), -1
    )
    return place >= 0 and numbers[place:] == (last[place] + 1, *first[place + 1 :])


def _whole(value: Any) -> int | None:
    """A whole number, as a number or in digits."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is str and len(value) < 19 and value.isdecimal() and value.isascii():
        return int(value) if str(int(value)) == value else None
    return value if type(value) is int else None
