"""Runs: who lives, who is dead, and what becomes of what they left."""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from servers import ENGINES
from sqlalchemy import func, select

from scrapy_simhash.db import schema
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index import runs
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.process import process_id
from scrapy_simhash.index.runs import HEARTBEAT, LEASE, Run
from scrapy_simhash.index.verdict import Duplicate

if TYPE_CHECKING:
    from scrapy_simhash.db.transactions import Database

pytestmark = pytest.mark.parametrize("engine", ENGINES)

TEXT = "a text with a number of words, enough of them to be compared by its distance"
OTHER = "something else that nobody would ever take for the first one, whatever the limit"


def crashed(db: Database, **columns: Any) -> Index:
    """The index of a run with one confirmed and one pending claim, whose process is no more."""
    run = Run.open(db)
    index = Index(db, run=run)
    index.confirm(index.claim(TEXT, key="confirmed"))
    index.claim(OTHER, key="pending")
    run.mark(**{"process": "999999999 0.0", **columns})
    return index


def row(db: Database, run: Run) -> Any:
    return db.read(
        lambda connection: connection.execute(
            select(schema.runs).where(schema.runs.c.id == run.id)
        ).one()
    )


def test_what_a_dead_process_left_is_released(db: Database) -> None:
    index = crashed(db)
    run = Run.open(db)
    assert run.recovery == ([index.run.id], 2)
    assert len(index) == 0
    assert row(db, index.run).recovered is not None
    fresh = Index(db, run=run)
    assert fresh.claim(TEXT, key="other").kind == "unique"
    assert fresh.claim(OTHER, key="other").kind == "unique"
    assert Run.open(db).recovery == ([], 0), "once is enough"


def test_what_it_had_confirmed_is_kept_if_so_wanted(db: Database) -> None:
    index = crashed(db)
    run = Run.open(db, on_crash="keep")
    assert run.recovery == ([index.run.id], 1)
    fresh = Index(db, run=run)
    assert fresh.claim(TEXT, key="other").kind == "duplicate"
    assert fresh.claim(OTHER, key="other").kind == "unique"


def test_a_live_run_is_never_robbed(db: Database) -> None:
    index = crashed(db, process=process_id())
    index.run.mark(heartbeat=db.now() - 100 * LEASE)
    assert Run.open(db).recovery == ([], 0)
    assert len(index) == 2


def test_a_process_number_that_was_used_again_is_not_the_run(db: Database) -> None:
    crashed(db, process=f"{os.getpid()} 12.0")
    assert Run.open(db).recovery.claims == 2


@pytest.mark.parametrize(("silence", "dead"), [(LEASE - 20, False), (LEASE + 20, True)])
def test_a_run_on_another_host_lives_as_long_as_its_lease(
    db: Database, silence: float, dead: bool
) -> None:
    crashed(db, host="elsewhere", heartbeat=db.now() - silence)
    assert Run.open(db).recovery.claims == (2 if dead else 0)


def test_a_heartbeat_renews_the_lease(db: Database) -> None:
    index = crashed(db, host="elsewhere", heartbeat=db.now() - 2 * LEASE)
    index.run.beat()
    assert Run.open(db).recovery.claims == 0


def test_an_index_with_a_run_of_its_own_gives_signs_of_life(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(db)
    index.run.mark(heartbeat=0.0)
    index.claim(TEXT, key="a")
    first = row(db, index.run).heartbeat
    assert first > db.now() - HEARTBEAT
    index.claim(TEXT, key="b")
    assert row(db, index.run).heartbeat == first, "not with every claim"
    monkeypatch.setattr("scrapy_simhash.index.index.time.monotonic", lambda: 1e12)
    index.claim(TEXT, key="c")
    assert row(db, index.run).heartbeat > first


def test_a_run_that_closed_well_is_left_alone(db: Database) -> None:
    index = crashed(db)
    index.run.close(settled=True, reason="finished", stats={"items": 1})
    assert Run.open(db).recovery == ([], 0)
    assert len(index) == 1, "what was pending is released when a run closes"
    closed = row(db, index.run)
    assert closed.reason == "finished"
    assert closed.stats == '{"items": 1}'


def test_what_closed_without_having_stored_is_released(db: Database) -> None:
    index = crashed(db)
    index.run.close(settled=False, reason="the feed failed")
    assert Run.open(db).recovery == ([index.run.id], 1)
    assert len(index) == 0


def test_closing_twice_is_closing_once(db: Database) -> None:
    run = Run.open(db)
    run.close(settled=True, reason="first")
    run.close(settled=False, reason="second")
    assert row(db, run).reason == "first"
    assert row(db, run).settled


def test_an_index_closes_the_run_it_opened_itself(db: Database) -> None:
    """On a database that it shares: otherwise what it stored would be taken for crashed."""
    with Index(db) as index:
        index.confirm(index.claim(TEXT, key="a"))
    assert row(db, index.run).settled
    mine = Run.open(db)
    Index(db, run=mine).close()
    assert row(db, mine).closed is None


def test_what_was_dropped_against_a_dead_runs_claim_is_an_orphan(db: Database) -> None:
    living = Index(db, run=Run.open(db))
    index = crashed(db)
    match = living.claim(OTHER, key="copy").match
    assert match is not None
    assert match.pending
    document = living.document(OTHER, key="copy")
    living.execute(duplicates=[Duplicate(document, match, "drop", b"item", "dict")])
    assert Run.open(db).recovery.runs == [index.run.id]
    assert db.read(lambda connection: connection.scalar(select(schema.duplicates.c.orphaned)))


def test_a_run_that_was_taken_for_dead_can_still_confirm(db: Database) -> None:
    run = Run.open(db)
    index = Index(db, run=run)
    verdict = index.claim(TEXT, key="a")
    run.mark(host="elsewhere", heartbeat=0.0)
    assert Run.open(db).recovery.claims == 1
    index.confirm(verdict)
    assert index.claim(TEXT, key="b").kind == "duplicate"


def test_a_recovery_that_is_interrupted_is_done_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = crashed(db)
    release = runs._release

    def cut(*arguments: Any, **named: Any) -> int:
        release(*arguments, **named)
        raise IndexUnavailable("power cut")

    monkeypatch.setattr(runs, "_release", cut)
    with pytest.raises(IndexUnavailable):
        Run.open(db)
    monkeypatch.undo()
    assert index.run.id in Run.open(db).recovery.runs


def test_thousands_of_claims_in_several_namespaces_are_released(db: Database) -> None:
    run = Run.open(db)
    for name in ("one", "two"):
        index = Index(db, namespace=name, run=run, candidates="blocks", distance=0)
        index.claim_many({"fingerprint": n, "key": str(n)} for n in range(1100))
    run.mark(process="999999999 0.0")
    assert Run.open(db).recovery.claims == 2200
    for table in (schema.claims, schema.keys):
        assert db.read(lambda c, t=table: c.scalar(select(func.count()).select_from(t))) == 0


def claim_and_wait(url: str, ready: Any) -> None:
    index = Index(url)
    index.confirm(index.claim(TEXT, key="a"))
    ready.set()
    signal.pause()


def test_a_process_that_was_killed_is_recovered(db: Database) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    process = spawn.Process(
        target=claim_and_wait, args=(db.url.render_as_string(hide_password=False), ready)
    )
    process.start()
    assert ready.wait(60)
    assert Run.open(db).recovery == ([], 0)
    process.kill()
    process.join()
    assert Run.open(db).recovery.claims == 1


def test_opening_a_run_whose_commit_was_answered_by_silence_makes_one_row(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    transact = db.transact_once

    def twice(work: Any, _namespace: Any = None) -> Any:
        transact(lambda connection, _: work(connection, False))
        return transact(lambda connection, _: work(connection, True))

    monkeypatch.setattr(db, "transact_once", twice)
    Run.open(db)
    monkeypatch.undo()
    assert db.read(lambda c: c.scalar(select(func.count()).select_from(schema.runs))) == 1
