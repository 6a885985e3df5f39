"""The table of evidence, which tells which differences keep two similar items apart.

A row is a kind of evidence, a column is a relation of the two items, and a cell is what a
difference weighs. Everything that asks whether a difference matters reads this table: verdicts,
visits, advice, reports and docs/duplicates.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum, IntEnum
from functools import lru_cache
from typing import NamedTuple

#: The hash of a name, the kind of evidence, and the hash of the value.
Record = tuple[int, int, int]

#: The bit of the hash of a name that marks a fact of the page, not a field of the item.
PAGE_BIT = 1 << 31

#: These bits of the value of a date tell the order of its day and month; the others hash both in
#: ascending order. They are 1 if the first of both is known to be the month, 2 if the second is.
#: If neither is known, as in "03/04/2024", they are 3 if the first is written first, else 0.
DAY_BITS = 0b11
#: What these bits are if the month is known.
CLEAR_DAYS = (1, 2)


class Evidence(IntEnum):
    """A kind of evidence, as it is stored with a fact. Numbers above `AMOUNT` are currencies."""

    TEXT = 0
    #: What a date has beside its day: its year, its time of day.
    TIME = 3
    STATE = 4
    #: Where a site has filed an item, and what it tells about it: an author, a summary.
    SECTION = 5
    #: The numbers in a title; in place of the name, the hash of its other words.
    NUMBERED = 7
    STOCK = 9
    TITLE = 10
    DATE = 11
    #: An item's own text, where the text of its page is compared.
    REST = 15
    AMOUNT = 16
    # Read where two texts differ, never stored:
    #: A number in place of a different one, or of none.
    NUMBERS = 199
    #: A passage in place of a different one.
    PASSAGE = 200
    #: A name in place of a different one, wherever it stands.
    NAMES = 201


class Weight(IntEnum):
    """What a difference weighs."""

    #: Nothing.
    NEVER = 0
    #: Items are two if a number of five digits stands in place of a different one.
    REFERENCE = 1
    #: Items are two if any number stands in place of a different one.
    REPLACED = 2
    #: Items are two if both have such a value.
    BOTH = 3
    #: And if the stored item has no evidence of this kind, or none that is equal under any name.
    NONE_EQUAL = 4
    #: And if the stored item lacks this value.
    ALWAYS = 5


class Relation(Enum):
    """The relation of a new item to a stored one: the columns of the table.

    One of the first four holds. Each of the others that holds can only lessen the weight.
    """

    SAME_SITE = "same site"
    OTHER_SITE = "other site"
    VERSION = "later version"
    SHARED_TEXT = "shared text"
    OF_PAGE = "fact of the page"
    ONE_TITLE = "one title"
    VIEW = "other view"
    TRANSLATED = "translated view"
    TEXT_ELSEWHERE = "text elsewhere"


class _Cells(NamedTuple):
    """The weights of one kind by relation; None for a relation that lessens nothing."""

    same_site: Weight
    other_site: Weight
    version: Weight
    shared_text: Weight
    of_page: Weight | None = Weight.BOTH
    one_title: Weight | None = None
    view: Weight | None = Weight.BOTH
    translated: Weight | None = Weight.NEVER
    text_elsewhere: Weight | None = None


_0, _REFERENCE, _REPLACED, _BOTH, _NONE_EQUAL, _ALL = Weight
_APART = _Cells(_ALL, _0, _ALL, _0)
_TELLS = _APART._replace(shared_text=_BOTH)
_SAME = _Cells(_0, _0, _0, _0)
_PLACE = _Cells(_ALL, _ALL, _ALL, _0, of_page=None, view=_0)

#: What a difference in each kind of evidence weighs.
TABLE: Mapping[Evidence, _Cells] = {
    Evidence.AMOUNT: _Cells(_ALL, _NONE_EQUAL, _ALL, _BOTH, view=None, translated=None),
    Evidence.TITLE: _TELLS,
    Evidence.NUMBERED: _Cells(_0, _BOTH, _0, _0, None, view=None, translated=None),
    Evidence.DATE: _TELLS,
    # Other systems write it in their own time zone.
    Evidence.TIME: _Cells(_BOTH, _0, _BOTH, _BOTH, view=_0),
    Evidence.TEXT: _APART,
    Evidence.SECTION: _APART._replace(one_title=_0),
    Evidence.STATE: _SAME,
    Evidence.STOCK: _SAME._replace(version=_ALL),
    Evidence.REST: _SAME._replace(version=_ALL),
    # A print view may have a date more.
    Evidence.NUMBERS: _PLACE._replace(other_site=_REFERENCE, view=_REPLACED, translated=None),
    # Elsewhere, later and in a corpus of texts, a passage that is added is an edit.
    Evidence.PASSAGE: _PLACE._replace(other_site=_BOTH, version=_BOTH, text_elsewhere=_BOTH),
    Evidence.NAMES: _PLACE,
}

# A difference is of such a kind if one of its two values is.
_STRONGEST = (Evidence.STATE, Evidence.STOCK, Evidence.SECTION)
# By the codes in facts; those of amounts are higher and tell the currency.
_KINDS = {int(kind): kind for kind in Evidence if kind < Evidence.AMOUNT}


@lru_cache(maxsize=1024)
def weight(kind: Evidence, relations: frozenset[Relation]) -> Weight:
    """What a difference of a kind weighs between two items of these relations."""
    row = TABLE[kind]
    cells: list[Weight | None] = [getattr(row, relation.name.lower()) for relation in relations]
    return min(cell for cell in cells if cell is not None)


def _kind(code: int) -> Evidence:
    """The kind of a fact without its currency."""
    return _KINDS.get(code, Evidence.AMOUNT)


def differing(
    new: Sequence[Record],
    stored: AbstractSet[Record],
    stored_values: Mapping[int, tuple[int, int]],
    relations: frozenset[Relation],
) -> Iterator[int]:
    """Yield the hashes of the names of facts that keep a new item apart from a stored one.

    They come in the order of `new`. The stored item may have more facts. `stored_values` are the
    kinds and values of its facts by name.

    >>> price, other = (1, Evidence.AMOUNT, 20), (1, Evidence.AMOUNT, 30)
    >>> of_one_site = frozenset({Relation.SAME_SITE})
    >>> list(differing([price], {other}, {1: other[1:]}, of_one_site))
    [1]
    """
    for record in new:
        if record in stored:
            continue
        name, code, value = record
        kind, stored_value = _kind(code), stored_values.get(name)
        stored_kind = kind if stored_value is None else _kind(stored_value[0])
        is_amount = stored_kind is Evidence.AMOUNT
        if stored_kind in _STRONGEST or is_amount:
            kind = stored_kind  # such as "20" beside "19.99"
        is_of_page = bool(name & PAGE_BIT) and kind is not Evidence.NUMBERED
        weighs = weight(kind, _of_page(relations) if is_of_page else relations)
        # Beside "on request", an amount is missing.
        if stored_value is not None and (is_amount or weighs != Weight.NONE_EQUAL):
            differs = weighs >= Weight.BOTH and _differ((code, value), stored_value)
        elif weighs == Weight.NONE_EQUAL:
            is_equal = stored_value is not None and stored_value[1] == value  # such as a bare "20"
            differs = not is_equal and not _share_amount(new, stored)
        else:
            differs = weighs == Weight.ALWAYS
        # A title may have several numbers beside equal words.
        if differs and not (
            code == Evidence.NUMBERED and any(one[0] == name and one in stored for one in new)
        ):
            yield name


def _share_amount(new: Iterable[Record], stored: Iterable[Record]) -> bool:
    """Whether two items have an amount in common, under any names."""
    # Any amount of a page may be that of its shipping, or of a cart.
    ours, theirs = (
        [one[1:] for one in some if not one[0] & PAGE_BIT and _kind(one[1]) is Evidence.AMOUNT]
        for some in (new, stored)
    )
    return any(not _differ(one, other) for one in ours for other in theirs)


@lru_cache
def _of_page(relations: frozenset[Relation]) -> frozenset[Relation]:
    return relations | {Relation.OF_PAGE}


def are_other_days(a: int, b: int) -> bool:
    """Whether the values of two dates can't be of one day.

    "03/04/2024" may be 3 April or 4 March. Two such dates are written in the same order, so they
    are of one day only if both numbers agree.
    """
    if (a ^ b) & ~DAY_BITS:
        return True
    order_a, order_b = a & DAY_BITS, b & DAY_BITS
    return order_a != order_b and (order_a in CLEAR_DAYS) == (order_b in CLEAR_DAYS)


def _differ(a: tuple[int, int], b: tuple[int, int]) -> bool:
    (kind_a, value_a), (kind_b, value_b) = a, b
    if kind_a == kind_b == Evidence.DATE:
        return are_other_days(value_a, value_b)
    if value_a != value_b:
        return True
    # An amount without a sign may be in any currency.
    return min(kind_a, kind_b) > Evidence.AMOUNT and kind_a != kind_b
