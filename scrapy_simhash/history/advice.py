"""What a project should change in its settings, by the items of its crawls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import EVERYTHING, NamespaceRow, Selection
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.item.facts import PAGE, REST_OF_ITEM, Facts
from scrapy_simhash.item.irrelevant import LEAST, Example, Pair, differing_facts, irrelevant_fields
from scrapy_simhash.item.names import name_of
from scrapy_simhash.visible import plural, shortened

_EXAMPLES = 5
# The maximum number of items that are examined, the newest first.
_MOST_ITEMS = 20_000

_TEXTS = {OF_TEXT, REST_OF_ITEM}
# Marks of the names of fields that tell which item it is.
_TELLING = ("code", "dated", "price", "serial", "title")
# Fields that change most items are advised from so many changes on.
_LEAST_CHANGES = 10
# A field is advised if it changes this share of the changed items.
_LEAST_SHARE = 0.25


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


def find_noise(
    changes: Iterable[Record], rule: Rule, advised: Collection[str] = ()
) -> Iterator[SettingAdvice]:
    """Fields that alone or together change most items, unless they tell what these are."""
    together, examples = Counter[frozenset[str]](), dict[frozenset[str], Example]()
    for one in changes:
        values = {name: (new or "", old or "") for name, (old, new) in one.fields.items()}
        together[fields := frozenset(values)] += 1
        examples.setdefault(fields, Example(one.url, one.url, values))
    total, often = together.total(), Counter[str]()
    for fields, count in together.items():
        often.update(dict.fromkeys(fields, count))
    least = max(_LEAST_CHANGES, _LEAST_SHARE * total)
    noise = {name for name, count in often.items() if count >= least and not _tells(name)}
    alone = {fields: count for fields, count in together.items() if fields and fields <= noise}
    count = sum(alone.values())
    names = sorted(frozenset[str]().union(*alone))
    if count >= _LEAST_CHANGES and count * 2 > total and not {*names} <= {*advised}:
        listed = " and ".join(f"`{shortened(name, 80)}`" for name in names)
        these = "this field" if len(names) == 1 else "these fields"
        yield SettingAdvice(
            f"SIMHASH_IGNORE_FIELDS = {names}",
            f"{count:,} of {total:,} changed items changed only in {listed}. If that does not "
            f"matter, ignore {these}: then these items are unchanged",
            [examples[max(alone, key=len)]],
        )
    texts = sum(count for fields, count in together.items() if fields and fields <= _TEXTS)
    if texts >= _LEAST_CHANGES and texts * 2 > total and rule.change_similarity == 1:
        yield SettingAdvice(
            "SIMHASH_CHANGE_SIMILARITY = 0.9",
            f"{texts:,} of {total:,} changed items changed only in their text: `scrapy simhash "
            "changes --texts` shows main texts. If that is a box beside the article, let the "
            "spider select the article alone, or lower the similarity: then edits of a few words, "
            "but for numbers, are no change",
        )


def _tells(name: str) -> bool:
    """Whether a field tells what an item is."""
    is_own = not name.startswith((PAGE, "("))
    return not is_own or not name_of(name).marks.isdisjoint(_TELLING)
