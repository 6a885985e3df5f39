"""Claims that were made although the text of another one was near."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import url_of
from scrapy_simhash.history.drops import LONGEST_URL, claim_columns
from scrapy_simhash.index.invalidated import is_valid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.namespaces import NamespaceRow

__all__ = ["KeptBeside", "KeptPair", "kept_beside"]


class KeptPair(NamedTuple):
    """A claim that was kept beside another one. URLs are cut to 2,000 characters.

    Attributes:
        claim: its number.
        run: that made it.
        created: seconds since the epoch.
        url: where it was found.
        beside: the number of the claim whose text was near.
        other: that one's URL; None if it is gone.
        differs: the field that makes them different things: see :class:`Verdict`.
    """

    claim: int
    run: int
    created: float
    url: str
    beside: int
    other: str | None
    differs: str


class KeptBeside(NamedTuple):
    """The claims that were kept beside others.

    Attributes:
        counts: how many, by the field that differs, the most frequent first.
        pairs: examples, the newest first.
    """

    counts: Sequence[tuple[str, int]]
    pairs: Sequence[KeptPair]


def kept_beside(
    database: Database, namespace: NamespaceRow, run: int | None = None, *, limit: int = 10_000
) -> KeptBeside:
    """How many claims were made although another one's text was near, and what differs.

    Args:
        database: where they are.
        namespace: in which one.
        run: those of this run; of all runs otherwise.
        limit: of examples.
    """
    here = claim_columns.namespace == namespace.id
    conditions = [here, claim_columns.differs.is_not(None), is_valid()]
    if run is not None:
        conditions.append(claim_columns.run == run)
    count = func.count().label("count")
    counted = (
        select(claim_columns.differs, count)
        .where(*conditions)
        .group_by(claim_columns.differs)
        .order_by(count.desc(), claim_columns.differs)
    )
    others = schema.claims.alias("others")
    pairs = (
        select(
            claim_columns.id,
            claim_columns.run,
            claim_columns.created,
            func.substr(url_of(schema.claims), 1, LONGEST_URL),
            claim_columns.beside,
            func.substr(url_of(others), 1, LONGEST_URL),
            claim_columns.differs,
        )
        .select_from(
            schema.claims.outerjoin(
                others,
                (others.c.namespace == claim_columns.namespace)
                & (others.c.id == claim_columns.beside)
                & is_valid(others),
            )
        )
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
