"""Stored items: their times, their distances, and those similar to another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.history.query import NamespaceRow, claim_columns, claims_of, read, short_url
from scrapy_simhash.index.invalidated import is_valid


class KeptPair(NamedTuple):
    """A claim kept although its text is similar to that of another one. URLs are cut.

    Attributes:
        claim: its number.
        run: the run that made it.
        created: seconds since the epoch.
        url: its URL.
        beside: the number of the other claim.
        other: the other's URL; None if it is gone.
        differs: the field that differs: see :class:`Verdict`.
    """

    claim: int
    run: int
    created: float
    url: str
    beside: int
    other: str | None
    differs: str


class KeptBeside(NamedTuple):
    """The claims kept although their text is similar to that of another one.

    Attributes:
        counts: their number by the field that differs, the most frequent first.
        pairs: examples, the newest first.
    """

    counts: Sequence[tuple[str, int]]
    pairs: Sequence[KeptPair]


def kept_times(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> NDArray[np.float64]:
    """When the claims were made: seconds since the epoch, unordered."""
    query = select(claim_columns.created).where(*claims_of(namespace, run))
    return database.read(
        lambda connection: np.fromiter(connection.execute(query).scalars(), np.float64)
    )


def nearest_kept(
    database: Database, namespace: NamespaceRow, run: int | None = None
) -> dict[int, int]:
    """The number of claims by their distance to the nearest other one, if that is known."""
    query = (
        select(claim_columns.nearest, func.count())
        .where(*claims_of(namespace, run), claim_columns.nearest.is_not(None))
        .group_by(claim_columns.nearest)
    )
    return {row[0]: row[1] for row in read(database, query)}


def kept_beside(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int = 10_000
) -> KeptBeside:
    """The claims kept although their text is similar to that of another one.

    Args:
        database: where they are.
        namespace: their namespace.
        run: only the claims of this run.
        limit: the number of examples.
    """
    conditions = [*claims_of(namespace, run), claim_columns.differs.is_not(None)]
    count = func.count().label("count")
    counted = (
        select(claim_columns.differs, count)
        .where(*conditions)
        .group_by(claim_columns.differs)
        .order_by(count.desc(), claim_columns.differs)
    )
    others = schema.claims.alias("others")
    is_other = (
        (others.c.namespace == claim_columns.namespace)
        & (others.c.id == claim_columns.beside)
        & is_valid(others)
    )
    pairs = (
        select(
            claim_columns.id,
            claim_columns.run,
            claim_columns.created,
            short_url(schema.claims),
            claim_columns.beside,
            short_url(others),
            claim_columns.differs,
        )
        .select_from(schema.claims.outerjoin(others, is_other))
        .where(*conditions)
        .order_by(claim_columns.id.desc())
        .limit(limit)
    )
    return database.read(
        lambda connection: KeptBeside(
            [(row[0], row[1]) for row in connection.execute(counted)],
            [KeptPair(*row) for row in connection.execute(pairs)],
        )
    )
