"""Crawls that are stopped: by a signal, by two of them, by a setting, to go on later."""

from __future__ import annotations

import random
import signal
import time
from contextlib import nullcontext

import pytest
from torture.pages import EVERY, GROUPS
from torture.rows import Cases
from torture.scene import at_a_moment

TIMEOUT = 5


@pytest.mark.parametrize("at_once", [False, True])
def test_interrupted_twice(scene, table, seeds, at_once):
    """The one bound on time that is promised: 5 s and the timeout of the index.

    Two signals that are sent at once arrive as one now and then. The crawl then ends in order, and
    what can't be checked because the database does not answer is stored. Its log says which.
    """
    cases = Cases()
    for seed in seeds(2):
        chance, here = random.Random(seed), scene()
        run = here.start(seed, SIMHASH_TIMEOUT=TIMEOUT)
        at_a_moment(here, run, chance)
        # Every other time the database does not answer any more.
        with here.locked() if seed % 2 else nullcontext():
            run.signal(signal.SIGINT)
            if not at_once:
                run.wait_for("Received SIGINT")
                time.sleep(0.02 + chance.random() * 0.1)
            run.signal(signal.SIGINT)
            started = time.monotonic()
            run.wait()
        is_forced = "SIGINT twice" in run.log
        assert time.monotonic() - started < 5 + TIMEOUT * (1 if is_forced else 2)
        here.crawl(seed + 100, SIMHASH_KNOWN="drop")
        row = here.row("SIGINT twice, at once" if at_once else "SIGINT twice", EVERY)
        assert row.unchecked == 0 or (seed % 2 and not is_forced)
        cases.append(row)
    assert cases.total(table)[3:6] == (0, 0, 0)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "CLOSESPIDER_ITEMCOUNT"])
def test_stopped_once(scene, table, seeds, how):
    """What is in flight is delivered, and stands."""
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        if how == "CLOSESPIDER_ITEMCOUNT":
            run = here.start(seed, CLOSESPIDER_ITEMCOUNT=chance.randint(1, GROUPS))
        else:
            run = here.start(seed)
            at_a_moment(here, run, chance)
            run.signal(getattr(signal, how))
        run.wait()
        here.crawl(seed + 100, SIMHASH_KNOWN="drop")
        assert "Spider closed" in run.log
        assert {run.process.pid for run in here.runs} == here.settled()
        cases.append(here.row(f"{how} once", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_paused_and_resumed(scene, table, seeds):
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        for _ in range(2):
            run = here.start(seed, JOBDIR=str(here.folder / "job"))
            at_a_moment(here, run, chance)
            run.signal(signal.SIGINT)
            run.wait()
        here.crawl(seed, JOBDIR=str(here.folder / "job"), SIMHASH_KNOWN="drop")
        cases.append(here.row("JOBDIR, paused twice and resumed", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
