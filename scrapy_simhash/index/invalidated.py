"""Query conditions for invalidated claims: those of a run that died.

One update of the run's row invalidates all its claims; they are deleted later in small steps. So
every query of claims must exclude those that are invalidated.
"""

from __future__ import annotations

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.schema import Invalidated

_run = schema.runs.alias("claimant")


def is_valid(claims: sa.FromClause = schema.claims) -> sa.ColumnElement[bool]:
    """The condition that a claim, of the table or an alias of it, is not invalidated."""
    return ~sa.exists().where(_run.c.id == claims.c.run, _run.c.invalidated > claims.c.state)


def is_dead(runs: sa.FromClause) -> sa.ColumnElement[bool]:
    """The condition that nothing counts of what a run has met, as it may not be stored."""
    return sa.and_(runs.c.recovered.is_not(None), runs.c.on_crash == "release")


def is_orphan() -> sa.ColumnElement[bool]:
    """The condition that the claim an item was left out for is released or invalidated."""
    claim, sighting = schema.claims.alias("stood"), schema.sightings.c
    is_void = sa.exists().where(
        claim.c.namespace == sighting.namespace,
        claim.c.id == sighting.claim,
        _run.c.id == claim.c.run,
        _run.c.invalidated > claim.c.state,
    )
    any_run = schema.runs.alias("any_run")
    # Evaluated once per query, and usually false.
    may_be_invalidated = sa.exists(
        sa.select(any_run.c.id).where(any_run.c.invalidated > Invalidated.NONE)
    )
    return sa.or_(sighting.orphaned == sa.true(), sa.and_(may_be_invalidated, is_void))


def invalidated_count(namespace: sa.ColumnElement[int]) -> sa.ScalarSelect[int]:
    """How many invalidated claims a namespace still has; costs nothing if no run has any."""
    claims = schema.claims.alias("invalidated_claims")
    return (
        sa.select(sa.func.count())
        .select_from(_run.join(claims, claims.c.run == _run.c.id))
        .where(
            _run.c.invalidated > Invalidated.NONE,
            claims.c.state < _run.c.invalidated,
            claims.c.namespace == namespace,
        )
        .correlate_except(_run, claims)
        .scalar_subquery()
    )
