"""What a project should change in its settings, by the items of its crawls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, Selection
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.irrelevant import LEAST, Example, Pair, differing_facts, irrelevant_fields
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


def advise(namespace: NamespaceRow, selection: Selection = EVERYTHING) -> list[SettingAdvice]:
    """The advice from the items of a namespace."""
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
            *selection.conditions(schema.claims),
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
        changed = differing_facts(Facts.unpack(row.facts or b""), Facts.unpack(row.stored or b""))
    return Pair(row.url, row.other, changed, bool(row.is_equal), (row.id, row.similar_claim))
