"""The facts of an item in a few bytes, and whether those of two items conflict."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import product, starmap
from types import MappingProxyType
from typing import Any, Self

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.item.evidence import (
    CLEAR_DAYS,
    DAY_BITS,
    PAGE_BIT,
    Evidence,
    Record,
    Relation,
    are_other_days,
    differing,
)
from scrapy_simhash.item.folding import Folded
from scrapy_simhash.item.names import TITLES, name_of
from scrapy_simhash.item.numbers import numbers_in
from scrapy_simhash.item.state import without_state

#: Fields that are stored of an item, including `(others)` and `(numbers)`, without the records of
#: numbers in titles.
MAX_FIELDS = 64
#: Bytes of a field: hash of the name (4), kind (1), hash of the value (7), little-endian.
RECORD_SIZE = 12

#: Both values of fields, by name.
Values = dict[str, tuple[str | None, str | None]]

#: The prefix of the names of facts of a page.
PAGE = "page:"
#: The prefix of the labels of a page's rows, which come behind its other facts in their order.
ROW = f"{PAGE}value."

#: The name of the fact that holds the numbers of the compared text.
NUMBERS_OF_TEXT = "(numbers)"
#: The name of the fact that holds an item's own text, where its page's main text is compared.
REST_OF_ITEM = "(rest of the item)"
#: All fields beyond a limit, as one.
OTHERS = "(others)"
# What a date has beside its day.
_TIMES = {
    "year": Evidence.YEAR,
    "time": Evidence.TIME,
    "seconds": Evidence.TIME,
    "zone": Evidence.TIME,
}
_PARTS = frozenset(_TIMES.values())
_STATES = (Evidence.STATE, Evidence.STOCK)
_NO_VALUES = {Evidence.TITLE, Evidence.STATE, Evidence.NUMBERED, Evidence.NUMBERS}
_VERSION = frozenset({Relation.VERSION})
_SHARED_TEXT = frozenset({Relation.SHARED_TEXT})


#: The hash of the name `REST_OF_ITEM`.
REST_KEY = name_of(REST_OF_ITEM).key
_TITLE = 256  # characters of a title that are read for its numbers
_DIGITS = re.compile(r"\d+")
# Between the name of a page and that of its site.
_SEPARATOR = re.compile(r"[|:·•«»_]| [-~] ")


@dataclass(frozen=True, slots=True)
class Facts:
    """The short values of an item.

    A record is the 32-bit hash of a name, the kind and the 56-bit hash of the value, sorted by the
    first. Names by that hash are empty for stored facts; `shown` are values as given. A part of a
    title that has numbers has a record as well, of the kind `NUMBERED`: a hash of its other words
    in place of the name, and one of the numbers.
    """

    records: tuple[Record, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict, compare=False)
    shown: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Folded],
        secret: bytes = b"",
        shown: Mapping[str, Any] = MappingProxyType({}),
    ) -> Self:
        """The facts of fields.

        Without the secret, a second value with the same 56-bit hash could be found. Names need no
        secret: whoever wants the hash of a name can use the name.

        Of more than `MAX_FIELDS` - 1 fields, amounts come first, then the order of names; the rest
        becomes one fact that differs if any of them does.
        """
        values: dict[int, Folded] = {}
        names: dict[int, str] = {}
        fields = {**fields, **_times(fields)}
        chosen, rest = sorted(fields), list[str]()
        if len(chosen) >= MAX_FIELDS:
            chosen.sort(key=lambda name: fields[name].kind < Evidence.AMOUNT)
            chosen, rest = chosen[: MAX_FIELDS - 2], sorted(chosen[MAX_FIELDS - 2 :])
        for name in chosen:
            _add(values, names, name, fields[name])
        if rest:
            texts = (f"{name_of(name).key}={fields[name].text}" for name in rest)
            _add(values, names, OTHERS, Folded(Evidence.TEXT, "\x1f".join(texts)))
        records = [(key, value.kind, _value(value, secret)) for key, value in values.items()]
        for key, name, value in _numbered({name: fields[name] for name in chosen}, secret):
            records.append((key, Evidence.NUMBERED, value))
            names.setdefault(key, name)
        return cls(tuple(sorted({*records})), names, shown)

    def with_numbers(self, text: str, secret: bytes = b"") -> Self:
        """Add the numbers of the compared text, if it has any, in place of those of another."""
        return self._with(NUMBERS_OF_TEXT, Evidence.NUMBERS, numbers(text, secret))

    def with_rest(self, text: str, secret: bytes = b"") -> Self:
        """Add the item's own text: it makes no other item, but another version."""
        return self._with(REST_OF_ITEM, Evidence.REST, _hash(text.casefold(), secret))

    def _with(self, name: str, kind: int, value: int) -> Self:
        key = name_of(name).key
        records = [record for record in self.records if record[0] != key]
        if value:
            records.append((key, kind, value))
        return replace(self, records=tuple(sorted(records)), names={**self.names, key: name})

    def joined(self, other: Facts) -> Self:
        """These facts and others, with other names."""
        records = sorted({*self.records, *other.records})
        names = {**other.names, **self.names}
        return type(self)(tuple(records), names, {**other.shown, **self.shown})

    @property
    def own_kinds(self) -> set[int]:
        """The kinds of evidence that the item itself holds, beside titles and its state."""
        return {kind for key, kind, _ in self.records if not key & PAGE_BIT} - _NO_VALUES

    def packed(self) -> bytes:
        """Pack the facts, `RECORD_SIZE` bytes a field."""
        return b"".join(
            (name | kind << 32 | value << 40).to_bytes(RECORD_SIZE, "little")
            for name, kind, value in self.records
        )

    @classmethod
    @lru_cache(maxsize=256)  # those of one claim are needed several times
    def unpack(cls, packed: bytes) -> Self:
        """Unpack facts, without names; raises ValueError if these are none."""
        if len(packed) % RECORD_SIZE:
            raise ValueError(f"facts take {RECORD_SIZE} bytes a field, not {len(packed)} bytes")
        words = (
            int.from_bytes(packed[start : start + RECORD_SIZE], "little")
            for start in range(0, len(packed), RECORD_SIZE)
        )
        return cls(tuple((word & 0xFFFFFFFF, word >> 32 & 0xFF, word >> 40) for word in words))


def without(packed: bytes, names: Collection[int]) -> bytes:
    """Packed facts without those whose names have these hashes."""
    records = (packed[at : at + RECORD_SIZE] for at in range(0, len(packed), RECORD_SIZE))
    return b"".join(one for one in records if int.from_bytes(one[:4], "little") not in names)


def conflict(
    new: Facts,
    stored: Facts,
    relations: frozenset[Relation],
    unread: Collection[Evidence] = (),
) -> str | None:
    """Whether facts make two items different, however similar their texts are.

    Returns:
        The name of the field that differs, the first of several in alphabetical order, those of
        the page behind, and those of the text last, or its hash as in "#0badcafe"; None if the
        stored item has all facts of the new one.
    """
    names = (
        new.names.get(key) or f"#{key:08x}"
        for key in differing(new.records, stored.records, relations, unread)
    )
    behind = ("(", PAGE)
    return min(names, key=lambda name: (*map(name.startswith, behind), name), default=None)


def changed_facts(new: Facts, old: Facts, ignored: Collection[int] = ()) -> set[int]:
    """The hashes of the names of facts that differ between two versions of one item.

    The numbers of a text belong to the text.
    """
    one, other = new.records, old.records
    unread = (Evidence.NUMBERS,)
    changed = {*differing(one, other, _VERSION, unread), *differing(other, one, _VERSION, unread)}
    return changed.difference(ignored)


def are_two_items(one: Facts, other: Facts) -> bool:
    """Whether two items of one site with one text differ in what tells which item it is."""
    return any(differing(one.records, other.records, _SHARED_TEXT))


def relations_of(new: Facts, stored: Facts, *, same_site: bool) -> set[Relation]:
    """How two items stand to each other, as far as their facts tell."""
    titles = equal_titles(new, stored)
    if same_site:
        base = Relation.SAME_SITE
    elif titles is False and _have_other_days(new, stored):
        base = Relation.OTHER_DAY
    else:
        base = Relation.OTHER_SITE
    return {base, Relation.ONE_TITLE} if titles else {base}


def _have_other_days(new: Facts, stored: Facts) -> bool:
    """Whether both items have days, and none in common."""
    mine, theirs = (
        {value for _, kind, value in one.records if kind == Evidence.DATE} for one in (new, stored)
    )
    return bool(mine and theirs) and all(starmap(are_other_days, product(mine, theirs)))


def equal_titles(new: Facts, stored: Facts) -> bool | None:
    """Whether two items have a title in common; None where one of them has none."""
    titles = {value for name, _, value in new.records if name in TITLES}
    others = {value for name, _, value in stored.records if name in TITLES}
    return bool(titles & others) if titles and others else None


def without_repeated(
    fields: Mapping[str, Sequence[str | None]], first: str | None = None
) -> Values:
    """Both values of fields, without facts of the page, other than the first, that repeat them."""
    both = {name: (old, new) for name, (old, new) in fields.items()}
    is_own = {name: name == first or not name.startswith(PAGE) for name in both}
    own = {values for name, values in both.items() if is_own[name]}
    return {name: values for name, values in both.items() if is_own[name] or values not in own}


def numbers(text: str, secret: bytes = b"") -> int:
    """A 56-bit hash of the numbers of a text, with repetitions; 0 if it has none."""
    found = numbers_in(text)
    return _hash("\x1f".join(found), secret) if found else 0


def _add(values: dict[int, Folded], names: dict[int, str], name: str, value: Folded) -> None:
    key = name_of(name).key
    if key in values:  # "datePublished" and "date_published"
        value = Folded(Evidence.TEXT, f"{values[key].text}\x1f{value.text}")
    values[key] = value
    names.setdefault(key, name.rpartition(" (")[0] if value.kind in _PARTS else name)


def _numbered(fields: Mapping[str, Folded], secret: bytes) -> Iterator[tuple[int, str, int]]:
    """Yield hashes of the words and of the numbers of titles, and the names of their fields."""
    for name, (kind, text, _) in fields.items():
        if kind != Evidence.TITLE or text[:2] != "t:" or not _DIGITS.search(text):
            continue
        for part in _SEPARATOR.split(without_state(text[2:_TITLE])):
            # Two sites may write a date in the same words and another order.
            found = sorted(digits.lstrip("0") for digits in _DIGITS.findall(part))
            words = " ".join(tokens(_DIGITS.sub(" ", part)))
            if found and words:
                yield _hash(words, secret) >> 24, name, _hash(" ".join(found), secret)


def _times(fields: Mapping[str, Folded]) -> dict[str, Folded]:
    """The years and times of dates as facts of their own."""
    return {
        f"{name} ({part})": Folded(value.kind if value.kind in _STATES else kind, text)
        for name, value in fields.items()
        for (part, kind), text in zip(_TIMES.items(), value.time, strict=False)
        if text
    }


def _value(folded: Folded, secret: bytes) -> int:
    """The hash of a value; of a date, see `days_of`."""
    if folded.kind != Evidence.DATE:
        return _hash(folded.text, secret)
    day, _, other = folded.text.removeprefix("t:").partition("|")
    # None, as in "spring", is one that is known.
    numbers = sorted(day.split("-")) if folded.time else [day]
    is_first = day == "-".join(numbers)
    bits = (3 if is_first else 0) if other else CLEAR_DAYS[not is_first]
    return _hash("-".join(numbers), secret) & ~DAY_BITS | bits


def _hash(text: str, secret: bytes) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, key=secret, digest_size=7).digest(), "little")
