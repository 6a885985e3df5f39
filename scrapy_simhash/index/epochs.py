"""Which runs are one visit, which claims are current in it, and whether it met everything."""

from __future__ import annotations

from sqlalchemy import Connection, and_, func, or_, select

from scrapy_simhash.db import schema
from scrapy_simhash.index.visits import Visits


def continued(connection: Connection, run: int) -> int | None:
    """The epoch of the last run like this one, if this one continues its visit.

    A crawl with a JOBDIR goes on until it has finished; and what a crashed run stored may be kept.
    """
    row, mine = schema.runs.c, schema.runs.alias("mine")
    alike = (row[name] == mine.c[name] for name in ("spider", "job", "arguments"))
    last = connection.execute(
        select(row.epoch, row.job, row.reason, row.closed, row.on_crash)
        .where(mine.c.id == run, *alike, row.id < run)
        .order_by(row.id.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return None
    is_kept = last.closed is None and last.on_crash == "keep"
    goes_on = last.job and last.reason != "finished"
    return int(last.epoch) if is_kept or goes_on else None


def read_visits(connection: Connection, run: int, epoch: int) -> Visits:
    """Which claims are current for a run of an epoch."""
    row, mine = schema.runs.c, schema.runs.alias("mine")
    # What a crashed run has stored may be kept.
    is_kept = and_(row.recovered.is_not(None), row.on_crash == "keep")
    last = (
        select(row.spider, func.max(row.epoch).label("epoch"))
        .where(mine.c.id == run, row.spider != mine.c.spider, or_(row.settled, is_kept))
        .group_by(row.spider)
        .subquery()
    )
    others = select(row.id).where(row.spider == last.c.spider, row.epoch >= last.c.epoch)
    dead = select(row.id).where(
        row.epoch == epoch, row.recovered.is_not(None), row.on_crash == "release"
    )
    found = (frozenset(connection.execute(one).scalars()) for one in (others, dead))
    return Visits(epoch, *found)


def is_complete(connection: Connection, run: int) -> bool:
    """Whether a visit has ended with this run, and met everything that it was to meet."""
    row, mine = schema.runs.c, schema.runs.alias("mine")
    others = select(row.id, row.complete, row.closed, row.reason).where(
        mine.c.id == run, row.epoch == mine.c.epoch, row.spider == mine.c.spider
    )
    return all(
        one.complete and one.closed and (one.id != run or one.reason == "finished")
        for one in connection.execute(others)
    )
