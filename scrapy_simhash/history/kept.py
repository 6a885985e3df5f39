"""Stored items by run: when they came, their distances, and those similar to another one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from sqlalchemy import BigInteger, cast, func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.features.hashes import similarity_of
from scrapy_simhash.history.query import NamespaceRow, claim_columns, claims_of, read, short_url
from scrapy_simhash.index.invalidated import is_valid


class KeptPair(NamedTuple):
    """A claim kept although its text is similar to that of another one. URLs are cut.

    `differs` is the field that differs, see :class:`Verdict`; the other's URL is None if it is
    gone, and the similarity of both texts if it is not known.
    """

    claim: int
    run: int
    created: float
    url: str
    beside: int
    other: str | None
    differs: str
    similarity: float | None
    estimated: bool


class KeptBeside(NamedTuple):
    """The claims kept although their text is similar to that of another one.

    They are counted by run and the field that differs; the examples begin with the newest.
    """

    by_run: Mapping[int, Counter[str]]
    pairs: Sequence[KeptPair]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Their number by the field that differs, the most frequent first."""
        total = sum(self.by_run.values(), Counter[str]())
        return sorted(total.items(), key=lambda one: (-one[1], one[0]))

    def of(self, run: int) -> Self:
        """Those of one run."""
        pairs = [pair for pair in self.pairs if pair.run == run]
        return type(self)({run: self.by_run.get(run, Counter())}, pairs)


def kept_times(database: Database, namespace: NamespaceRow) -> dict[int, dict[int, int]]:
    """The number of claims by the second in which they were made, of each run."""
    return _counted(database, namespace, cast(claim_columns.created, BigInteger))


def nearest_kept(database: Database, namespace: NamespaceRow) -> dict[int, dict[int, int]]:
    """The number of claims by the distance to the nearest other one, of each run."""
    return _counted(database, namespace, claim_columns.nearest)


def _counted(database: Database, namespace: NamespaceRow, of: Any) -> dict[int, dict[Any, int]]:
    """How many claims of each run have a value."""
    value = of.label("value")
    query = (
        select(claim_columns.run, value, func.count())
        .where(*claims_of(namespace), value.is_not(None))
        .group_by(claim_columns.run, value)
    )
    found: dict[int, dict[Any, int]] = defaultdict(dict)
    for run, one, count in read(database, query):
        found[run][one] = count
    return found


def kept_beside(database: Database, namespace: NamespaceRow, *, limit: int = 10_000) -> KeptBeside:
    """The claims kept although their text is similar to that of another one; so many examples."""
    counted = _counted(database, namespace, claim_columns.differs)
    others = schema.claims.alias("others")
    is_other = (
        (others.c.namespace == claim_columns.namespace)
        & (others.c.id == claim_columns.beside)
        & is_valid(others)
    )
    names = ("id", "run", "created", "beside", "differs", "text_digest", "minhash")
    query = (
        select(
            *(claim_columns[name] for name in names),
            short_url(schema.claims).label("url"),
            short_url(others).label("other"),
            others.c.text_digest.label("other_digest"),
            others.c.minhash.label("other_minhash"),
        )
        .select_from(schema.claims.outerjoin(others, is_other))
        .where(*claims_of(namespace), claim_columns.differs.is_not(None))
        .order_by(claim_columns.id.desc())
        .limit(limit)
    )
    by_run = {run: Counter(counts) for run, counts in counted.items()}
    return KeptBeside(by_run, [_pair(row) for row in read(database, query)])


def _pair(row: Any) -> KeptPair:
    similarity = None
    is_equal = bool(row.text_digest) and row.text_digest == row.other_digest
    if is_equal:
        similarity = 1.0
    elif row.minhash and row.other_minhash:
        similarity = similarity_of(row.minhash, row.other_minhash)
    known = (row.id, row.run, row.created, row.url, row.beside, row.other, row.differs)
    return KeptPair(*known, similarity, not is_equal)
