"""The queries for sightings: what identities were shown, what is met, and where it was met."""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.index.invalidated import is_dead, is_valid
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.index.verdict import Sighting

# Sightings of a claim that are read to find where it was last met.
_ELSEWHERE = 16

#: Copies of a claim that are read at once: a text that many pages have is soon known as such.
COPIES = 512

_row, _claim, _run = schema.sightings.c, schema.claims.c, schema.runs.c
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


@cache
def of_identities(*, has_visits: bool) -> sa.Select[Any]:
    """The query for what identities were shown lately, up to a visit, beside the counter.

    In one statement: what is written afterwards changes the counter.
    """
    age = sa.func.dense_rank().over(partition_by=_row.identity, order_by=_row.visit.desc())
    ranked = (
        sa.select(*_shown(), age.label("age"))
        .select_from(_with_claims)
        .where(_here, is_in(_row.identity, "identities"), _counts, is_valid())
    )
    if has_visits:
        ranked = ranked.where(_row.visit <= sa.bindparam("visit"))
    rows, namespace = ranked.subquery(), schema.namespaces.c
    columns = [rows.c[name] for name in Sighting._fields]
    return (
        sa.select(namespace.counter, *columns)
        .select_from(schema.namespaces.outerjoin(rows, rows.c.age <= 4))
        .where(namespace.id == sa.bindparam("namespace"))
        .order_by(rows.c.id)
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
    sa.select(_row.claim, _row.identity, schema.url_of(schema.sightings), _row.facts, _row.visit)
    .select_from(_with_runs)
    .where(_here, is_in(_row.claim, "ids"), _row.facts.is_not(None), _counts)
    .limit(COPIES)
)
