"""Learned fields: those that differ between two visits of one page, such as a random id.

They do not tell which thing an item is, so they are not compared on the host where that was
seen. Titles, codes, dates, amounts, facts of the page and numbers of the text are never learned.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import NamedTuple, Self

from sqlalchemy import Connection, bindparam, delete, insert, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import CompiledStatement
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import AMOUNT
from scrapy_simhash.item.quality import address_of
from scrapy_simhash.item.urls import host_of, place
from scrapy_simhash.visible import plural, shortened

#: A field is learned if it differed in so many pairs, of as many pages, and in this share of all.
LEAST, SHARE = 3, 0.8
#: Pairs of a field that are counted; with more of them, all earlier ones count half.
MOST_PAIRS = 50
#: Fields of a host, hosts of a namespace. More are not learned.
MOST_FIELDS, MOST_HOSTS = 64, 1000

_LONGEST_URL = 500


class LearnedField(NamedTuple):
    """A field on a host: in how many pairs it differed and agreed; the columns of its row.

    Examples are up to `LEAST` pairs of URLs of different pages, as JSON. `since` is the largest
    claim number when it was learned, None if it is not; `changed` that of the last change.
    """

    host: str
    field: int
    name: str
    differed: int = 0
    agreed: int = 0
    examples: str = "[]"
    since: int | None = None
    changed: int = 0

    def with_pair(self, urls: tuple[str, str] | None, number: int) -> Self:
        """The row after one more pair: its URLs if the field differed, None if it agreed."""
        differed, agreed = self.differed + (urls is not None), self.agreed + (urls is None)
        examples = self.examples
        known = self.pairs if urls else []
        if urls and len(known) < LEAST and place(urls[1]) not in {place(new) for _, new in known}:
            examples = json.dumps([*known, urls])
        if max(differed, agreed) > MOST_PAIRS:
            if examples == self.examples and not min(differed, agreed):
                return self
            differed, agreed = (differed + 1) // 2, (agreed + 1) // 2
        is_learned = differed >= SHARE * (differed + agreed) and len(json.loads(examples)) >= LEAST
        since = (number if self.since is None else self.since) if is_learned else None
        return self._replace(
            differed=differed, agreed=agreed, examples=examples, since=since, changed=number
        )

    @property
    def pairs(self) -> list[list[str]]:
        """The examples: URLs of the earlier and the later visit."""
        found: list[list[str]] = json.loads(self.examples)
        return found

    def __str__(self) -> str:
        total = self.differed + self.agreed
        return (
            f"{shortened(self.name, 80)} differs between two visits of one page: not compared on "
            f"{shortened(self.host, 80)} ({self.differed} of {total} {plural(total, 'pair')})"
        )


_row = schema.learned.c
_columns = [_row[name] for name in LearnedField._fields]
_changed = CompiledStatement(
    select(*_columns).where(_row.namespace == bindparam("here"), _row.changed > bindparam("last"))
)
_insert = CompiledStatement(insert(schema.learned))
_KEY = ("namespace", "host", "field")
_delete = CompiledStatement(
    delete(schema.learned).where(*(_row[name] == bindparam(f"of_{name}") for name in _KEY))
)


class Learned:
    """The fields of a namespace, as far as this process has read them."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, LearnedField]] = {}
        self._last = 0

    def ignored(self, document: Row) -> Collection[int]:
        """The hashes of the names of the fields that are not compared on a document's host."""
        rows = self._rows.get(host_of(document.url) or "", {}) if self._rows else {}
        return {row.field for row in rows.values() if row.since is not None}

    def refresh(self, connection: Connection, namespace: int, last: int) -> None:
        """Read the rows that were changed, if `last`, the newest change, is not known yet."""
        if last != self._last:
            # The number is lower after the database was restored from a backup.
            known = {"here": namespace, "last": self._last if last > self._last else 0}
            for row in map(LearnedField._make, _changed.ask(connection, known).rows):
                self._rows.setdefault(row.host, {})[row.field] = row
            self._last = last

    def note(
        self,
        connection: Connection,
        namespace: int,
        pairs: Iterable[tuple[Row, Facts, Row]],
        number: int,
    ) -> None:
        """Count pairs: a document, its facts, an earlier version of it. Needs the lock.

        What is learned now counts from the next transaction on, when every process reads it.
        `number` is the largest claim number in use.
        """
        rows: dict[str, dict[int, LearnedField]] = {}
        for mine, facts, claim in pairs:
            host = host_of(mine.url) or ""
            known, own = self._rows.get(host, {}), rows.setdefault(host, {})
            if len(host) > 255 or (not known and len(self._rows) + len(rows) > MOST_HOSTS):
                continue
            for field, urls in _compared(mine, facts, claim):
                row = own.get(field) or known.get(field)
                if row is None and len(known.keys() | own.keys()) < MOST_FIELDS:
                    row = LearnedField(host, field, storable(facts.names[field], 255))
                if row is not None:
                    own[field] = row.with_pair(urls, number)
        changed = [
            {"namespace": namespace, **row._asdict()}
            for host, own in rows.items()
            for row in own.values()
            if row is not self._rows.get(host, {}).get(row.field)
        ]
        if changed:
            _delete.ask(connection, [{f"of_{name}": row[name] for name in _KEY} for row in changed])
            _insert.ask(connection, changed)


def _compared(mine: Row, facts: Facts, claim: Row) -> Iterable[tuple[int, tuple[str, str] | None]]:
    """The fields that both have and that may be learned, with the URLs where they differ."""
    held = {field: (kind, value) for field, kind, value in Facts.unpack(claim.facts or b"").records}
    old, new = (address_of(row.key, row.url)[:_LONGEST_URL] for row in (claim, mine))
    for field, _, value in facts.records:
        kind, other = held.get(field, (AMOUNT, 0))
        if kind < AMOUNT and facts.may_vary(field):
            yield field, None if value == other else (old, new)


def read_learned(database: Database, namespace: int) -> list[LearnedField]:
    """The fields that are not compared in a namespace, by host and name."""
    query = select(*_columns).where(_row.namespace == namespace, _row.since.is_not(None))
    query = query.order_by(_row.host, _row.name)
    return database.read(lambda one: [LearnedField._make(row) for row in one.execute(query)])
