"""Bookkeeping fields: they only tell when, or in which order, the items of a corpus were stored.

Some names may stand for the clock of a crawl or for the time of a thing: `created_at` of a table
that a crawler fills, and of the posts of a forum. The first 100,000 items of the corpus tell, never
one pair.

- A counter of the items of each file is one if its name may be that of a counter.
- A moment is the crawl's if it never goes back along a file, and the items show it:

  1. Most items whose URL was there before are the same again, but for the moment: one thing has
     one time of its own.
  2. There are no URLs, half of the different items are there several times, but for the moment, and
     none was written more than an hour after the one before it.

A feed that is sorted by its own dates shows neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Any

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
_COUNT = re.compile(r"_?id|pk|seq|sequence|sn|s[lr]?\.?no\.?")
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
# A whole number, and the value of a counter.
_NUMBER = re.compile(r"\b(0|[1-9]\d{0,17})\b(?:\.0\b)?", re.ASCII)
_COUNTER = re.compile(rf"[\[(]?{_NUMBER.pattern}(?:, ?{_NUMBER.pattern})*+[\])]?", re.ASCII)

#: A counter: one number, or one for each level, such as page and row.
Numbers = tuple[int, ...]
#: Hashes of the URL of an item, 0 for none, and of all else that it tells.
ItemHashes = tuple[int, int]


def find_written(
    files: Sequence[Source],
    ignore: Collection[str] = (),
    advance: Callable[[int], None] = lambda read: None,
) -> tuple[list[str], list[str]]:
    """Find these fields in files; without those that are ignored.

    `advance` is called now and then with the number of items read.

    Returns:
        Numbers of rows; and what may be all that tells rows of data apart: other numbers, moments.
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


@dataclass
class _Moments:
    """Whether the moments of a field are those of the crawl."""

    # The first moment of each item, and the items that were there before with another one.
    first: dict[ItemHashes, float] = field(default_factory=dict)
    again: list[ItemHashes] = field(default_factory=list)
    # The URLs of items, and how many items have one.
    urls: set[int] = field(default_factory=set)
    with_url: int = 0
    # The latest moment of the file.
    latest: float = -inf
    has_pause: bool = False

    def meet(self, value: Any, item: ItemHashes) -> bool:
        """Read the next value; returns whether the field still may be the crawl's."""
        moment = moment_of(value)
        if moment is None:
            return value in (None, "")
        if moment < self.latest - _SLACK:
            return False
        self.has_pause |= inf > moment - self.latest > _PAUSE
        self.latest = max(moment, self.latest)
        if self.first.setdefault(item, moment) != moment:
            self.again.append(item)
        if item[0]:
            self.with_url += 1
            self.urls.add(item[0])
        return True

    @property
    def is_proven(self) -> bool:
        if len(self.again) < _PROOF:
            return False
        if self.urls:
            return 2 * len(self.again) >= self.with_url - len(self.urls)
        return 2 * len({*self.again}) >= len(self.first) and not self.has_pause


class _Columns:
    """Reads the items of a corpus, file by file."""

    def __init__(self, ignore: frozenset[str]) -> None:
        self._ignore = ignore
        self._counts: dict[str, _Count] = {}
        self._moments: dict[str, _Moments] = {}
        # The names of all fields, and of those that tell something.
        self._names: set[str] = set()
        self._content: set[str] = set()
        self.read = 0

    def begin(self) -> None:
        """Begin the next file."""
        for count in self._counts.values():
            count.last = None
        for moments in self._moments.values():
            moments.latest = -inf

    @property
    def is_open(self) -> bool:
        """Whether further items can tell anything."""
        return self.read < _MOST and bool(self._counts or self._moments)

    def meet(self, item: Mapping[str, Any]) -> None:
        """Read the next item of a file, if it is one of the first."""
        if self.read >= _MOST:
            return
        self.read += 1
        for name in set(islice(item, MAX_VALUES)) - self._names:
            self._learn(name)
        for name, count in [*self._counts.items()]:
            if (name in item or count.last is not None) and not count.meet(item.get(name)):
                del self._counts[name]
        hashes = self._hashes(item) if self._moments else (0, 0)
        for name, moments in [*self._moments.items()]:
            if not moments.meet(item.get(name), hashes):
                del self._moments[name]

    def _learn(self, name: str) -> None:
        self._names.add(name)
        if name in self._ignore:
            return
        joined, known = re.sub(r"[_\-\s]", "", name.casefold()), name_of(name)
        is_index = _INDEX.fullmatch(joined) is not None
        if is_index or _COUNT.fullmatch(name.casefold()):
            self._counts[name] = _Count(is_index)
        elif _WRITTEN.fullmatch(joined):
            self._moments[name] = _Moments()
        elif known.marks.isdisjoint({"fetched", "url"}) and known.state is None:
            self._content.add(name)

    def _hashes(self, item: Mapping[str, Any]) -> ItemHashes:
        # Finding out which URL is the own one takes a while.
        own = item.get("url")
        if type(own) is not str:
            own = own_url(item, page_url="", key=None)
        content = hash(repr([item.get(name) for name in sorted(self._content)]))
        return hash(own) if own else 0, content

    def written(self) -> tuple[list[str], list[str]]:
        """What was found; see `find_written`."""
        counts = [name for name, count in self._counts.items() if count.is_proven]
        indexes = [name for name in counts if self._counts[name].is_index]
        others = [name for name in counts if name not in indexes]
        moments = [name for name, moments in self._moments.items() if moments.is_proven]
        return indexes, others + moments


def _numbers(value: Any) -> Numbers | None:
    """The value of a counter, written as a number, as digits or as a list of numbers.

    >>> _numbers("7"), _numbers("[0, 7]"), _numbers("07")
    ((7,), (0, 7), None)
    """
    text = str(value)
    return tuple(map(int, _NUMBER.findall(text))) if _COUNTER.fullmatch(text) else None


def _follows(numbers: Numbers, last: Numbers, first: Numbers) -> bool:
    """Whether the value of a counter is the successor of the last one: (1, 0) follows (0, 9)."""
    return numbers in (
        (*last[:level], number + 1, *first[level + 1 :]) for level, number in enumerate(last)
    )
