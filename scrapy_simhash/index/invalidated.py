"""Claims that count no more, because the run that made them died: as conditions of a query.

One statement on the row of the run makes its claims void, however many there are; they are deleted
by and by. So whatever reads claims leaves out those that are void.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, exists, func, or_, select, true

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import NOT_VOID

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, FromClause, ScalarSelect

__all__ = ["invalidated_count", "is_orphan", "is_valid"]

_run = schema.runs.alias("claimant")


def is_valid(claims: FromClause = schema.claims) -> ColumnElement[bool]:
    """The condition that a claim, a row of the table or of an alias of it, is not void."""
    return ~exists().where(_run.c.id == claims.c.run, _run.c.void > claims.c.state)


def is_orphan() -> ColumnElement[bool]:
    """The condition that nothing stands for a duplicate any more: its claim is gone, or void."""
    claim, duplicate = schema.claims.alias("stood"), schema.duplicates.c
    is_void = exists().where(
        claim.c.namespace == duplicate.namespace,
        claim.c.id == duplicate.claim,
        _run.c.id == claim.c.run,
        _run.c.void > claim.c.state,
    )
    any_run = schema.runs.alias("any_run")
    # Asked once, where most often none is.
    may_be_void = exists(select(any_run.c.id).where(any_run.c.void > NOT_VOID))
    return or_(duplicate.orphaned == true(), and_(may_be_void, is_void))


def invalidated_count(namespace: ColumnElement[int]) -> ScalarSelect[int]:
    """How many void claims a namespace still has; costs nothing where no run is void."""
    claims = schema.claims.alias("void_claims")
    return (
        select(func.count())
        .select_from(_run.join(claims, claims.c.run == _run.c.id))
        .where(
            _run.c.void > NOT_VOID, claims.c.state < _run.c.void, claims.c.namespace == namespace
        )
        .correlate_except(_run, claims)
        .scalar_subquery()
    )
