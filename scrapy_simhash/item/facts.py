"""The facts of an item in a few bytes, and whether those of two items conflict."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Literal, Self

from scrapy_simhash.features.tokens import tokens
from scrapy_simhash.item.addresses import View
from scrapy_simhash.item.folding import (
    AMOUNT,
    NOTE,
    NUMBER,
    NUMBERED,
    NUMBERS,
    SECTION,
    STATE,
    STOCK,
    TEXT,
    TIME,
    YEAR,
    Folded,
)
from scrapy_simhash.item.names import TITLES, Mark, name_of
from scrapy_simhash.item.numbers import numbers_in
from scrapy_simhash.item.state import without_state

#: Fields that are stored of an item, including `(others)` and `(numbers)`, without the records of
#: numbers in titles.
MAX_FIELDS = 64
#: Bytes of a field: hash of the name (4), kind (1), hash of the value (7), little-endian.
RECORD_SIZE = 12

#: The prefix of the names of facts of a page.
PAGE = "page:"

#: The name of the fact that holds the numbers of the compared text.
NUMBERS_OF_TEXT = "(numbers)"
#: The name of the fact that holds an item's own text, where its page's main text is compared.
REST_OF_ITEM = "(rest of the item)"
#: The name of the fact that is a hash of the numbers in a page's tables.
DETAILS = "page:details"
#: All fields beyond a limit, as one.
OTHERS = "(others)"
_CODE = re.compile(r"(?=\D*\d)[\w./-]+")
# Parts of a date that either of two items may lack, with their kinds.
_TIMES = {"year": YEAR, "time": TIME, "seconds": TIME, "zone": TIME}
_PARTS = frozenset(_TIMES.values())


#: Marks of names whose values tell which thing an item is.
TELLING: frozenset[Mark] = frozenset({"code", "dated", "price", "serial"})
_NUMBERS_KEY, _DETAILS_KEY = name_of(NUMBERS_OF_TEXT).key, name_of(DETAILS).key
#: The hash of the name `REST_OF_ITEM`.
REST_KEY = name_of(REST_OF_ITEM).key
#: Facts that are hashes, which nobody can read, by the hashes of their names.
UNREADABLE = {REST_KEY: REST_OF_ITEM, _DETAILS_KEY: DETAILS}
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

    records: tuple[tuple[int, int, int], ...] = ()
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
            chosen.sort(key=lambda name: fields[name].kind < AMOUNT)
            chosen, rest = chosen[: MAX_FIELDS - 2], sorted(chosen[MAX_FIELDS - 2 :])
        for name in chosen:
            _add(values, names, name, fields[name])
        if rest:
            texts = (f"{name_of(name).key}={fields[name].text}" for name in rest)
            _add(values, names, OTHERS, Folded(TEXT, "\x1f".join(texts)))
        records = [(key, value.kind, _hash(value.text, secret)) for key, value in values.items()]
        records += {*_numbered({name: fields[name] for name in chosen}, secret)}
        return cls(tuple(sorted(records)), names, shown)

    def with_numbers(self, text: str, secret: bytes = b"") -> Self:
        """Add the numbers of the compared text, if it has any, in place of those of another."""
        return self._with(NUMBERS_OF_TEXT, NUMBERS, numbers(text, secret))

    def with_rest(self, text: str, secret: bytes = b"") -> Self:
        """Add the item's own text: it makes no other item, but another version."""
        return self._with(REST_OF_ITEM, TEXT, _hash(text.casefold(), secret))

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
    def telling(self) -> frozenset[int]:
        """The hashes of the names of fields that tell which thing it is."""
        keys = (key for key, *_ in self.records if key in self.names)
        return frozenset(k for k in keys if not TELLING.isdisjoint(name_of(self.names[k]).marks))

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
    *,
    same_site: bool,
    mode: Literal["always", "auto", "never"] = "auto",
    numbers: bool = True,
    state: bool = True,
    view: View | None = None,
) -> str | None:
    """Whether facts make two items different things, however similar their texts are.

    Mode "auto" compares only amounts of money across sites, and numbers in titles whose words are
    equal, as of two volumes: a copy there has another headline, author, date and number by nature.
    An amount also conflicts with an item that has none at all, such as the maker's page or an offer
    "on request". "always" treats all sites as one, "never" finds no conflict. Numbers of the texts,
    and the state of the things, may be left out. The new one of two views of one page may have more
    of everything but codes and amounts; in another language only numbers, codes and amounts are
    compared.

    Returns:
        The name of the field that differs, the first of several in alphabetical order, those of
        the text last, or its hash as in "#0badcafe"; None if the stored item has all facts of the
        new one. It may have more.
    """
    if mode == "never":
        return None
    everything = same_site or mode == "always"
    held = {name: (kind, value) for name, kind, value in stored.records}
    # Any amount of a page may be that of its shipping, or of a cart.
    has_amount = any(kind >= AMOUNT and not name >> 31 for name, (kind, _) in held.items())
    is_renumbered = not everything and _is_renumbered(new, stored)
    # Under one title, a section or an author that only one of two items has tells nothing.
    is_titled = equal_titles(new, stored)
    left_out = _left_out(state=state, view=view, is_titled=is_titled)
    # A print view may have a table with fewer rows.
    unread = {_NUMBERS_KEY: not numbers, _DETAILS_KEY: view is not None, REST_KEY: True}
    found = []
    for name, kind, value in new.records:
        other, field = held.get(name), new.names.get(name, "")
        if left_out & {kind, kind if other is None else other[0]} and (
            # A code is the same in every language.
            other is None or not _is_code(field, new.shown.get(field))
        ):
            continue
        if unread.get(name) or (kind == NOTE and is_titled and not other):
            continue
        if not everything and (other is None or not _is_money(kind, other[0])):
            differs = kind >= AMOUNT and not has_amount and not name >> 31
            differs |= is_renumbered and name in TITLES and (kind, value) != other
        elif other is None:
            # A print view has fewer facts of a page, and a date may be without its year or time; an
            # item with more fields is another item, except in another view of one page.
            differs = kind not in _PARTS and not field.startswith(PAGE)
            differs &= not view or kind >= AMOUNT or "code" in name_of(field).marks
        else:
            differs = _differ((kind, value), other)
        if differs:
            found.append(new.names.get(name) or f"#{name:08x}")
    return min(found, key=lambda name: (name.startswith("("), name), default=None)


def _is_code(name: str, value: Any) -> bool:
    """Whether a field holds something like AB-12, rather than words."""
    marks = name_of(name).marks
    is_coded = "code" in marks and "title" not in marks and isinstance(value, str)
    return is_coded and _CODE.fullmatch(value.strip()) is not None


def _left_out(*, state: bool, view: View | None, is_titled: bool | None) -> set[int]:
    """The kinds of facts that are not compared."""
    kinds = {NUMBERED} if state else {NUMBERED, STATE, STOCK}
    if is_titled:
        kinds.add(SECTION)
    if view:
        kinds.add(TIME)  # of a date: another system writes it in another time zone
    return kinds | {TEXT, SECTION, NOTE} if view == "translated" else kinds


def changed_facts(new: Facts, old: Facts, ignored: Collection[int] = ()) -> set[int]:
    """The hashes of the names of facts that differ between two versions of one thing.

    Ignored names and what tells the state of the thing are left out, and so are the numbers of the
    text, which belong to the text. The time of a date, facts of the page, and the rest of the item
    may be missing in either version.
    """
    mine, theirs = (
        {key: (kind, value) for key, kind, value in one.records if kind != NUMBERED}
        for one in (new, old)
    )
    changed = set()
    for key in mine.keys() | theirs.keys():
        one, other = mine.get(key), theirs.get(key)
        if key == _NUMBERS_KEY or key in ignored or STATE in {one and one[0], other and other[0]}:
            continue
        if one is None or other is None:
            kind = (one or other or (0, 0))[0]
            if kind not in _PARTS and not key >> 31 and key != REST_KEY:
                changed.add(key)
        elif _differ(one, other):
            changed.add(key)
    return changed


def are_two_things(one: Facts, other: Facts, telling: Collection[int]) -> bool:
    """Whether titles, amounts, times, or other fields of these names, of two items differ."""
    held = {key: (kind, value) for key, kind, value in other.records}
    return any(
        key in held
        and not {kind, held[key][0]} & {NUMBERED, STATE, STOCK}
        and _differ((kind, value), held[key])
        and (key in TITLES or key in telling or kind in _PARTS or kind >= AMOUNT)
        for key, kind, value in one.records
    )


def equal_titles(new: Facts, stored: Facts) -> bool | None:
    """Whether two items have a title in common; None where one of them has none."""
    titles = {value for name, _, value in new.records if name in TITLES}
    others = {value for name, _, value in stored.records if name in TITLES}
    return bool(titles & others) if titles and others else None


def _is_renumbered(new: Facts, stored: Facts) -> bool:
    """Whether two items have titles of the same words with other numbers."""
    mine, theirs = (
        {(words, value) for words, kind, value in one.records if kind == NUMBERED}
        for one in (new, stored)
    )
    words = {one for one, _ in mine} & {one for one, _ in theirs}
    return not words <= {one for one, _ in mine & theirs}


def numbers(text: str, secret: bytes = b"") -> int:
    """A 56-bit hash of the numbers of a text, with repetitions; 0 if it has none."""
    found = numbers_in(text)
    return _hash("\x1f".join(found), secret) if found else 0


def _differ(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (kind, value), (other_kind, other_value) = one, other
    if value != other_value:
        return True
    # An amount without a sign may be in any currency.
    return kind > AMOUNT and other_kind > AMOUNT and kind != other_kind


def _is_money(kind: int, other: int) -> bool:
    """Whether one is an amount and the other an amount or a number: "20" beside "19.99"."""
    return max(kind, other) >= AMOUNT and min(kind, other) >= NUMBER


def _add(values: dict[int, Folded], names: dict[int, str], name: str, value: Folded) -> None:
    key = name_of(name).key
    if key in values:  # "datePublished" and "date_published"
        value = Folded(TEXT, f"{values[key].text}\x1f{value.text}")
    values[key] = value
    names.setdefault(key, name.rpartition(" (")[0] if value.kind in _PARTS else name)


def _numbered(fields: Mapping[str, Folded], secret: bytes) -> Iterator[tuple[int, int, int]]:
    """The records of parts of titles that have numbers and words."""
    for name, (kind, text, _) in fields.items():
        is_text = kind == TEXT and text.startswith("t:")
        if not is_text or not _DIGITS.search(text) or "title" not in name_of(name).marks:
            continue
        for part in _SEPARATOR.split(without_state(text[2:_TITLE])):
            # Two sites may write a date in the same words and another order.
            found = sorted(digits.lstrip("0") for digits in _DIGITS.findall(part))
            words = " ".join(tokens(_DIGITS.sub(" ", part)))
            if found and words:
                yield _hash(words, secret) >> 24, NUMBERED, _hash(" ".join(found), secret)


def _times(fields: Mapping[str, Folded]) -> dict[str, Folded]:
    """The years and times of dates as facts of their own."""
    return {
        f"{name} ({part})": Folded(value.kind if value.kind in {STATE, STOCK} else kind, text)
        for name, value in fields.items()
        for (part, kind), text in zip(_TIMES.items(), value.time, strict=False)
        if text
    }


def _hash(text: str, secret: bytes) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, key=secret, digest_size=7).digest(), "little")
