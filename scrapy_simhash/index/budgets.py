"""The usage counters of a namespace, and the budgets for texts and items.

If a budget is exceeded, the sites that use most of it lose their oldest entries first, down to a
common level. So a site can only displace entries of sites that use at least as much as itself: a
flooding site can't push out others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    false,
    func,
    null,
    or_,
    select,
    true,
    update,
)

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import LockedNamespace, record_usage
from scrapy_simhash.db.statements import CompiledStatement, is_in
from scrapy_simhash.index.invalidated import is_orphan

# Rows that are read at once to make room.
_ROOM = 1024


def largest(budget: float) -> float:
    """The largest size of one item or text, in bytes: an eighth of the budget.

    So no single one can displace all others.
    """
    return budget / 8


class UsageCounters:
    """Counts what a transaction adds to a locked namespace and removes from it.

    The budgets are bytes of compressed texts, and of dropped items.

    Attributes:
        claims, text_bytes, item_bytes: added so far; negative if more were removed.
        largest_text: bytes of the largest text that is stored.
        texts, items, orphans: numbers of texts, dropped items, and orphans among the latter, that
            :meth:`record` removed to stay within the budgets.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: int,
        held: LockedNamespace,
        text_budget: float,
        item_budget: float,
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self._held = held
        self._text_budget = text_budget
        self._item_budget = item_budget
        self.largest_text = largest(text_budget)
        self.claims = self.text_bytes = self.item_bytes = 0
        self.texts = self.items = self.orphans = 0

    def record(self) -> None:
        """Remove what exceeds the budgets, and record the usage."""
        texts = self._held.text_bytes + self.text_bytes
        items = self._held.item_bytes + self.item_bytes
        # A tenth more than necessary, so that the next batches need not make room.
        if self.text_bytes > 0 and texts > self._text_budget:
            # Texts of claims without duplicates go first: they explain no verdict.
            kinds = [_unexplaining, _explaining]
            wanted = texts - self._text_budget * 0.9
            removed, freed = self._make_room(kinds, wanted, self._drop_texts)
            self.text_bytes -= freed
            self.texts = sum(removed)
        if self.item_bytes > 0 and items > self._item_budget:
            # Exact copies of stored items go first; items that may be stored nowhere go last.
            kinds = [_repeating, _others, _orphans]
            wanted = items - self._item_budget * 0.9
            removed, freed = self._make_room(kinds, wanted, self._drop_items)
            self.item_bytes -= freed
            self.items, self.orphans = sum(removed), removed[-1]
        record_usage(
            self._connection,
            self._namespace,
            self._held,
            size=self.claims,
            text_bytes=self.text_bytes,
            item_bytes=self.item_bytes,
        )

    def _make_room(
        self, kinds: Sequence[_Kind], wanted: float, drop: Callable[[Sequence[_Held]], None]
    ) -> tuple[list[int], int]:
        """Remove `wanted` bytes, of earlier kinds first; returns rows of each kind, and bytes."""
        removed, total = [], 0
        for kind in kinds:
            count, freed = self._push_out(kind, wanted - total, drop)
            removed.append(count)
            total += freed
        return removed, total

    def _push_out(
        self, kind: _Kind, wanted: float, drop: Callable[[Sequence[_Held]], None]
    ) -> tuple[int, int]:
        """Remove `wanted` bytes, if there are as many; returns the numbers of rows and bytes."""
        count = freed = 0
        if wanted <= 0:
            return 0, 0
        shares = kind.shares.ask(self._connection, {"here": self._namespace}).rows
        held: dict[int, int] = {site_: int(total) for site_, total in shares}
        level = _level(held, wanted)
        last = {"claim": 0, "number": 0}
        while held and freed < wanted:
            here = {"here": self._namespace, **last}
            rows = [_Held._make(row) for row in kind.oldest.ask(self._connection, here).rows]
            gone = []
            for row in rows:
                if freed < wanted and held.get(row.site, 0) > level:
                    gone.append(row)
                    held[row.site] -= row.size
                    freed += row.size
            if gone:
                drop(gone)
                count += len(gone)
            if len(rows) < _ROOM:
                break
            last = {"claim": rows[-1].claim, "number": rows[-1].number}
        return count, freed

    def _drop_items(self, rows: Sequence[_Held]) -> None:
        _drop_items.ask(self._connection, self._here(row.number for row in rows))

    def _drop_texts(self, rows: Sequence[_Held]) -> None:
        if own := [row.claim for row in rows if not row.number]:
            _drop_own_texts.ask(self._connection, self._here(own))
        if others := [row for row in rows if row.number]:
            duplicates = [row.number for row in others]
            here = self._here({row.claim for row in others})
            _drop_other_texts.ask(self._connection, {**here, "duplicates": duplicates})

    def _here(self, numbers: Iterable[int]) -> dict[str, Any]:
        return {"here": self._namespace, "numbers": list(numbers)}


def _level(held: dict[int, int], wanted: float) -> float:
    """The level to which the largest shares are cut to free `wanted` bytes; 0 for all of them."""
    if not held:
        return 0.0
    largest_first = np.sort(np.fromiter(held.values(), np.float64))[::-1]
    # Entry n: the level if the largest n + 1 shares are cut.
    levels = (np.cumsum(largest_first) - wanted) / np.arange(1, len(held) + 1)
    return max(0.0, float(levels.max()))


class _Held(NamedTuple):
    """An item or a text that is stored."""

    claim: int
    number: int
    size: int
    site: int


class _Kind(NamedTuple):
    """The queries for one kind of entries that may be removed.

    Attributes:
        shares: the bytes of each site.
        oldest: the next entries, as rows of :class:`_Held`.
    """

    shares: CompiledStatement
    oldest: CompiledStatement


def _items(condition: ColumnElement[bool]) -> _Kind:
    row = schema.duplicates.c
    oldest = (
        select(row.claim, row.id.label("number"), row.item_bytes.label("size"), row.site)
        .where(condition, row.id > bindparam("number"))
        .order_by(row.id)
    )
    return _kind(row.site, row.item_bytes, condition, oldest)


def _texts_of(condition: ColumnElement[bool]) -> _Kind:
    row = schema.texts.c
    last: BindParameter[int] = bindparam("claim")
    oldest = (
        select(row.claim, row.duplicate.label("number"), row.bytes.label("size"), row.site)
        .where(
            condition,
            row.claim >= last,
            or_(row.claim > last, row.duplicate > bindparam("number")),
        )
        .order_by(row.claim, row.duplicate)
    )
    return _kind(row.site, row.bytes, condition, oldest)


def _kind(site_: Any, size: Any, condition: ColumnElement[bool], oldest: Any) -> _Kind:
    shares = select(site_, func.sum(size).label("total")).where(condition).group_by(site_)
    return _Kind(CompiledStatement(shares), CompiledStatement(oldest.limit(_ROOM)))


_duplicates, _texts = schema.duplicates, schema.texts
_here: BindParameter[int] = bindparam("here")
_drop_items = CompiledStatement(
    update(_duplicates)
    .where(_duplicates.c.namespace == _here, is_in(_duplicates.c.id, "numbers"))
    .values(item=null(), item_bytes=0)
)
_of_claims = (_texts.c.namespace == _here, is_in(_texts.c.claim, "numbers"))
_drop_own_texts = CompiledStatement(delete(_texts).where(*_of_claims, _texts.c.duplicate == 0))
_drop_other_texts = CompiledStatement(
    delete(_texts).where(*_of_claims, is_in(_texts.c.duplicate, "duplicates"))
)
_has_item = and_(_duplicates.c.namespace == _here, _duplicates.c.item_bytes > 0)
# Exact copies of stored items, other copies, items that may be stored nowhere.
_repeating, _others, _orphans = (
    _items(and_(_has_item, *conditions))
    for conditions in (
        (_duplicates.c.repeats == true(), ~is_orphan()),
        (_duplicates.c.repeats == false(), ~is_orphan()),
        (is_orphan(),),
    )
)
_explains = exists(
    select(_duplicates.c.id).where(
        _duplicates.c.namespace == _texts.c.namespace, _duplicates.c.claim == _texts.c.claim
    )
)
_unexplaining, _explaining = (
    _texts_of(and_(_texts.c.namespace == _here, one)) for one in (~_explains, _explains)
)
