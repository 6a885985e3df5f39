"""What a project should change in its settings, and what that would drop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.item.facts import Facts, relations_of
from scrapy_simhash.item.irrelevant import LEAST, Example, Pair, irrelevant_fields
from scrapy_simhash.visible import plural, shortened

_EXAMPLES = 5
# The maximum number of items that are examined, the newest first.
_MOST_ITEMS = 20_000


class SettingAdvice(NamedTuple):
    """A line to change or call, its effect without a full stop, and examples of items.

    If it is about fields that keep copies apart, also these, and how many items would be dropped
    without them.
    """

    setting: str
    effect: str
    examples: Sequence[Example] = ()
    fields: tuple[str, ...] = ()
    dropped: int = 0

    def __str__(self) -> str:
        looked = "; ".join(f"{one.url} and {one.other}" for one in self.examples)
        return shortened(
            f"{self.setting}: {self.effect}. Look at {len(self.examples)} of them: {looked}", 4000
        )


def advise(namespace: NamespaceRow, run: int | None = None) -> list[SettingAdvice]:
    """The advice from all items of a namespace or run."""
    query = (
        select(
            sql.claims.id,
            sql.claims.similar_claim,
            sql.short_url(schema.claims).label("url"),
            sql.short_url(sql.others).label("other"),
            sql.claims.facts,
            sql.others.c.facts.label("stored"),
            (sql.claims.text_digest == sql.others.c.text_digest).label("is_equal"),
        )
        .select_from(sql.claims_with_others)
        .where(
            *sql.claims_of(namespace),
            *([] if run is None else [sql.claims.run == run]),
            sql.claims.differs.is_not(None),
            sql.others.c.id.is_not(None),
        )
        .order_by(sql.claims.id.desc())
        .limit(_MOST_ITEMS)
    )

    def read(items: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        found = read_contents(namespace, items)
        return {item: content.values for item, content in found.items()}

    rows = namespace.read(query)
    pairs = [_pair(row) for row in rows] if len(rows) >= LEAST else []
    given = []
    for fields, number, examples in irrelevant_fields(pairs, read):
        names = [str(name) for name in fields]
        effect = (
            f"{number:,} more {plural(number, 'item')} would be dropped: they have the text of "
            f"another item, and differ only in {', '.join(names)}"
        )
        setting = f"SIMHASH_IGNORE_FIELDS = {names}"
        given.append(SettingAdvice(setting, effect, examples[:_EXAMPLES], fields, number))
    return given


def _pair(row: Any) -> Pair:
    """An item and the similar one, with the facts that differ in either order."""
    changed = frozenset[int]()
    with suppress(ValueError):  # damaged facts
        new, old = (Facts.unpack(packed or b"") for packed in (row.facts, row.stored))
        relations = frozenset(relations_of(new, old, same_site=True))
        changed = frozenset([*new.differing(old, relations), *old.differing(new, relations)])
    return Pair(row.url, row.other, changed, bool(row.is_equal), (row.id, row.similar_claim))
