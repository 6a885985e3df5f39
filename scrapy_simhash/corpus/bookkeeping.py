"""Bookkeeping fields: they only tell when, or in which order, the items of a corpus were stored.

Some names may stand for the clock of a crawl or for the time of a thing: `created_at` of a table
that a crawler fills, and of the posts of a forum. The whole corpus tells, never one pair of items.

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
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from scrapy_simhash.feed.source import FeedRecord, RecordError, Source
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
# Items of a corpus whose repetitions are counted.
_COUNTED = 100_000
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
    files: Iterable[tuple[Source, Generator[list[FeedRecord]]]],
    ignore: Collection[str] = (),
    advance: Callable[[int], None] = lambda read: None,
) -> Written:
    """Find these fields in files, each given with its records; without those that are ignored.

    `advance` is called now and then with the number of items read.
    """
    columns = _Columns(frozenset(ignore))
    for source, chunks in files:
        columns.begin()
        read = 0
        with closing(chunks):
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
    holds: bool = True

    def meet(self, value: Any) -> None:
        numbers = _numbers(value)
        if self.last is None or self.first is None:
            self.first = numbers
        elif numbers is not None and _follows(numbers, self.last, self.first):
            self.steps += 1
        elif not (self.is_index and numbers == self.first and numbers in ((0,), (1,))):
            # Data frames that are appended to a file count from 0 again.
            numbers = None
        self.last, self.holds = numbers, self.holds and numbers is not None

    @property
    def is_proven(self) -> bool:
        return self.steps >= (1 if self.is_index else _PROOF)


@dataclass
class _Own:
    """A date of the things' own: whether it goes back along a file, and which ones there are."""

    is_published: bool
    last: float | None = None
    goes_back: bool = False
    moments: set[float] = field(default_factory=set)

    def meet(self, moment: float) -> None:
        self.goes_back |= self.last is not None and moment < self.last - _SLACK
        self.last = moment
        if len(self.moments) < _COUNTED:
            self.moments.add(moment)


@dataclass
class _Moments:
    """What speaks for a moment to be that of the crawl."""

    last: float | None = None
    holds: bool = True
    items: int = 0
    pauses: int = 0
    #: Items that have a date of their own, which is not later, by the name of that.
    owned: Counter[str] = field(default_factory=Counter)
    #: The first moment of items by their content, and those that came with another one, too.
    known: dict[int, float] = field(default_factory=dict)
    repeated: set[int] = field(default_factory=set)
    #: How many items came with another moment, have a URL, or have one that was there before.
    same: int = 0
    addressed: int = 0
    again: int = 0

    def meet(self, moment: float) -> None:
        if self.last is not None:
            self.holds = self.holds and moment >= self.last - _SLACK
            self.pauses += moment > self.last + _PAUSE
        self.last = max(moment, self.last or moment)
        self.items += 1

    def compare(self, moment: float, content: int, has_url: bool, is_again: bool) -> None:
        if self.known.setdefault(content, moment) != moment:
            self.same += 1
            self.repeated.add(content)
        self.addressed += has_url
        self.again += is_again

    def is_proven(self, own: Mapping[str, _Own], contents: int) -> bool:
        for name, count in self.owned.items():
            # A day, or the date of a thread of many posts, is not that of one thing.
            is_own = own[name].is_published or 2 * len(own[name].moments) > contents
            if count == self.items and own[name].goes_back and is_own:
                return True
        if self.same < _PROOF:
            return False
        if self.addressed:
            return 2 * self.same >= self.again
        return 2 * len(self.repeated) >= len(self.known) and not self.pauses


class _Columns:
    """Reads the items of a corpus, file by file."""

    def __init__(self, ignore: frozenset[str]) -> None:
        self._ignore = ignore
        self._counts: dict[str, _Count] = {}
        self._moments: dict[str, _Moments] = {}
        self._own: dict[str, _Own] = {}
        # The names of all other fields, and of those that tell something.
        self._names: set[str] = set()
        self._content: set[str] = set()
        self.read = 0
        self._urls: set[int] = set()
        self._contents: set[int] = set()

    def begin(self) -> None:
        """Begin the next file."""
        for columns in (self._counts, self._moments, self._own):
            for column in columns.values():
                column.last = None

    @property
    def is_open(self) -> bool:
        """Whether further items can tell anything."""
        return bool(self._live(self._counts) or self._live(self._moments))

    def meet(self, item: Mapping[str, Any]) -> None:
        """Read the next item of a file."""
        for name in set(islice(item, MAX_VALUES)) - self._names:
            self._learn(name, item)
        for name in self._live(self._counts):
            if name in item or self._counts[name].last is not None:
                self._counts[name].meet(item.get(name))
        if moments := self._live(self._moments):
            self._meet_moments(item, moments)
        self.read += 1

    def _learn(self, name: str, item: Mapping[str, Any]) -> None:
        self._names.add(name)
        if name in self._ignore:
            return
        joined = re.sub(r"[_\-\s]", "", name.casefold())
        known = name_of(name)
        if _INDEX.fullmatch(joined) or _COUNT.fullmatch(name.casefold()):
            # Beside "y" it is a place.
            is_place = joined == "x" and any(other.casefold() == "y" for other in item)
            is_index = _INDEX.fullmatch(joined) is not None
            self._counts[name] = _Count(is_index, holds=not is_place)
        elif _WRITTEN.fullmatch(joined):
            self._moments[name] = _Moments()
        elif known.marks.isdisjoint({"fetched", "url"}) and known.state is None:
            self._content.add(name)
            if _PUBLISHED.fullmatch(joined) or _OWN.fullmatch(joined):
                self._own[name] = _Own(bool(_PUBLISHED.fullmatch(joined)))

    def _meet_moments(self, item: Mapping[str, Any], names: Sequence[str]) -> None:
        own = {name: moment_of(item.get(name)) for name in self._own}
        for name, moment in own.items():
            if moment is not None:
                self._own[name].meet(moment)
        known = self._read_content(item) if self.read < _COUNTED else None
        for name in names:
            column = self._moments[name]
            if (moment := moment_of(item.get(name))) is None:
                # Some may be empty.
                column.holds = column.holds and item.get(name) in (None, "")
                continue
            column.meet(moment)
            column.owned.update(
                other for other, its in own.items() if its is not None and its <= moment + _DAY
            )
            if known is not None:
                column.compare(moment, *known)

    def _read_content(self, item: Mapping[str, Any]) -> tuple[int, bool, bool]:
        """A hash of all else that an item tells; whether it has a URL, and one that was there."""
        content = hash(repr([item.get(name) for name in sorted(self._content)]))
        self._contents.add(content)
        # Finding out which is the own one takes a while.
        own = item.get("url")
        if type(own) is not str:
            own = own_url(item, page_url="", key=None)
        url = hash(own or "")
        known, has_url = len(self._urls), url != hash("")
        self._urls.add(url)
        return hash((url, content)), has_url, has_url and len(self._urls) == known

    @staticmethod
    def _live(columns: Mapping[str, _Count | _Moments]) -> list[str]:
        return [name for name, column in columns.items() if column.holds]

    def written(self) -> Written:
        """What was found."""
        counts = [name for name in self._live(self._counts) if self._counts[name].is_proven]
        indexes = [name for name in counts if self._counts[name].is_index]
        others = [name for name in counts if name not in indexes]
        moments = (name for name in self._live(self._moments) if self._proves(name))
        return Written(tuple(indexes), (*others, *moments))

    def _proves(self, name: str) -> bool:
        return self._moments[name].is_proven(self._own, len(self._contents))


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
