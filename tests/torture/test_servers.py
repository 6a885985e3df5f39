"""Databases that go away under a crawl, and come back."""

from __future__ import annotations

import random
import time

import pytest
from servers import database_on, own_server
from torture.pages import EVERY, PATHS
from torture.rows import Cases
from torture.scene import at_a_moment

#: A crawl that is there when the server comes back: it fetches no more than it gets rid of.
LASTING = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    "DOWNLOAD_DELAY": 0.06,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 4096,
}
TIMEOUT = 2


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request):
    server = own_server(request.param)
    yield server
    server.revive()


def test_a_server_that_is_soon_back(scene, table, seeds, server):
    """Outages that are shorter than the timeout are waited for: everything is checked."""
    engine = server.url.get_backend_name()
    cases = Cases()
    outages = 0
    for seed in seeds():
        with database_on(server.url) as url:
            chance, here = random.Random(seed), scene(url)
            run = here.start(seed, **LASTING)
            for go in [server.kill, server.kill, server.kill, server.stop, server.freeze]:
                at_a_moment(here, run, chance, PATHS[: len(PATHS) // 12])
                outages += run.process.is_alive()
                go()
                time.sleep(chance.random() / 2)
                server.revive()
            run.wait()
            here.crawl(seed + 100, SIMHASH_KNOWN="drop")
            cases.append(here.row(f"{engine} killed 3 times, stopped, frozen: soon back", EVERY))
    assert cases.total(table)[3:] == (0, 0, 0, 0)
    assert outages == 5 * len(cases)


def test_a_server_that_is_away_for_longer_than_the_timeout(scene, table, seeds, server, is_long):
    """What can't be checked is stored, and counted; no page that was checked is kept twice."""
    engine = server.url.get_backend_name()
    ways = {"killed": server.kill, "stopped": server.stop, "frozen": server.freeze}
    cases = {how: Cases() for how in (ways if is_long else ["killed"])}
    for seed in seeds():
        for how, rows in cases.items():
            with database_on(server.url) as url:
                chance, here = random.Random(seed), scene(url)
                run = here.start(seed, SIMHASH_TIMEOUT=TIMEOUT, **LASTING)
                at_a_moment(here, run, chance, PATHS[: len(PATHS) // 2])
                ways[how]()
                time.sleep(TIMEOUT + 1 + chance.random())
                server.revive()
                run.wait()
                assert run.stats.get("log_count/ERROR", 0) <= 3
                here.crawl(seed + 100, SIMHASH_KNOWN="drop")
                rows.append(here.row(f"{engine} {how}, away for longer than the timeout", EVERY))
    for rows in cases.values():
        assert rows.total(table)[3:6] == (0, 0, 0)
        assert all(row.unchecked for row in rows)
