"""An index as the judge of histories: it must say what the oracle says."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self, cast

from decided import facts_of
from sqlalchemy import select
from visits_oracle.contents import NOISE, text_of
from visits_oracle.oracle import Told

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.missing import find_missing
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run, is_complete
from scrapy_simhash.index.seen import ABSENT
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.simhash.scheme import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import URL
    from visits_oracle.contents import Item

    from scrapy_simhash.index.verdict import Verdict


class IndexJudge:
    """The index of one namespace; `mode` is that of SIMHASH_KNOWN."""

    def __init__(
        self, mode: str, database: str | URL | Database = "sqlite://", namespace: str = "default"
    ) -> None:
        self._owns_database = not isinstance(database, Database)
        self.database = database if isinstance(database, Database) else Database(database)
        self._namespace, self._rule = namespace, Rule(known=cast("Any", mode))
        # Keys for less similar texts miss none of those that are near.
        Index(self.database, namespace=namespace, rule=Rule(similarity=0.75)).close()
        self._indexes: dict[int, Index] = {}
        #: The verdict on the last item.
        self.last: Verdict | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns_database:
            self.database.close()

    def open_visit(self, spider: str = "", arguments: str = "", joins: Run | None = None) -> Run:
        run = Run.open(self.database, spider=spider, arguments=arguments)
        assert run.visit == (run.id if joins is None else joins.visit)
        self._indexes[run.id] = Index(
            self.database, namespace=self._namespace, rule=self._rule, run=run
        )
        return run

    def index(self, run: Run) -> Index:
        return self._indexes[run.id]

    def item(self, run: Run, item: Item) -> Told:
        return self.items(run, [item])[0]

    def items(self, run: Run, items: Sequence[Item]) -> list[Told]:
        """Judge several items in one transaction."""
        index = self._indexes[run.id]
        verdicts = index.execute([document(index, item) for item in items])
        index.confirm(*(one for one in verdicts if not one.has_old_claim))
        self.last = verdicts[-1]
        return [_told(verdict, item) for verdict, item in zip(verdicts, items, strict=True)]

    def release(self, run: Run, item: Item) -> None:
        assert self.last is not None
        assert self.last.row is not None
        assert self.last.row.identity == identity_hash(item.identity)
        self._indexes[run.id].release(self.last)

    def crash(self, run: Run) -> None:
        run.close(settled=False, reason="crash")

    def close(self, run: Run, *, complete: bool, gone: Iterable[str]) -> list[tuple[str, str]]:
        run.close(settled=True, reason="finished", complete=complete)
        index = self._indexes[run.id]
        everything = self.database.read(lambda connection: is_complete(connection, run.id))
        find_missing(index, run, {identity_hash(page) for page in gone}, everything=everything)
        row = schema.sightings.c
        query = select(row.status, schema.url_of(schema.sightings)).where(
            row.namespace == index.id, row.run == run.id, row.status.in_(ABSENT)
        )
        rows = self.database.read(lambda connection: connection.execute(query).all())
        return [(status, url) for status, url in rows]


def _told(verdict: Verdict, item: Item) -> Told:
    before = verdict.before
    is_here = before and before.url.partition("?utm_")[0] == item.address
    is_told = before and verdict.status in ("changed", "moved") and not is_here
    origin = before.url if before and is_told else ""
    return Told(str(verdict.status), verdict.claim is not None, origin, verdict.is_back)


def document(index: Index, item: Item) -> Document:
    """The document that a crawl makes of an item."""
    content = item.content
    values = {name: value for name, value in content.facts if name not in NOISE}
    plain = content.text.replace("^", "") if content.has_text else "", sorted(values.items())
    made = Document(
        Sketch(None, 0, None),
        item.identity,
        item.url,
        listing=item.listing,
        alone=not item.listing,
        facts=Facts(),
        digest=blake2b(repr(plain).encode(), digest_size=16).digest(),
    )
    if text := text_of(content):
        made.text, made.sketch, made.facts = text, index.scheme.sketch(text), facts_of(values)
        made.page_sketch = None if content.has_text else b"p" * 260
    else:
        made.exact, made.reason = True, None if content.compared else "no_text"
        made.sketch = Sketch(int.from_bytes(made.digest or b"", "big"), 0, None)
    return made
