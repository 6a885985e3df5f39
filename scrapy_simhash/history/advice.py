"""What a project should change in its settings, and what that would drop.

Wrong advice loses items, so it is given only on what the index proves: pages that were seen under
two URLs, where nothing differs but a field that no other field explains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.history import sql
from scrapy_simhash.history.decisions import read_contents
from scrapy_simhash.history.record import NOTHING
from scrapy_simhash.history.sql import NamespaceRow
from scrapy_simhash.item.evidence import Relation
from scrapy_simhash.item.facts import Facts, equal_titles
from scrapy_simhash.item.irrelevant import LEAST, Example, are_irrelevant, has_meaning, is_one_page
from scrapy_simhash.item.names import name_of
from scrapy_simhash.visible import plural, shortened

# The share of all stored items that advice needs.
_SHARE = 0.01

_EXAMPLES = 5
_ONE_TITLE = frozenset({Relation.SAME_SITE, Relation.ONE_TITLE})

# Items that are read, the newest first.
_MOST_ITEMS = 20_000
# Items whose values are read at once.
_AT_ONCE = 500


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
            *sql.claims_of(namespace, run),
            sql.claims.differs.is_not(None),
            sql.others.c.id.is_not(None),
        )
        .order_by(sql.claims.id.desc())
        .limit(_MOST_ITEMS)
    )
    rows = namespace.read(query)
    if len(rows) < LEAST:
        return []
    total = sql.read(
        namespace.database, select(func.count()).where(*sql.claims_of(namespace, run))
    )[0][0]
    found = defaultdict[tuple[str, ...], list[Example]](list)
    unproven = list[set[int]]()
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        places = [(number, 0) for row in part for number in (row.id, row.similar_claim)]
        kept = read_contents(namespace, places)
        for row in part:
            mine, theirs = (
                kept.get((one, 0), NOTHING).values for one in (row.id, row.similar_claim)
            )
            example = _proven(row, mine, theirs)
            if example is None:
                unproven += _changed(row)
            else:
                found[tuple(example.values)].append(example)
    given = []
    for fields, examples in found.items():
        keys = {name_of(name).key for name in fields}
        # The fields are to be ignored everywhere, also where they may be all that differs.
        is_safe = not any(changed and changed <= keys for changed in unproven)
        is_often = len(examples) >= max(LEAST, _SHARE * total)
        if is_safe and is_often and are_irrelevant(fields, examples):
            number, names = len(examples), [str(name) for name in fields]
            effect = (
                f"{number:,} more {plural(number, 'item')} would be dropped: they are pages "
                f"under a second URL that differ only in {', '.join(names)}"
            )
            setting = f"SIMHASH_IGNORE_FIELDS = {names}"
            given.append(SettingAdvice(setting, effect, examples[:_EXAMPLES], fields, number))
    return sorted(given, key=lambda one: -one.dropped)


def _changed(row: Any) -> list[set[int]]:
    """The facts that keep two pages of a title apart, in whichever order they are met."""
    try:
        new, old = (Facts.unpack(packed or b"") for packed in (row.facts, row.stored))
    except ValueError:
        return []
    return [{*one.differing(other, _ONE_TITLE)} for one, other in ((new, old), (old, new))]


def _proven(row: Any, mine: Mapping[str, str], theirs: Mapping[str, str]) -> Example | None:
    """The pair, if it is one page at two addresses and its changed fields have no known meaning."""
    changed = set[int]().union(*_changed(row))
    if not (changed and row.is_equal and is_one_page(row.url, row.other)):
        return None
    if not equal_titles(Facts.unpack(row.facts), Facts.unpack(row.stored)):
        return None
    names = {name_of(name).key: name for name in mine if name in theirs}
    if not changed <= names.keys():
        return None
    both = {name: (mine[name], theirs[name]) for name in sorted(names[key] for key in changed)}
    return None if any(map(has_meaning, both)) else Example(row.url, row.other, both)
