"""The budgets for texts and items of a namespace.

If a budget is exceeded, the sites that use most of it lose their oldest entries first, down to a
common level. So a site can only displace entries of sites that use at least as much as itself: a
flooding site can't push out others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement, is_in
from scrapy_simhash.index.invalidated import is_orphan

# Rows that are read at once to make room.
_ROOM = 1024


def largest(budget: float) -> float:
    """The largest size of one item or text, in bytes: an eighth of the budget.

    So no single one can displace all others.
    """
    return budget / 8


def make_room(
    connection: sa.Connection, namespace: int, kinds: Sequence[_Kind], total: float, budget: float
) -> tuple[list[int], int]:
    """Remove what exceeds a budget, of earlier kinds first; returns how many, and the bytes."""
    removed, freed = [0] * len(kinds), 0
    if total <= budget:
        return removed, freed
    # A tenth more than necessary, so that the next batches need not make room.
    wanted = total - budget * 0.9
    for place, kind in enumerate(kinds):
        for rows in _excess(connection, namespace, kind, wanted - freed):
            # The claims' own texts, of number 0, and others, whose numbers are unique.
            for is_own in (True, False):
                some = [row for row in rows if is_own == (not row.number)]
                here: dict[str, Any] = {"here": namespace, "numbers": {row.number for row in some}}
                if kind.drop is drop_texts:
                    here["claims"] = {row.claim for row in some}
                if some:
                    kind.drop.ask(connection, here)
            removed[place] += len(rows)
            freed += sum(row.size for row in rows)
    return removed, freed


def _excess(
    connection: sa.Connection, namespace: int, kind: _Kind, wanted: float
) -> Iterator[list[_Held]]:
    """The oldest entries of the sites that use most, of `wanted` bytes if there are as many."""
    if wanted <= 0:
        return
    held = {site: int(size) for site, size in kind.shares.ask(connection, {"here": namespace}).rows}
    level = _level(held, wanted)
    last = {"claim": 0, "number": 0}
    while held and wanted > 0:
        found = kind.oldest.ask(connection, {"here": namespace, **last}).rows
        rows = list(map(_Held._make, found))
        gone = []
        for row in rows:
            if wanted > 0 and held.get(row.site, 0) > level:
                gone.append(row)
                held[row.site] -= row.size
                wanted -= row.size
        if gone:
            yield gone
        if len(rows) < _ROOM:
            break
        last = {"claim": rows[-1].claim, "number": rows[-1].number}


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
    """The statements for one kind of items or texts.

    Attributes:
        shares: selects the bytes of each site.
        oldest: selects the next entries, as rows of :class:`_Held`.
        drop: removes entries, given by claims and numbers.
    """

    shares: CompiledStatement
    oldest: CompiledStatement
    drop: CompiledStatement


_row, _text = schema.duplicates.c, schema.texts.c
_of_items, _of_texts = (table.namespace == sa.bindparam("here") for table in (_row, _text))


def _kind(columns: Sequence[Any], condition: Any, after: Any, drop: Any) -> _Kind:
    claim, number, size, site = columns
    shares = sa.select(site, sa.func.sum(size)).where(condition).group_by(site)
    order = (number,) if number is _row.id else (claim, number)
    oldest = sa.select(*columns).where(condition, after).order_by(*order).limit(_ROOM)
    return _Kind(CompiledStatement(shares), CompiledStatement(oldest), drop)


_drop_items = CompiledStatement(
    sa.update(schema.duplicates)
    .where(_of_items, is_in(_row.id, "numbers"))
    .values(item=sa.null(), item_bytes=0)
)
#: Exact copies of stored items go first, items that may be stored nowhere last.
ITEMS = [
    _kind(
        (_row.claim, _row.id, _row.item_bytes, _row.site),
        sa.and_(_of_items, _row.item_bytes > 0, *conditions),
        _row.id > sa.bindparam("number"),
        _drop_items,
    )
    for conditions in (
        (_row.repeats == sa.true(), ~is_orphan()),
        (_row.repeats == sa.false(), ~is_orphan()),
        (is_orphan(),),
    )
]
# Texts of claims (number 0) and of duplicates, whose numbers are unique. Adding 0 makes the
# engine search by claim only, not by each pair of a claim and a number.
_these_texts = (
    *(_of_texts, is_in(_text.claim, "claims")),
    is_in(_text.duplicate + sa.literal_column("0"), "numbers"),
)
drop_texts = CompiledStatement(sa.delete(schema.texts).where(*_these_texts))
size_of_texts = CompiledStatement(
    sa.select(sa.func.coalesce(sa.func.sum(_text.bytes), 0)).where(*_these_texts)
)
_last: sa.BindParameter[int] = sa.bindparam("claim")
_explains = sa.exists(
    sa.select(_row.id).where(_row.namespace == _text.namespace, _row.claim == _text.claim)
)
#: Texts of claims without duplicates go first: they explain no verdict.
TEXTS = [
    _kind(
        (_text.claim, _text.duplicate, _text.bytes, _text.site),
        sa.and_(_of_texts, condition),
        sa.and_(
            _text.claim >= _last,
            sa.or_(_text.claim > _last, _text.duplicate > sa.bindparam("number")),
        ),
        drop_texts,
    )
    for condition in (~_explains, _explains)
]
