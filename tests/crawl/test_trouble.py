"""Crawls with a database, feeds or neighbours in trouble: nothing is lost, all is reported."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import psutil
import pytest
from loopback import InPhases, PageSpider, crawl, error_lines, in_batch, path_of, prose
from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import deferred_f_from_coro_f
from sqlalchemy import Engine, event
from stored import rows_of

from scrapy_simhash import Index
from scrapy_simhash.crawl.quarantine import unpack
from scrapy_simhash.db.transactions import Database

GROUPS, COPIES = 12, 3
PATHS = in_batch(GROUPS, COPIES)


@pytest.fixture
def settings(database):
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{database}"}


# A database that does not answer


NOBODY_THERE = {
    "SIMHASH_DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/none",
    "SIMHASH_TIMEOUT": 1,
}


@deferred_f_from_coro_f
async def test_without_an_answer_every_item_is_stored_and_one_error_logged(urls, caplog):
    caplog.set_level("INFO")
    done = await crawl(PageSpider, NOBODY_THERE, urls)
    assert done.urls == sorted(PATHS)
    assert done.stats["failed_open"] == done.stats["checked"] == len(PATHS)
    assert done.reason == "finished"
    (line,) = error_lines(caplog)
    assert "The index can't be used, storing items unchecked" in line
    assert (
        caplog.text.count("36 items: 36 stored (36 not checked: see the ERROR line), 0 left out")
        == 1
    )


@deferred_f_from_coro_f
async def test_an_index_that_is_lost_closes_the_crawl_if_that_is_wanted(database, settings, urls):
    wanted = {"SIMHASH_ON_ERROR": "close", "SIMHASH_TIMEOUT": 2, "CONCURRENT_REQUESTS": 1}
    lock = locked(database)
    try:
        phases = [lambda: None, lock.__enter__, lambda: None]
        done = await crawl(InPhases, settings | wanted, phases, urls)
    finally:
        lock.__exit__(None, None, None)
    assert done.reason == "simhash_index_unavailable"
    assert done.stats["failed_open"] > 0
    assert len(done.items) == GROUPS + done.stats["failed_open"] < 3 * GROUPS


def failing_extractor(root):
    raise LookupError("an error in an extractor")


@deferred_f_from_coro_f
async def test_an_extractor_of_ones_own_that_fails_costs_no_item(settings, urls, caplog):
    done = await crawl(
        PageSpider, settings | {"SIMHASH_EXTRACTOR": f"{__name__}.failing_extractor"}, urls
    )
    assert done.stats["failed_open"] == len(done.items) == len(PATHS)
    (line,) = error_lines(caplog)
    assert "an error in an extractor" in line


@deferred_f_from_coro_f
async def test_another_scheme_in_a_namespace_of_single_pages_closes_the_crawl(
    settings, urls, caplog
):
    """What else they are in can't be known at the start."""
    caplog.set_level("INFO")
    await crawl(PageSpider, settings | {"SIMHASH_NAMESPACE": "other"}, urls)
    requests = [Request(url, meta={"simhash_namespace": "other"}) for url in urls]
    done = await crawl(PageSpider, settings | {"SIMHASH_DISTANCE": 3}, requests)
    assert done.reason == "simhash_index_mismatch"
    assert len(done.items) == done.stats["failed_open"] == done.stats["checked"] > 0
    (line,) = error_lines(caplog)
    assert "scrapy simhash reset --namespace other" in line
    assert "not checked: see the ERROR line)" in caplog.text
    assert "did not answer" not in caplog.text


# A database that fails in the middle of a crawl


@contextmanager
def locked(database):
    with closing(sqlite3.connect(database, timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@deferred_f_from_coro_f
async def test_locked_at_the_end_the_crawl_ends_without_its_report(
    database, settings, urls, tmp_path, caplog
):
    lock = locked(database)

    class Spider(PageSpider):
        def closed(self, reason):
            lock.__enter__()

    report = tmp_path / "report.html"
    settings = settings | {"SIMHASH_TIMEOUT": 3, "SIMHASH_REPORT": str(report)}
    try:
        done = await crawl(Spider, settings, urls)
    finally:
        lock.__exit__(None, None, None)
    assert len(done.items) == GROUPS
    (line,) = error_lines(caplog)
    assert "This run counts as crashed" in line
    assert not report.exists()
    assert rows_of(database, "SELECT settled FROM simhash_runs") == [(0,)]


@deferred_f_from_coro_f
async def test_on_a_full_disk_what_can_not_be_claimed_is_stored(database, settings, urls):
    await crawl(PageSpider, settings, urls[:1])
    ((pages,),) = rows_of(database, "PRAGMA page_count")

    def fill(connection, _record):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", fill)
    try:
        done = await crawl(PageSpider, settings, urls)
    finally:
        event.remove(Engine, "connect", fill)
    kept = {path.split("/")[1] for path in done.urls}
    assert kept == {str(group) for group in range(GROUPS)}
    assert done.stats["failed_open"] > 0
    assert done.errors <= 2
    after = await crawl(PageSpider, settings | {"SIMHASH_KNOWN": "drop"}, urls)
    assert after.errors == 0, "with room again it goes on"


@deferred_f_from_coro_f
async def test_a_namespace_that_is_reset_meanwhile_starts_again(database, settings, urls):
    from scrapy_simhash.index.upkeep import reset_namespace

    def reset():
        opened = Database(settings["SIMHASH_DATABASE_URL"])
        reset_namespace(opened, "pages")
        opened.close()

    phases = [lambda: None, reset, lambda: None]
    done = await crawl(InPhases, settings, phases, urls)
    assert {path.split("/")[1] for path in done.urls} == {str(group) for group in range(GROUPS)}
    assert "failed_open" not in done.stats
    # What was stored before is forgotten, what is stored after it is not.
    assert (done.stats["unique"], done.stats["duplicates"]) == (2 * GROUPS, GROUPS)
    assert rows_of(database, "SELECT count(*) FROM simhash_claims WHERE state = 1") == [(GROUPS,)]


@deferred_f_from_coro_f
async def test_a_crawl_whose_run_is_another_ones_since_a_restoration_stores_everything(
    database, settings, urls, monkeypatch, caplog
):
    """A database restored from a backup gives the number of a run to a later one."""
    monkeypatch.setattr("scrapy_simhash.index.runs.HEARTBEAT", 0.0)

    def restore():
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE simhash_runs SET process = 'another', heartbeat = 7")

    done = await crawl(InPhases, settings, [lambda: None, restore, lambda: None], urls)
    assert done.stats["failed_open"] == 2 * GROUPS
    assert done.reason == "finished"
    assert caplog.text.count("restored from a backup") == 2
    found = "SELECT heartbeat, settled, recovered, closed FROM simhash_runs"
    assert rows_of(database, found) == [(7, 0, None, None)]


# Other crawls on the same database

OTHER = """
import sys
from scrapy_simhash import Index
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index.runs import Run

database = Database(sys.argv[1])
index = Index(database, namespace="pages", run=Run.open(database, on_crash=sys.argv[4]))
confirmed = index.claim(sys.argv[2], key="confirmed", url="http://other/confirmed")
index.confirm(confirmed)
index.claim(sys.argv[3], key="pending", url="http://other/pending")
print("claimed", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_crawl(settings, on_crash="release"):
    """A process that has claimed two pages, and stored one of them."""
    url = settings["SIMHASH_DATABASE_URL"]
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, url, prose(0), prose(1), on_crash],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"claimed\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("outcome", ["confirm", "release"])
@deferred_f_from_coro_f
async def test_a_duplicate_of_what_pends_elsewhere_is_kept_and_becomes_an_orphan_if_it_is_released(
    database, settings, site, outcome
):
    with Index(settings["SIMHASH_DATABASE_URL"], namespace="pages") as index:
        pending = index.claim(prose(1), key="other", url="http://other/")
        done = await crawl(PageSpider, settings, [f"{site}/1/0"])
        assert done.items == []
        query = "SELECT claim, orphaned, item, item_type FROM simhash_sightings WHERE action != ''"
        ((claim, orphaned, item, kind),) = rows_of(database, query)
        assert (claim, orphaned, kind) == (pending.claim.id, 0, "builtins.dict")
        assert unpack(item) == {"url": f"{site}/1/0"}
        getattr(index, outcome)(pending)
    ((_, orphaned, _, _),) = rows_of(database, query)
    assert orphaned == (outcome == "release")


@pytest.mark.parametrize("on_crash", ["release", "keep"])
@deferred_f_from_coro_f
async def test_what_a_killed_crawl_claimed_is_released(database, settings, site, on_crash):
    """And what was dropped against it while it lived is an orphan. What it wanted itself counts."""
    pages = [f"{site}/0/0", f"{site}/1/0"]
    with another_crawl(settings, on_crash) as process:
        meanwhile = await crawl(PageSpider, settings, pages)
        assert meanwhile.items == []
        process.kill()
        process.wait()
    other = {"release": "keep", "keep": "release"}[on_crash]
    after = await crawl(
        PageSpider, settings | {"SIMHASH_ON_CRASH": other}, [url + "?again" for url in pages]
    )
    recovered = {"release": ["/0/0?again", "/1/0?again"], "keep": ["/1/0?again"]}[on_crash]
    assert after.urls == recovered
    assert after.stats["claims/recovered"] == len(recovered)
    orphans = rows_of(database, "SELECT url FROM simhash_sightings WHERE orphaned ORDER BY url")
    assert [path_of(url) + "?again" for (url,) in orphans] == recovered


@deferred_f_from_coro_f
async def test_a_live_crawl_is_not_robbed(settings, site, monkeypatch):
    """Not even when the clock was set, and with it the boot time that the system reports."""
    booted = psutil.boot_time()
    with another_crawl(settings):
        monkeypatch.setattr("psutil.boot_time", lambda: booted + 100)
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted + 100)
        done = await crawl(PageSpider, settings, [f"{site}/0/0", f"{site}/1/0"])
    assert done.items == []
    assert "claims/recovered" not in done.stats


@deferred_f_from_coro_f
async def test_a_crawl_that_nobody_has_waited_for_is_dead(settings, site):
    with another_crawl(settings) as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        done = await crawl(PageSpider, settings, [f"{site}/0/0", f"{site}/1/0"])
    assert done.urls == ["/0/0", "/1/0"]
    assert done.stats["claims/recovered"] == 2


@deferred_f_from_coro_f
async def test_a_crawl_that_is_killed_meanwhile_is_no_obstacle_any_more(
    database, settings, urls, monkeypatch, caplog
):
    """A live crawl looks for dead ones with each heartbeat, not only when it opens."""
    monkeypatch.setattr("scrapy_simhash.index.runs.HEARTBEAT", 0.05)
    with another_crawl(settings) as process:

        def kill():
            process.kill()
            process.wait()
            time.sleep(1)

        done = await crawl(InPhases, settings, [lambda: None, kill, lambda: None], urls)
    assert sorted(path.split("/")[1] for path in done.urls) == sorted(map(str, range(GROUPS)))
    assert done.stats["claims/recovered"] == done.stats["orphans"] == 2
    (warning,) = [line for line in caplog.messages if "restore --orphans" in line]
    assert "of a crawl that later crashed: 2. " in warning
    orphans = rows_of(database, "SELECT url FROM simhash_sightings WHERE orphaned ORDER BY url")
    assert [path_of(url) for (url,) in orphans] == ["/0/0", "/1/0"]


# Other components


@deferred_f_from_coro_f
async def test_an_error_in_counting_costs_no_item(settings, site, monkeypatch, caplog):
    count = StatsCollector.inc_value

    def fail(collector, name, *given):
        if name == "simhash/duplicates/same_site":
            raise ConnectionError("the stats are kept elsewhere")
        count(collector, name, *given)

    monkeypatch.setattr(StatsCollector, "inc_value", fail)
    settings = settings | {"CONCURRENT_REQUESTS": 1}
    done = await crawl(PageSpider, settings, [f"{site}/0/{copy}" for copy in range(COPIES)])
    assert done.urls == ["/0/0"]
    assert len(done.drops) == COPIES - 1, "they are in quarantine, as if all was counted"
    (line,) = error_lines(caplog)
    assert "Counting failed" in line


@pytest.mark.parametrize(
    "stop", [{"CLOSESPIDER_ITEMCOUNT": 3}, {"CLOSESPIDER_PAGECOUNT": 5}], ids=str
)
@deferred_f_from_coro_f
async def test_a_crawl_that_is_closed_early_is_settled(database, settings, urls, stop):
    done = await crawl(PageSpider, settings | stop, urls)
    assert done.reason == next(iter(stop)).lower()
    assert rows_of(database, "SELECT settled, reason FROM simhash_runs") == [(1, done.reason)]
    assert done.stats["claims/open"] == 0
    again = await crawl(PageSpider, settings | {"SIMHASH_KNOWN": "drop"}, urls)
    kept = sorted(path.split("/")[1] for path in done.urls + again.urls)
    assert kept == sorted(map(str, range(GROUPS)))
