"""The facts of an item in a few bytes, and whether the facts of two items conflict."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
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
    differing,
)
from scrapy_simhash.item.folding import Folded
from scrapy_simhash.item.names import TITLES, name_of
from scrapy_simhash.item.values import short

#: Fields of an item that are stored, with `(others)`, but not the records of numbers in titles.
MAX_FIELDS = 64
#: Bytes of a record: hash of the name (4), kind (1), hash of the value (7), little-endian.
RECORD_SIZE = 12

#: Both values of fields, by name.
Values = dict[str, tuple[str | None, str | None]]

#: The prefix of the names of facts of a page.
PAGE = "page:"
#: The prefix of the names of facts that come from rows of a page.
ROW = f"{PAGE}value."
#: The name of the fact that holds a title that is the name of a file.
FILE_NAME = f"{PAGE}file"

#: What keeps apart two texts in which different numbers stand in one place.
NUMBERS_OF_TEXT = "(numbers)"
#: The name of the fact that holds an item's own text, where its page's main text is compared.
REST_OF_ITEM = "(rest of the item)"
#: The name of the fact that stands for all fields beyond `MAX_FIELDS`.
OTHERS = "(others)"
# The facts that a date gives beside its day, with the order of `Folded.time`.
_TIMES = ("year", "time", "seconds", "zone")
_STATES = (Evidence.STATE, Evidence.STOCK)
# Kinds of evidence by which items that share a text are found.
_IDENTIFYING = (Evidence.TITLE, Evidence.TEXT, Evidence.DATE, Evidence.AMOUNT)
# Kinds of evidence that do not count as the item's own.
_NOT_OWN = {Evidence.TITLE, Evidence.STATE, Evidence.NUMBERED}
_VERSION = frozenset({Relation.VERSION})
_SHARED_TEXT = frozenset({Relation.SHARED_TEXT})

#: The hash of the name `REST_OF_ITEM`.
REST_KEY = name_of(REST_OF_ITEM).key
# Characters of a title that are read for its numbers.
_LONGEST_TITLE = 256
_DIGITS = re.compile(r"\d+")
# Between the name of a page and that of its site.
_SEPARATOR = re.compile(r"[|:·•«»_]| [-~] ")


@dataclass(frozen=True)
class Facts:
    """The short values of an item.

    Attributes:
        records: for each fact the 32-bit hash of its name, its kind and the 56-bit hash of its
            value, sorted. A part of a title that has numbers has a record of its own, of the kind
            `NUMBERED`: the hash of its other words in place of the name, and that of the numbers.
        names: the names by their hashes; empty for stored facts.
        shown: some values by name, as the item has them; empty for stored facts.
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

        The secret prevents that anybody finds a second value with the same 56-bit hash. Names need
        none: to get the hash of a name, one can use the name.

        Of more than `MAX_FIELDS`, the first ones are kept, amounts before all others, then in the
        order of their names. The others become one fact that differs if any of them does.
        """
        if not fields:
            return cls()
        values: dict[int, Folded] = {}
        names: dict[int, str] = {}
        fields = {**fields, **_times(fields)}
        kept = sorted(fields)
        others: list[str] = []
        if len(kept) > MAX_FIELDS:
            kept.sort(key=lambda name: fields[name].kind < Evidence.AMOUNT)
            kept, others = kept[: MAX_FIELDS - 1], sorted(kept[MAX_FIELDS - 1 :])
        for name in kept:
            _add(values, names, name, fields[name])
        if others:
            texts = (f"{name_of(name).key}={fields[name].text}" for name in others)
            _add(values, names, OTHERS, Folded(Evidence.TEXT, "\x1f".join(texts)))
        records = [(key, value.kind, _value(value, secret)) for key, value in values.items()]
        for key, name, value in _numbered({name: fields[name] for name in kept}, secret):
            records.append((key, Evidence.NUMBERED, value))
            names.setdefault(key, name)
        return cls(tuple(sorted({*records})), names, shown)

    def with_rest(self, text: str, secret: bytes = b"") -> Self:
        """Add the item's own text: if it differs, the item is a different version."""
        record = REST_KEY, int(Evidence.REST), _hash(text.casefold(), secret)
        names = {**self.names, REST_KEY: REST_OF_ITEM}
        return replace(self, records=tuple(sorted([*self.records, record])), names=names)

    def joined(self, other: Facts) -> Self:
        """These facts and those of other names."""
        records = sorted({*self.records, *other.records})
        names = {**other.names, **self.names}
        return type(self)(tuple(records), names, {**other.shown, **self.shown})

    @cached_property
    def ordered(self) -> Sequence[Record]:
        """The records of fields, then those of the page, by name."""
        named = [(self.name(record[0]), record) for record in self.records]
        last = ("(", PAGE)
        named.sort(key=lambda one: (*map(one[0].startswith, last), one[0]))
        return [record for _, record in named]

    @property
    def identifying(self) -> list[int]:
        """The hashes of the values that are most likely an item's own, titles first."""
        # Without the currency of an amount.
        kinds = [(min(kind, int(Evidence.AMOUNT)), value) for _, kind, value in self.ordered]
        return [value for wanted in _IDENTIFYING for kind, value in kinds if kind == wanted]

    @cached_property
    def known(self) -> frozenset[Record]:
        """The records as a set."""
        return frozenset(self.records)

    @cached_property
    def values(self) -> dict[int, tuple[int, int]]:
        """The kinds of evidence and the hashes of the values, by the hashes of the names."""
        return {name: (kind, value) for name, kind, value in self.records}

    @cached_property
    def titles(self) -> frozenset[int]:
        """The hashes of the titles."""
        return frozenset(value for name, _, value in self.records if name in TITLES)

    @property
    def short(self) -> dict[str, str]:
        """The shown values as texts for people."""
        return {name: short(value) for name, value in self.shown.items()}

    def differing(self, stored: Facts, relations: frozenset[Relation]) -> Iterator[int]:
        """The facts that keep the item apart from a stored one: `evidence.differing`."""
        return differing(self.ordered, stored.known, stored.values, relations)

    def name(self, key: int) -> str:
        """The name that has a hash; if that is not known, the hash as in "#0badcafe"."""
        return self.names.get(key) or f"#{key:08x}"

    @property
    def own_kinds(self) -> set[int]:
        """The kinds of evidence that the item itself has, without titles and its state."""
        return {kind for key, kind, _ in self.records if not key & PAGE_BIT} - _NOT_OWN

    def packed(self) -> bytes:
        """Pack the facts, `RECORD_SIZE` bytes a record."""
        return b"".join(
            (name | kind << 32 | value << 40).to_bytes(RECORD_SIZE, "little")
            for name, kind, value in self.records
        )

    @classmethod
    @lru_cache(maxsize=2048)  # as many claims have one text: each is compared with all others
    def unpack(cls, packed: bytes) -> Self:
        """Unpack facts, without names; raises ValueError for bytes of a wrong length."""
        if len(packed) % RECORD_SIZE:
            raise ValueError(f"facts take {RECORD_SIZE} bytes a field, not {len(packed)} bytes")
        words = (
            int.from_bytes(packed[start : start + RECORD_SIZE], "little")
            for start in range(0, len(packed), RECORD_SIZE)
        )
        return cls(tuple((word & 0xFFFFFFFF, word >> 32 & 0xFF, word >> 40) for word in words))


def lasting(packed: bytes | None) -> frozenset[Record] | None:
    """Packed facts without the state of the item."""
    if packed is None:
        return None
    return frozenset(one for one in Facts.unpack(packed).records if one[1] != Evidence.STATE)


def conflict(new: Facts, stored: Facts, relations: frozenset[Relation]) -> str | None:
    """Find a fact that makes two items different, however similar their texts are.

    Returns:
        The name of the field that differs, or its hash as in "#0badcafe". Of several, the first
        one in alphabetical order, fields before facts of the page. None if there is no such fact.
    """
    found = next(new.differing(stored, relations), None)
    return None if found is None else new.name(found)


def changed_facts(new: Facts, old: Facts, ignored: Collection[int] = ()) -> set[int]:
    """The hashes of the names of facts that differ between two versions of one item."""
    return {*new.differing(old, _VERSION), *old.differing(new, _VERSION)}.difference(ignored)


def keys_of(name: str) -> set[int]:
    """The hashes of the names of all facts of a field: its own, and those of parts of a date."""
    return {name_of(name).key, *(name_of(f"{name} ({part})").key for part in _TIMES)}


def are_two_items(a: Facts, b: Facts) -> bool:
    """Whether the facts of one site with one text are those of two items."""
    return any(a.differing(b, _SHARED_TEXT))


def relations_of(new: Facts, stored: Facts, *, same_site: bool) -> set[Relation]:
    """The relations of two items, as far as their facts tell."""
    base = Relation.SAME_SITE if same_site else Relation.OTHER_SITE
    return {base} if new.titles.isdisjoint(stored.titles) else {base, Relation.ONE_TITLE}


def without_repeated(
    fields: Mapping[str, Sequence[str | None]], first: str | None = None
) -> Values:
    """The old and new values of fields, without facts of the page that repeat other fields.

    The field `first` stays in any case.
    """
    both = {name: (old, new) for name, (old, new) in fields.items()}
    is_own = {name: name == first or not name.startswith(PAGE) for name in both}
    own = {values for name, values in both.items() if is_own[name]}
    return {name: values for name, values in both.items() if is_own[name] or values not in own}


def _add(values: dict[int, Folded], names: dict[int, str], name: str, value: Folded) -> None:
    """Add a fact; two names that differ only in their spelling make one fact."""
    key = name_of(name).key
    if key in values:  # "datePublished" and "date_published"
        value = Folded(Evidence.TEXT, f"{values[key].text}\x1f{value.text}")
    values[key] = value
    names.setdefault(key, name.rpartition(" (")[0] if value.kind == Evidence.TIME else name)


def _numbered(fields: Mapping[str, Folded], secret: bytes) -> Iterator[tuple[int, str, int]]:
    """Yield hashes of the words and of the numbers of titles, and the names of their fields."""
    for name, (kind, text, _) in fields.items():
        if kind != Evidence.TITLE or text[:2] != "t:" or not _DIGITS.search(text):
            continue
        for part in _SEPARATOR.split(text[2:_LONGEST_TITLE]):
            # Two sites may write a date in the same words, but not in the same order.
            in_order = sorted(digits.lstrip("0") for digits in _DIGITS.findall(part))
            words = " ".join(tokens(_DIGITS.sub(" ", part)))
            if in_order and words:
                yield _hash(words, secret) >> 24, name, _hash(" ".join(in_order), secret)


def _times(fields: Mapping[str, Folded]) -> dict[str, Folded]:
    """The years, times, seconds and zones of dates as facts of their own."""
    return {
        f"{name} ({part})": Folded(value.kind if value.kind in _STATES else Evidence.TIME, text)
        for name, value in fields.items()
        for part, text in zip(_TIMES, value.time, strict=False)
        if text
    }


def _value(folded: Folded, secret: bytes) -> int:
    """The hash of a value; the hash of a date ends in `DAY_BITS`."""
    if folded.kind != Evidence.DATE:
        return _hash(folded.text, secret)
    day, _, second_day = folded.text.removeprefix("t:").partition("|")
    # Text without a day, such as "spring", counts as a known day.
    numbers = sorted(day.split("-")) if folded.time else [day]
    is_ascending = day == "-".join(numbers)
    bits = (3 if is_ascending else 0) if second_day else CLEAR_DAYS[not is_ascending]
    return _hash("-".join(numbers), secret) & ~DAY_BITS | bits


def _hash(text: str, secret: bytes) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, key=secret, digest_size=7).digest(), "little")
