"""The queries for claims and sightings, and which of them count.

One update of the row of a run that died invalidates all its claims; they are deleted later in small
steps, and with each the copies of its claims become orphans. So every query of claims must exclude
those that are invalidated, but for their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.index.verdict import ClaimRow, Sighting

# Sightings of a claim that are read to find where it was last met.
_ELSEWHERE = 16

#: Copies of a claim that are read at once: a text that many pages have is soon known as such.
COPIES = 512

_row, _claim, _run = schema.sightings.c, schema.claims.c, schema.runs.c
_claimant = schema.runs.alias("claimant")


def is_valid(claims: sa.FromClause = schema.claims) -> sa.ColumnElement[bool]:
    """The condition that a claim, of the table or an alias of it, is not invalidated."""
    return ~sa.exists().where(
        _claimant.c.id == claims.c.run, _claimant.c.invalidated > claims.c.state
    )


def is_dead(runs: sa.FromClause) -> sa.ColumnElement[bool]:
    """The condition that nothing counts of what a run has met, as it may not be stored."""
    return sa.and_(runs.c.recovered.is_not(None), runs.c.on_crash == "release")


_texts = schema.texts.c
_claims_here = _claim.namespace == sa.bindparam("namespace")
_ids = is_in(_claim.id, "ids")
_claim_row = [
    _claim[name] if name != "url" else schema.url_of(schema.claims) for name in ClaimRow._fields
]

details = sa.select(*_claim_row).where(_claims_here, _ids, is_valid())
hits = sa.select(schema.keys.c.key, schema.keys.c.claim).where(
    schema.keys.c.namespace == sa.bindparam("namespace"), is_in(schema.keys.c.key, "keys")
)
texts = sa.select(_texts.id, _texts.text).where(
    _texts.namespace == sa.bindparam("namespace"), is_in(_texts.id, "ids")
)


def claims_of(
    connection: sa.Connection,
    namespace: int,
    numbers: Iterable[int],
    *conditions: sa.ColumnElement[bool],
) -> list[ClaimRow]:
    """Claims by their numbers, under more conditions, in their order; for rare queries."""
    wanted = sa.select(*_claim_row).where(_claims_here, _ids, *conditions).order_by(_claim.id)
    rows = connection.execute(wanted, {"namespace": namespace, "ids": [*numbers]})
    return [ClaimRow._make(row) for row in rows]


_here = _row.namespace == sa.bindparam("namespace")
_with_runs = schema.sightings.join(schema.runs, _run.id == _row.run)
_with_claims = _with_runs.join(
    schema.claims, sa.and_(_claim.namespace == _row.namespace, _claim.id == _row.claim)
)
_counts = sa.and_(_row.status != RELEASED, ~is_dead(schema.runs))
_later, _last = (schema.sightings.alias(name) for name in ("later", "last"))
_later_run, _last_run = (schema.runs.alias(f"{name}_run") for name in ("later", "last"))


def _follows(
    then: sa.FromClause, run: sa.FromClause, earlier: sa.FromClause
) -> tuple[sa.ColumnElement[bool], ...]:
    """The conditions that a sighting follows another one of its identity, before a visit."""
    return (
        then.c.namespace == earlier.c.namespace,
        then.c.identity == earlier.c.identity,
        then.c.visit > earlier.c.visit,
        then.c.visit < sa.bindparam("visit"),
        then.c.status.not_in((*ABSENT, RELEASED)),
        run.c.id == then.c.run,
        ~is_dead(run),
    )


#: The condition that an identity was shown something else since: one or two visits, see `Seen.was`.
is_old = sa.exists().where(
    *_follows(_later, _later_run, schema.sightings),
    sa.or_(_later_run.c.complete, sa.exists().where(*_follows(_last, _last_run, _later))),
)


def _shown() -> list[sa.ColumnElement[Any]]:
    """The columns of :class:`Sighting`, of sightings with their claims and runs."""
    own = {
        "url": schema.url_of(schema.sightings),
        "made": _claim.run,
        "digest": sa.func.coalesce(_row.digest, _claim.digest),
        "text_digest": sa.func.coalesce(_row.text_digest, _claim.text_digest),
        "facts": sa.func.coalesce(_row.facts, _claim.facts),
        "of_claim": _row.text_digest.is_(None),
        "is_complete": _run.complete,
        "is_absent": sa.false(),
    }
    return [own.get(name, _row.get(name)).label(name) for name in Sighting._fields]  # type: ignore[union-attr]


_age = sa.func.dense_rank().over(partition_by=_row.identity, order_by=_row.visit.desc())
_lately = (
    sa.select(*_shown(), _age.label("age"))
    .select_from(_with_claims)
    .where(_here, is_in(_row.identity, "identities"), _counts, is_valid())
    .where(_row.visit <= sa.bindparam("visit"))
    .subquery()
)
#: The query for what identities were shown lately, up to a visit, beside the counter. In one
#: statement: what is written afterwards changes the counter.
of_identities = (
    sa.select(schema.namespaces.c.counter, *(_lately.c[name] for name in Sighting._fields))
    .select_from(schema.namespaces.outerjoin(_lately, _lately.c.age <= 4))
    .where(schema.namespaces.c.id == sa.bindparam("namespace"))
    .order_by(_lately.c.id)
)
#: The query for the sightings by which claims are met in a visit, or by runs of other spiders.
meeting = (
    sa.select(*_shown())
    .select_from(_with_claims)
    .where(_here, is_in(_row.claim, "ids"), _row.meets == 1, _counts)
    .where(sa.or_(_row.visit == sa.bindparam("visit"), is_in(_row.run, "others")))
    .order_by(_row.id)
)
#: The query for the identities that may have been shown a claim last, before a visit.
elsewhere = (
    sa.select(_row.identity)
    .select_from(_with_runs)
    .where(_here, _row.claim == sa.bindparam("claim"), _row.visit < sa.bindparam("visit"))
    .where(_row.status.not_in(ABSENT), _counts, ~is_old)
    .order_by(_row.meets.desc(), _row.visit.desc(), _row.id.desc())
    .limit(_ELSEWHERE)
)
#: The query for what was met as copies of claims, with the facts that they showed.
copies = (
    sa.select(_row.claim, _row.identity, schema.url_of(schema.sightings), _row.listing, _row.facts)
    .select_from(_with_runs)
    .where(_here, is_in(_row.claim, "ids"), _row.id != _row.claim, _counts)
    .where(_row.visit >= sa.bindparam("since"))
    .limit(COPIES)
)
