"""What becomes of the claims of a process that died, and of those of a namespace that is reset."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from servers import ENGINES, empty_database
from torture import claimer
from torture.pages import EVERY
from torture.processes import kill, start
from torture.rows import Cases

if TYPE_CHECKING:
    from torture.scene import Scene

#: Seconds, the default: whoever releases all of them at first takes longer.
TIMEOUT = 10


def test_killed_with_many_claims(scene, table, seeds, is_long, tmp_path):
    """The next crawl does not wait for them: everything is checked, and what they held is free."""
    cases = {engine: Cases() for engine in (ENGINES if is_long else ["sqlite"])}
    for seed in seeds():
        many = 300_000 if is_long and seed % 5 == 0 else 20_000
        for engine, rows in cases.items():
            with empty_database(engine, tmp_path) as url:
                here = scene(url if engine != "sqlite" else None)
                die_with_claims(here, many)
                here.crawl(seed, SIMHASH_TIMEOUT=TIMEOUT, SIMHASH_KNOWN="drop")
                most = "300,000" if is_long else "20,000"
                rows.append(here.row(f"{engine}, killed with up to {most} claims", EVERY))
    assert {rows.total(table)[3:] for rows in cases.values()} == {(0, 0, 0, 0)}


def die_with_claims(here: Scene, many: int) -> None:
    """Let a process make claims, and kill it when it has."""
    here.folder.mkdir()
    done, log = here.folder / "done", here.folder / "claimer.log"
    process = start(claimer.hold, here.database, many, done, log=log)
    while not done.exists() and process.is_alive():
        time.sleep(0.05)
    kill(process)
    assert done.exists(), log.read_text()
