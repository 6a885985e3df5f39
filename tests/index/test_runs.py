"""Runs: who lives, who is dead, and what becomes of what they left."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest
from claims import rows
from servers import ENGINES
from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index import recovery
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.recovery import HEARTBEAT, LEASE, Recovery
from scrapy_simhash.index.runs import Run

pytestmark = pytest.mark.parametrize("engine", ENGINES)

TEXT = "a text with a number of words, enough of them to be compared by its distance"
OTHER = "something else that nobody would ever take for the first one, whatever the limit"
#: The name of something that was done by a process that is no more.
GONE = "999999999 0.0 0"


def crashed(db: Database, *, on_crash: Any = "release", **columns: Any) -> Index:
    """The index of a run with one confirmed and one pending claim, whose process is no more."""
    run = Run.open(db, on_crash=on_crash)
    index = Index(db, run=run)
    index.confirm(index.claim(TEXT, key="confirmed"))
    index.claim(OTHER, key="pending")
    given = {"process": GONE, **columns}
    run.mark(**given)
    run.process = given["process"]
    return index


def taken_for_dead(db: Database) -> tuple[Run, Run, Index]:
    """A run that was silent, the one that judged it, and its index, with a confirmed claim."""
    run, judge = Run.open(db), Run.open(db)
    index = Index(db, run=run)
    index.confirm(index.claim(TEXT, key="a"))
    run.mark(host="elsewhere", heartbeat=0.0)
    judge.recovery.look(elsewhere=True)
    return run, judge, index


def row(db: Database, run: Run) -> Any:
    return db.read(
        lambda connection: connection.execute(
            select(schema.runs).where(schema.runs.c.id == run.id)
        ).one()
    )


def deleted(run: Run) -> int:
    """How many claims of dead runs are deleted until none is left."""
    while run.recovery.clear():
        pass
    return run.recovery.claims


def kind(index: Index, text: str, key: str = "") -> str:
    return index.claim(text, key=key or text).kind


def test_what_a_dead_process_left_counts_no_more_and_is_deleted(db: Database) -> None:
    index = crashed(db)
    run = Run.open(db)
    assert run.recovery.runs == [index.run.id]
    assert run.recovery.claims == 0
    assert rows(db, schema.claims) == 2, "the rows are deleted later"
    assert row(db, index.run).recovered is not None
    fresh = Index(db, run=run)
    assert kind(fresh, TEXT) == "unique"
    assert kind(fresh, OTHER) == "unique"
    assert deleted(run) == 2
    assert len(fresh) == 2
    again = Run.open(db)
    assert again.recovery.runs == [], "once is enough"
    assert not again.recovery.has_work


@pytest.mark.parametrize("on_crash", ["keep", "release"])
def test_a_visit_goes_on_if_what_its_dead_run_stored_is_kept(db: Database, on_crash: str) -> None:
    index = crashed(db, on_crash=on_crash)
    assert (Run.open(db).visit == index.run.visit) is (on_crash == "keep")


def test_a_process_number_that_was_used_again_is_not_the_run(db: Database) -> None:
    index = crashed(db, process=f"{os.getppid()} -5.0 0")
    assert Run.open(db).recovery.runs == [index.run.id]


@pytest.mark.parametrize(
    "act",
    [lambda run: run.close(settled=True, reason="finished"), lambda run: run.mark(heartbeat=1.0)],
    ids=["ends", "sends a heartbeat"],
)
def test_a_run_that_acts_while_it_is_judged_keeps_what_it_has(
    db: Database, monkeypatch: pytest.MonkeyPatch, act: Any
) -> None:
    """Its row is read before, and its process looked for when that is gone."""
    living = Run.open(db)
    index = Index(db, run=living)
    index.confirm(index.claim(TEXT, key="a"))
    monkeypatch.setattr("scrapy_simhash.index.recovery.is_alive", lambda _name: bool(act(living)))
    run = Run.open(db)
    assert run.recovery.runs == []
    assert kind(Index(db, run=run), TEXT) == "duplicate"


@pytest.mark.parametrize("silence", [-LEASE - 20, -LEASE / 2, LEASE - 20, LEASE + 20])
def test_a_run_on_another_host_is_dead_once_it_was_silent(db: Database, silence: float) -> None:
    """A heartbeat in the future was written when a clock was ahead."""
    index = crashed(db, host="elsewhere", heartbeat=db.now() - silence)
    run, is_dead = Run.open(db), abs(silence) > LEASE
    assert run.recovery.runs == [], "not at once"
    assert run.visit == (run.id if is_dead else index.run.id)
    run.recovery.look(elsewhere=True)
    assert run.recovery.runs == [index.run.id] * is_dead
    assert deleted(run) == (2 if is_dead else 0)


def test_a_run_that_was_silent_itself_takes_no_other_for_dead(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage, the first one that gets through would take all others for dead."""
    index, run = crashed(db, host="elsewhere", heartbeat=0.0), Run.open(db)
    run.mark(heartbeat=db.now() - LEASE / 2)
    for dead in ([], [index.run.id]):
        monkeypatch.setattr(run, "_last_heartbeat", 0.0)
        run.send_heartbeat()
        assert run.recovery.runs == dead


def test_runs_that_open_at_once_share_a_visit_whichever_looks_first(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, second = Recovery.look, []

    def open_another_first(recovery: Recovery) -> None:
        if not second:
            second.append(None)
            second[:] = [Run.open(db)]
        look(recovery)

    monkeypatch.setattr(Recovery, "look", open_another_first)
    first = Run.open(db)
    assert first.visit == second[0].visit
    third = Run.open(db)
    assert third.visit == first.visit
    for run in (first, *second, third):
        run.close(settled=True, reason="finished")
    assert Run.open(db).visit > first.visit


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_set_takes_no_live_run_for_dead(
    db: Database, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The clock of the database, whichever way."""
    living, judge = Run.open(db), Run.open(db)
    living.mark(host="elsewhere")
    now = db.now()
    for passed in range(0, 200, 5):
        shown = now + passed + step * (passed > LEASE)
        monkeypatch.setattr("time.time", lambda passed=passed: now + passed)
        monkeypatch.setattr(db, "clock", lambda _, shown=shown: shown)
        judge.send_heartbeat()
        if passed % HEARTBEAT == 0:
            living.send_heartbeat()
    assert judge.recovery.runs == []
    assert row(db, living).recovered is None


def test_an_index_with_a_run_of_its_own_sends_heartbeats(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(db)
    index.claim(TEXT, key="a")
    first = row(db, index.run)
    index.claim(TEXT, key="b")
    assert row(db, index.run).heartbeat == first.heartbeat, "not with every claim"
    monkeypatch.setattr(index.run, "_last_heartbeat", index.run._last_heartbeat - HEARTBEAT)
    index.claim(TEXT, key="c")
    assert row(db, index.run).heartbeat > first.heartbeat


@pytest.mark.parametrize(("on_crash", "left"), [("release", 0), ("keep", 1)])
def test_what_closed_without_having_stored_is_released(
    db: Database, on_crash: str, left: int
) -> None:
    index = crashed(db, on_crash=on_crash)
    index.run.close(settled=False, reason="the feed failed")
    assert len(index) == left
    assert rows(db, schema.claims) == left
    assert Run.open(db).recovery.runs == []


def test_what_closing_has_no_time_to_delete_is_left_to_others(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = crashed(db)
    monkeypatch.setattr("scrapy_simhash.index.recovery.Recovery.clear", lambda *_: True)
    index.run.close(settled=False, reason="the feed failed")
    monkeypatch.undo()
    assert rows(db, schema.claims) == 2
    run = Run.open(db)
    assert kind(Index(db, run=run), TEXT) == "unique"
    assert deleted(run) == 2


def test_what_dead_runs_left_is_deleted_before_anything_is_claimed(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a claim would be made that nobody hears of."""

    def fail() -> bool:
        raise IndexUnavailable("locked")

    index = Index(db)
    with monkeypatch.context() as patch:
        patch.setattr(index.run.recovery, "clear", fail)
        with pytest.raises(IndexUnavailable):
            index.claim(TEXT, key="a")
    assert rows(db, schema.claims) == 0
    assert kind(index, TEXT) == "unique"


@pytest.mark.parametrize("end", ["abandoned", "failed to close", "forgotten"])
def test_a_run_that_never_closed_is_dead_though_its_process_lives(
    db: Database, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.open(db)
    index = Index(db, run=run)
    index.confirm(index.claim(TEXT, key="a"))
    number = run.id
    assert Run.open(db).recovery.runs == []
    if end == "abandoned":
        run.abandon()
    elif end == "failed to close":

        def fail(**_columns: Any) -> None:
            raise IndexUnavailable("locked")

        monkeypatch.setattr(run, "mark", fail)
        with pytest.raises(IndexUnavailable):
            run.close(settled=True, reason="finished")
    else:
        del run, index
        gc.collect()
    after = Run.open(db)
    assert number in after.recovery.runs
    assert kind(Index(db, run=after), TEXT) == "unique"


def test_a_run_that_was_taken_for_dead_can_still_confirm(db: Database) -> None:
    run = Run.open(db)
    index = Index(db, run=run)
    verdict = index.claim(TEXT, key="a")
    run.mark(host="elsewhere", heartbeat=0.0)
    judge = Run.open(db)
    judge.recovery.look(elsewhere=True)
    assert deleted(judge) == 1
    run._last_heartbeat = 0.0
    run.send_heartbeat()
    index.confirm(verdict)
    assert kind(index, TEXT, "b") == "duplicate"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_run_that_wakes_is_a_run_again(
    db: Database, is_deleted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What it claims from then on counts, and is released if it dies after all."""
    run, judge, index = taken_for_dead(db)
    assert judge.recovery.runs == [run.id]
    if is_deleted:
        assert deleted(judge) == 1
    run._last_heartbeat = 0.0
    run.send_heartbeat()
    assert "was declared dead" in caplog.text
    assert len(index) == (0 if is_deleted else 1), "what is left of it counts again"
    verdict = index.claim(OTHER, key="b")
    assert verdict.kind == "unique"
    index.confirm(verdict)
    assert kind(Index(db, run=judge), OTHER, "c") == "duplicate"
    deleted(judge)
    assert len(index) == (1 if is_deleted else 2)
    run.mark(process=GONE, host=recovery.host_id())
    after = Run.open(db)
    assert after.recovery.runs == [run.id]
    assert kind(Index(db, run=after), OTHER, "d") == "unique"


def test_what_a_run_that_wakes_has_claimed_is_deleted_no_further(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, judge, index = taken_for_dead(db)
    forget = judge.recovery._delete

    def wake_first(*of_run: int) -> int:
        run._last_heartbeat = 0.0
        run.send_heartbeat()
        return forget(*of_run)

    monkeypatch.setattr(judge.recovery, "_delete", wake_first)
    assert deleted(judge) == 0
    assert len(index) == 1


def test_a_recovery_that_is_interrupted_goes_on(db: Database) -> None:
    crashed(db)
    first = Run.open(db)
    assert first.recovery.has_work
    first.abandon()
    second = Run.open(db)
    assert second.recovery.runs == [first.id]
    assert deleted(second) == 2
    assert rows(db, schema.keys) == 0
