"""Clocks that are set while crawls live, and crawls that sleep for longer than their lease."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from servers import empty_database
from torture.pages import EVERY, GROUPS, PATHS, group_of
from torture.rows import Cases
from torture.scene import at_a_moment

#: A crawl that lasts, so that others have the time to judge it.
LASTING = {"CONCURRENT_REQUESTS_PER_DOMAIN": 4, "DOWNLOAD_DELAY": 0.03}
#: How often each looks after the others, in seconds.
OFTEN = {"HEARTBEAT": 0.3}
#: And how long it has to hear nothing of one on another machine to take it for dead.
SOON = {**OFTEN, "LEASE": 2}


def set_clock(file: Path, seconds: int) -> None:
    """Set the clock of the process that looks at the file."""
    new = file.with_suffix(".new")
    new.write_text(str(seconds))
    new.replace(file)


@pytest.mark.parametrize("place", ["the same machine", "another machine"])
def test_a_clock_that_steps_by_an_hour(scene, table, seeds, tmp_path, place):
    """No crawl is taken for dead while it lives, whose clock it ever is, and which way it steps."""
    cases = Cases()
    released = 0
    for seed in seeds():
        chance = random.Random(seed)
        seconds, whose, is_early = (1 if seed & 1 else -1) * 3600, seed >> 1 & 1, seed >> 2 & 1
        # Only a server is shared by machines.
        engine = "postgresql" if place == "another machine" else "sqlite"
        with empty_database(engine, tmp_path) as url:
            here = scene(url if engine == "postgresql" else None)
            crawls = []
            with here.together():
                for number in range(2):
                    clock = tmp_path / f"{seed} {number}.clock"
                    set_clock(clock, 0)
                    host = f"machine {number}" if place == "another machine" else "machine"
                    plan = {"constants": OFTEN, "clock": str(clock), "host": host}
                    order, query = seed * 10 + number, f"?from={number}"
                    if number and is_early:
                        set_clock(tmp_path / f"{seed} {whose}.clock", seconds)
                    crawls.append(here.start(order, query=query, plan=plan, **LASTING))
                    crawls[-1].wait_for("crawl.start] INFO: Index")
            at_a_moment(here, crawls[-1], chance, PATHS[:12])
            assert all(run.process.is_alive() for run in crawls)
            set_clock(tmp_path / f"{seed} {whose}.clock", seconds)
            for run in crawls:
                run.wait()
                released += run.stats.get("simhash/claims/recovered", 0)
            cases.append(here.row(f"a clock steps by an hour, on {place}", EVERY))
            assert here.settled() == {run.process.pid for run in crawls}
    assert cases.total(table)[3:] == (0, 0, 0, 0)
    assert released == 0


def test_a_crawl_that_sleeps_and_wakes(scene, table, seeds):
    """It is taken for dead, and goes on; or is killed then.

    What it had stored before is stored. What it had claimed by then, page by page, may be stored
    once more, by others or by itself: they were right to take it for dead. All that it claims
    after it woke is as good as anybody's: not stored by others, and released if it is killed.
    """
    cases = Cases()
    half = [path for path in PATHS if int(group_of(path)) < GROUPS // 2]
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        plans = [{"constants": SOON, "host": f"machine {number}"} for number in range(2)]
        sleeper = here.start(seed * 10, plan=plans[0], **LASTING)
        at_a_moment(here, sleeper, chance, PATHS[: len(PATHS) // 3])
        here.freeze(sleeper)
        claimed = here.claimed(sleeper)
        time.sleep(SOON["LEASE"])
        here.start(seed * 10 + 1, half, query="?from=1", plan=plans[1], **LASTING).wait()
        assert here.read("SELECT count(*) FROM simhash_runs WHERE recovered > 0") == [(1,)]
        sleeper.signal(signal.SIGCONT)
        if seed % 2 == 0:
            at_a_moment(here, sleeper, chance, PATHS[: len(PATHS) // 3])
            sleeper.kill()
        sleeper.wait()
        here.crawl(seed * 10 + 2, plan=plans[0], SIMHASH_KNOWN="drop")
        cases.append(
            here.row("a crawl that sleeps, is taken for dead, wakes", EVERY, excused={0: claimed})
        )
    assert cases.total(table)[3:] == (0, 0, 0, 0)
