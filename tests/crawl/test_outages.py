"""Databases that are busy, go away and come back while a crawl runs."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from itertools import count

import pytest
from gate import gate
from loopback import InPhases, PageSpider, answering, article, crawl, error_lines, in_batch
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import empty_database
from sqlalchemy import create_engine, func, select
from stored import rows_of

from scrapy_simhash.db import schema
from scrapy_simhash.index.index import Index

GROUPS, COPIES = 12, 3
PATHS = in_batch(GROUPS, COPIES)


# Busy with others


@contextmanager
def busy(path, is_over):
    """Somebody else who writes, and leaves hardly a moment for anybody else."""

    def work():
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
            while not is_over.is_set():
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE simhash_namespaces SET counter = counter + 1")
                time.sleep(0.2)
                connection.execute("COMMIT")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@deferred_f_from_coro_f
async def test_while_the_database_is_busy_the_crawl_waits_and_fetches_no_more(tmp_path, caplog):
    """However long: what bounds it is the time in which nobody gets through."""
    # A timeout that a slow machine alone does not exceed.
    path, timeout, pages = tmp_path / "index.db", 5, 120
    is_over, fetched = threading.Event(), count()
    meanwhile = []
    others = busy(path, is_over)

    def answer(target):
        number = next(fetched)
        if number == 0:
            # Not before, or the crawl may not come to its start.
            others.__enter__()
            threading.Timer(3 * timeout, stop).start()
        return article(int(target.strip("/")) // 2)

    def stop():
        ((answered,),) = rows_of(
            path,
            "SELECT (SELECT count(*) FROM simhash_claims) + "
            "(SELECT count(*) FROM simhash_sightings WHERE action != '')",
        )
        meanwhile.append(next(fetched) - answered)
        is_over.set()

    settings = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{path}",
        "SIMHASH_TIMEOUT": timeout,
        # Eight pages, by the least that one counts.
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 8 * 1024,
    }
    await crawl(PageSpider, settings, [])
    Index(settings["SIMHASH_DATABASE_URL"]).close()
    with answering(answer) as site:
        done = await crawl(PageSpider, settings, [f"{site}/{n}" for n in range(pages)])
    others.__exit__(None, None, None)
    assert meanwhile[0] < pages / 4, "fetched, and not claimed"
    assert done.stats.get("failed_open", 0) == 0
    assert (done.stats["unique"], done.stats["duplicates"]) == (pages / 2, pages / 2)
    assert error_lines(caplog) == []


@deferred_f_from_coro_f
async def test_at_its_end_a_crawl_waits_for_a_busy_database(tmp_path, urls, caplog):
    path, timeout, is_over = tmp_path / "index.db", 4, threading.Event()
    others = busy(path, is_over)

    class Spider(PageSpider):
        def closed(self, reason):
            others.__enter__()
            threading.Timer(1.5 * timeout, is_over.set).start()

    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{path}", "SIMHASH_TIMEOUT": timeout}
    try:
        await crawl(Spider, settings, urls)
    finally:
        others.__exit__(None, None, None)
    assert error_lines(caplog) == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT settled FROM simhash_runs").fetchall() == [(1,)]


# Gone, and back again


@contextmanager
def away(how, url):
    """The URL to be used, what makes the database go away, and what makes it come back."""
    if how == "locked":
        with closing(
            sqlite3.connect(url.database, isolation_level=None, check_same_thread=False)
        ) as other:
            yield url, lambda: other.execute("BEGIN IMMEDIATE"), lambda: other.execute("ROLLBACK")
        return
    with gate(url) as door:
        yield (
            door.url,
            *((door.shut, door.open) if how == "refusing" else (door.freeze, door.thaw)),
        )


@pytest.mark.parametrize(
    ("engine", "how"),
    [("sqlite", "locked"), ("postgresql", "silent"), ("mariadb", "refusing")],
)
@deferred_f_from_coro_f
async def test_back_again_it_takes_up_what_could_not_be_written(  # noqa: PLR0917
    engine, how, tmp_path, urls, monkeypatch, caplog
):
    """The second third can't be checked; the outcomes of the first third are not forgotten."""
    monkeypatch.setattr("scrapy_simhash.crawl.thread._PAUSE", 3)
    caplog.set_level("INFO")
    claims, runs = schema.claims.c, schema.runs.c
    with empty_database(engine, tmp_path) as url, away(how, url) as (through, go, come_back):
        opened, calls = create_engine(url), count()

        def back():
            """Whether what could not be written has been written."""
            if next(calls) == 0:
                come_back()
            with opened.connect() as connection:
                confirmed = select(func.count()).where(claims.state == 1)
                return connection.scalar(confirmed) == GROUPS

        settings = {
            "SIMHASH_DATABASE_URL": through.render_as_string(hide_password=False),
            "SIMHASH_TIMEOUT": 3,
        }
        done = await crawl(InPhases, settings, [lambda: None, go, back], urls)
        with opened.connect() as connection:
            states = connection.execute(
                select(claims.state, func.count()).group_by(claims.state)
            ).all()
            settled = connection.execute(select(runs.settled)).all()
        opened.dispose()
    assert done.stats["failed_open"] == GROUPS
    assert (done.stats["unique"], done.stats["duplicates"]) == (GROUPS, GROUPS)
    assert len(done.items) == 2 * GROUPS
    assert len(error_lines(caplog)) == 1
    assert "The index answers again" in caplog.text
    assert states == [(1, GROUPS)]
    assert settled == [(True,)]
