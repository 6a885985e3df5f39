"""What becomes of the claims of a process that died, and of those of a namespace that is reset."""

from __future__ import annotations

import random
import signal
import time
from contextlib import closing

from servers import ENGINES, empty_database
from torture import claimer
from torture.processes import kill, start
from torture.rows import Cases
from torture.scene import at_a_moment
from torture.site import EVERY

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.upkeep import reset_namespace

#: Seconds, the default: whoever releases all of them at first takes longer.
TIMEOUT = 10


def test_killed_with_many_claims(scene, table, seeds, is_long, tmp_path):
    """The next crawl does not wait for them: everything is checked, and what they held is free."""
    many = 300_000 if is_long else 20_000
    for engine in ENGINES if is_long else ["sqlite"]:
        cases = Cases()
        for seed in seeds():
            with empty_database(engine, tmp_path) as url:
                here = scene(url if engine != "sqlite" else None)
                here.folder.mkdir()
                done = here.folder / "done"
                log = here.folder / "claimer.log"
                process = start(claimer.hold, here.database, many, done, log=log)
                while not done.exists() and process.is_alive():
                    time.sleep(0.05)
                kill(process)
                assert done.exists(), log.read_text()
                here.crawl(seed, SIMHASH_TIMEOUT=TIMEOUT, SIMHASH_SAME_URL="drop")
                cases.append(here.row(f"{engine}, killed with {many:,} claims", EVERY))
        assert cases.total(table)[3:] == (0, 0, 0, 0)


def test_a_namespace_that_is_reset_under_a_crawl(scene, table, seeds):
    """It goes on to be checked. What it claimed before, page by page, may be stored once more."""
    cases = Cases()
    for seed in seeds():
        chance, here = random.Random(seed), scene()
        run = here.start(seed)
        at_a_moment(here, run, chance)
        here.freeze(run)
        claimed = here.claimed(run)
        with closing(Database(here.database)) as database:
            reset_namespace(database, "torture")
        run.signal(signal.SIGCONT)
        run.wait()
        here.crawl(seed + 100, SIMHASH_SAME_URL="drop")
        case = "a namespace that is reset under a crawl"
        cases.append(here.row(case, EVERY, excused={0: claimed}))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
