"""What a visit did not meet: items that are missing, and those that their site says are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.statements import is_in
from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.index.batch import exact_key, slotted
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.queries import claims_of, is_dead, is_valid
from scrapy_simhash.index.runs import Run, last_complete, read_visits
from scrapy_simhash.index.seen import ABSENT, RELEASED
from scrapy_simhash.index.verdict import ClaimRow, came_of
from scrapy_simhash.index.writer import in_parts

_row, _claim = schema.sightings.c, schema.claims.c

# What equal items have in common.
_SHOWN = ("digest", "text_digest", "compared_by")
# What the sighting of an absence has of the last sighting.
_KEPT = ("namespace", "identity", "claim", "key", "url", "compared_by", "origin", "since")


_with_claims = schema.sightings.join(schema.runs, schema.runs.c.id == _row.run).outerjoin(
    schema.claims, sa.and_(_claim.namespace == _row.namespace, _claim.id == _row.claim)
)


def find_missing(
    index: Index, run: Run, gone: Collection[int] = (), *, everything: bool
) -> Counter[str]:
    """Record what is missing or gone as sightings; returns how many of each.

    Missing is what the last complete visit of the same spider and arguments has met, if this visit,
    which ends with a run, met `everything` that the spider finds, but none of the identities that
    showed it, nothing equal to it, and nothing that came of it. Pages that the site says are `gone`
    (404, 410), given by the hashes of their keys, need no complete visit.
    """
    if not (everything or gone):
        return Counter()
    found = index.database.read(partial(_find, index, run, gone, everything=everything))
    in_parts(run.transact, found, partial(_record, index, run))
    return Counter(one["status"] for one in found)


def _find(
    index: Index,
    run: Run,
    gone: Collection[int],
    connection: sa.Connection,
    *,
    everything: bool,
) -> list[dict[str, Any]]:
    """The rows of what is absent, without their numbers: one of each claim."""
    row = schema.runs.c
    # Those of the last heartbeat may not know that another spider's visit has ended since.
    visits = read_visits(connection, run.id, run.visit, index.id)
    is_now = sa.or_(row.visit == run.visit, row.id.in_(visits.others))
    now = connection.scalars(sa.select(row.id).where(is_now, ~is_dead(schema.runs))).all()
    _, before = last_complete(connection, run.id, index.id)
    shown = [one.id for one in index.lookup.read_shown_last(connection, gone, visits)]
    found: dict[int, dict[str, Any]] = {}
    for status, condition in (
        ("missing", _row.run.in_(before if everything else [])),
        ("gone", is_in(_row.id, "gone")),
    ):
        for one in connection.execute(_unmet(index.id, run, now, condition), {"gone": shown}):
            then = max(one.then, found.get(one.claim, one._mapping)["then"])
            found[one.claim] = {**one._mapping, "status": status, "then": then}
    _join_unchanged(found)
    # Each claim once, however many copies of it went.
    is_met = sa.and_(_row.run.in_(now), _row.status.not_in(ABSENT))
    told = sa.select(_row.claim, is_met, _row.visit).where(
        *(_row.namespace == index.id, is_in(_row.claim, "claims")),
        sa.or_(is_met, _row.status.in_(ABSENT)),
    )
    for number, is_here, visit in connection.execute(told, {"claims": [*found]}):
        if number in found and (is_here or visit >= found[number]["then"]):
            del found[number]
    for number in _replaced(index, now, connection, found) if found else ():
        del found[number]
    asked = [one["digest"] for one in found.values() if one["digest"] is not None]
    met = _digests_met(index, now, visits.others, connection, asked)
    kept = [one for one in found.values() if _shown(*(one[name] for name in _SHOWN)) not in met]
    return [{name: one[name] for name in (*_KEPT, "status")} for one in kept]


def _shown(digest: bytes | None, text: int, compared_by: int) -> tuple[bytes | None, int]:
    """What an item shows: its digest and, if the text of its page stands for its own, that."""
    return digest, text if compared_by == ComparedBy.PAGE else 0


def _join_unchanged(found: dict[int, dict[str, Any]]) -> None:
    """Delete claims whose items were stored again without a change: copies may still show them."""
    for one in [*found.values()]:
        for number in came_of(ClaimRow(came_of=one["came_of"])):
            if number in found and found[number]["created"] == one["created"]:
                del found[number]


def _replaced(
    index: Index,
    runs: Sequence[int],
    connection: sa.Connection,
    found: Mapping[int, Mapping[str, Any]],
) -> set[int]:
    """The claims of what is absent that have become others since, which are met or absent."""
    row, now = schema.runs.c, schema.sightings.c
    is_later = row.visit > min(one["then"] for one in found.values())
    later = dict(connection.execute(sa.select(row.id, row.visit).where(is_later)).all())
    is_met = sa.exists().where(
        *(now.namespace == index.id, now.claim == _claim.id, now.run.in_(runs))
    )
    made = sa.select(_claim.run, _claim.came_of).where(
        *(_claim.namespace == index.id, _claim.run.in_(later), _claim.came_of.is_not(None)),
        *(sa.or_(is_met, is_in(_claim.id, "absent")), is_valid()),
    )
    became = [
        (later[run], numbers)
        for run, packed in connection.execute(made, {"absent": [*found]})
        if not found.keys().isdisjoint(numbers := came_of(ClaimRow(came_of=packed)))
    ]
    earlier = {
        one.id: (later.get(one.run, 0), {*came_of(one)})
        for one in claims_of(connection, index.id, {one for _, some in became for one in some})
    }

    replaced = set[int]()
    for visit, numbers in became:
        known = [earlier[one] for one in numbers if one in earlier]
        for number in found.keys() & numbers:
            then = found[number]["then"]
            # What had become another one by then was met beside it.
            was_before = any(made <= then and number in others for made, others in known)
            if visit > then and not was_before:
                replaced.add(number)
    return replaced


def _digests_met(
    index: Index,
    runs: Sequence[int],
    others: Collection[int],
    connection: sa.Connection,
    digests: Sequence[bytes],
) -> set[tuple[bytes | None, int]]:
    """What runs have met, if its digest is one of these; beside what has another one.

    What `others` met counts as it was stored: to read all of it would take long.
    """
    key, now = schema.keys.c, schema.sightings.c
    is_met = now.namespace == index.id, now.run.in_(runs), now.status.not_in(ABSENT)
    of_claims = sa.select(*(_claim[name] for name in _SHOWN)).where(
        *(key.namespace == index.id, is_in(key.key, "keys")),
        *(_claim.namespace == index.id, _claim.id == key.claim),
        sa.exists().where(*is_met, now.claim == key.claim, now.text_digest.is_(None)),
    )
    mine = now.run.in_({*runs}.difference(others))
    own = sa.select(*(now[name] for name in _SHOWN)).where(*is_met, mine, now.digest.is_not(None))
    keys = [slotted(index.lookup.keys.slots, exact_key(digest)) for digest in digests]
    return {
        _shown(*one)
        for query in (of_claims, own)
        for one in connection.execute(query, {"keys": keys})
    }


def _unmet(
    namespace: int, run: Run, runs: Sequence[int], condition: sa.ColumnElement[bool]
) -> sa.Select[Any]:
    """The query for what identities were shown that runs have not met."""
    now = schema.sightings.alias("now")
    # Adding 0 makes the engine search by identity or claim, not by run, which has far more rows.
    of_runs = (now.c.run + sa.literal_column("0")).in_(runs)
    is_met = now.c.namespace == namespace, of_runs, now.c.status.not_in(ABSENT)
    shown = [sa.func.coalesce(_row[name], _claim[name]).label(name) for name in _SHOWN[:2]]
    return (
        sa.select(*(_row[name] for name in _KEPT), *shown, _row.visit.label("then"))
        .add_columns(_claim.created, _claim.came_of)
        .select_from(_with_claims)
        .where(_row.namespace == namespace, condition, _row.visit < run.visit)
        .where(_row.status.not_in((*ABSENT, RELEASED)), ~is_dead(schema.runs))
        # First what takes least: of the copies of a claim, which may be many, none "meets" it.
        .where(~sa.exists().where(*is_met, now.c.claim == _row.claim, now.c.meets == 1))
        .where(~sa.exists().where(*is_met, now.c.identity == _row.identity))
        # Of several URLs that of the stored item comes last, which is the one that is told.
        .order_by(sa.func.coalesce(_claim.identity == _row.identity, sa.false()), _row.id)
    )


def _record(
    index: Index, run: Run, found: Sequence[Mapping[str, Any]], connection: sa.Connection
) -> None:
    """Record absences as sightings."""
    numbers = lock(connection, index.id, len(found)).numbers
    created = index.database.clock(connection)
    nothing = {"text_digest": 0, "run": run.id, "visit": run.visit, "created": created}
    rows = [{**nothing, **one, "id": number} for number, one in zip(numbers, found, strict=True)]
    connection.execute(sa.insert(schema.sightings), rows)
