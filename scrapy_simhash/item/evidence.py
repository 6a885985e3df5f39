"""The rule for differences: one table tells which of them keep two similar items apart.

A row is a kind of evidence, a column is how the two items stand to each other, a cell says what a
difference weighs. All that asks whether a difference matters reads it here: verdicts, visits,
advice, reports and docs/duplicates.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from functools import lru_cache
from typing import NamedTuple

#: The hash of a name, the kind of evidence, and the hash of the value.
Record = tuple[int, int, int]

#: This bit of the hash of a name tells that it is a fact of the page, not a field of the item.
PAGE_BIT = 1 << 31

#: Bits of the value of a date; the others are the hash of its day and month in ascending order.
#: They are 1 if the first of these is known to be the month, and 2 if the second is; if neither is
#: known, as in "03/04/2024", 3 if the first stands in front, and 0 if the second does.
DAY_BITS = 0b11
CLEAR_DAYS = (1, 2)


class Evidence(IntEnum):
    """A kind of evidence, as it is stored with a fact. Those above `AMOUNT` are its currencies."""

    TEXT = 0
    NUMBER = 1
    #: The numbers of the compared text: where the texts differ, or all of them if one is not kept.
    NUMBERS = 2
    #: What a date has beside its day.
    TIME = 3
    YEAR = 8
    STATE = 4
    SECTION = 5
    NOTE = 6
    #: The numbers in a title; in place of the name, the hash of its other words.
    NUMBERED = 7
    STOCK = 9
    TITLE = 10
    DATE = 11
    #: Something like AB-12, and the words of a model, an edition or a season.
    CODE = 12
    LABEL = 13
    #: The path of a file.
    FILE = 14
    #: An item's own text, where the text of its page is compared.
    REST = 15
    AMOUNT = 16
    # What is read where two texts differ; never stored.
    PASSAGE = 200
    NAMES = 201


class Weight(IntEnum):
    """What a difference weighs."""

    #: Nothing.
    NEVER = 0
    #: A number of five digits in place of another keeps the items apart.
    REFERENCE = 1
    #: Any number in place of another does.
    REPLACED = 2
    #: It keeps them apart if both have such a value.
    BOTH = 3
    #: Also if the stored item has no evidence of this kind at all.
    NONE_AT_ALL = 4
    #: Also if the stored item lacks this value.
    ALWAYS = 5


class Relation(Enum):
    """How a new item stands to a stored one: the columns of the table.

    One of the first five holds. Each of the others that holds may only lessen the weight.
    """

    SAME_SITE = "same site"
    OTHER_SITE = "other site"
    OTHER_DAY = "other site, title and day"
    VERSION = "later version"
    SHARED_TEXT = "shared text"
    OF_PAGE = "fact of the page"
    ONE_TITLE = "one title"
    CLOSE = "one title, .9 similar"
    VIEW = "other view"
    TRANSLATED = "translated view"


class _Cells(NamedTuple):
    """The weights of one kind, by relation; None where a relation lessens nothing."""

    same_site: Weight
    other_site: Weight
    other_day: Weight
    version: Weight
    shared_text: Weight
    of_page: Weight | None = Weight.BOTH
    one_title: Weight | None = None
    close: Weight | None = None
    view: Weight | None = Weight.BOTH
    translated: Weight | None = Weight.NEVER


_0, _REFERENCE, _REPLACED, _BOTH, _NONE_AT_ALL, _ALL = Weight
_APART = _Cells(_ALL, _0, _0, _ALL, _0)
_TELLS = _APART._replace(shared_text=_BOTH)
_SAME = _Cells(_0, _0, _0, _0, _0)
_PLACE = _Cells(_ALL, _ALL, _ALL, _ALL, _0, of_page=None, view=_0)

#: What a difference in each kind of evidence weighs.
TABLE: Mapping[Evidence, _Cells] = {
    Evidence.AMOUNT: _Cells(
        _ALL, _NONE_AT_ALL, _NONE_AT_ALL, _ALL, _BOTH, view=None, translated=None
    ),
    Evidence.CODE: _TELLS._replace(other_day=_BOTH, view=None, translated=_BOTH),
    Evidence.LABEL: _TELLS,
    Evidence.TITLE: _TELLS,
    Evidence.NUMBERED: _Cells(_0, _BOTH, _BOTH, _0, _0, None, view=None, translated=None),
    Evidence.DATE: _TELLS,
    Evidence.YEAR: _Cells(_BOTH, _0, _0, _BOTH, _BOTH, translated=_BOTH),
    # Other systems write it in their own time zone.
    Evidence.TIME: _Cells(_BOTH, _0, _0, _BOTH, _BOTH, view=_0),
    Evidence.NUMBER: _APART._replace(translated=_BOTH),
    Evidence.FILE: _TELLS._replace(translated=_BOTH),
    Evidence.TEXT: _APART,
    Evidence.SECTION: _APART._replace(one_title=_0),
    Evidence.NOTE: _APART._replace(one_title=_BOTH),
    Evidence.STATE: _SAME,
    Evidence.STOCK: _SAME._replace(version=_ALL),
    Evidence.REST: _SAME._replace(version=_BOTH),
    # A print view may have a date more.
    Evidence.NUMBERS: _PLACE._replace(
        other_site=_REFERENCE, other_day=_REPLACED, view=_REPLACED, translated=None
    ),
    Evidence.PASSAGE: _PLACE._replace(close=_0),
    Evidence.NAMES: _PLACE,
}

# If one of two values is of such a kind, so is their difference.
_STRONGEST = (Evidence.STATE, Evidence.STOCK, Evidence.SECTION, Evidence.NOTE)
_NUMERIC = (Evidence.NUMBER, Evidence.AMOUNT)


@lru_cache(maxsize=1024)
def weight(kind: Evidence, relations: frozenset[Relation]) -> Weight:
    """What a difference of a kind weighs between two items that stand so to each other."""
    cells = TABLE[kind]._asdict()
    found: list[Weight | None] = [cells[relation.name.lower()] for relation in relations]
    return min(cell for cell in found if cell is not None)


def differing(
    new: Iterable[Record],
    stored: Iterable[Record],
    relations: frozenset[Relation],
    unread: Collection[Evidence] = (),
) -> Iterator[int]:
    """Yield the hashes of the names of what keeps a new item apart from a stored one.

    The stored one may have more. Evidence of kinds in `unread` is not compared.

    >>> price, other = (1, Evidence.AMOUNT, 20), (1, Evidence.AMOUNT, 30)
    >>> list(differing([price], [other], frozenset({Relation.SAME_SITE})))
    [1]
    """
    theirs = {*stored}
    mine = {*new}
    held = {name: (kind, value) for name, kind, value in theirs}
    # A title may have several numbers beside equal words.
    agreed = {name for name, *_ in mine & theirs}
    kinds: set[Evidence] | None = None
    of_page = relations | {Relation.OF_PAGE}
    for name, stored_as, value in mine - theirs:
        if name in agreed:
            continue
        kind, other = _kind(stored_as), held.get(name)
        other_kind = kind if other is None else _kind(other[0])
        is_number = other_kind in _NUMERIC
        if other_kind in _STRONGEST or (is_number and kind is Evidence.NUMBER):
            kind = other_kind  # such as "20" beside "19.99"
        if kind in unread:
            continue
        is_of_page = bool(name & PAGE_BIT) and kind is not Evidence.NUMBERED
        weighs = weight(kind, of_page if is_of_page else relations)
        # An amount is missing beside "on request".
        if other is not None and (is_number or weighs != Weight.NONE_AT_ALL):
            differs = weighs >= Weight.BOTH and _differ((stored_as, value), other)
        elif weighs == Weight.NONE_AT_ALL:
            # Any amount of a page may be that of its shipping, or of a cart.
            if kinds is None:
                kinds = {_kind(one) for key, one, _ in theirs if not key & PAGE_BIT}
            differs = kind not in kinds
        else:
            differs = weighs == Weight.ALWAYS
        if differs:
            yield name


def _kind(stored: int) -> Evidence:
    return Evidence(min(stored, Evidence.AMOUNT))


def are_other_days(value: int, other: int) -> bool:
    """Whether two dates can't be one day; "03/04/2024" may be the day of 3 April or of 4 March.

    Two such dates are written in the same order, so they are one day only if both numbers agree.
    """
    if (value ^ other) & ~DAY_BITS:
        return True
    one, two = value & DAY_BITS, other & DAY_BITS
    return one != two and (one in CLEAR_DAYS) == (two in CLEAR_DAYS)


def _differ(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (kind, value), (other_kind, other_value) = one, other
    if kind == other_kind == Evidence.DATE:
        return are_other_days(value, other_value)
    if value != other_value:
        return True
    # An amount without a sign may be in any currency.
    return min(kind, other_kind) > Evidence.AMOUNT and kind != other_kind
