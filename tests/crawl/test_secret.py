"""Crawls and the secret of their database."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest
from loopback import InPhases, PageSpider, crawl, critical_lines, in_batch
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.simhash.scheme import key_part

GIVEN = "correct horse battery"
PATHS = in_batch(4, 2)


@pytest.fixture
def settings(database):
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{database}"}


@deferred_f_from_coro_f
async def test_a_database_that_was_made_with_another_one_refuses_the_crawl(settings, urls, caplog):
    caplog.set_level("DEBUG")
    done = await crawl(PageSpider, settings | {"SIMHASH_SECRET": GIVEN}, urls)
    assert done.stats["unique"] == 4
    done = await crawl(PageSpider, settings | {"SIMHASH_SECRET": "wrong horse battery"}, urls)
    assert done.reason == "simhash_index_mismatch"
    assert "checked" not in done.stats
    (line,) = critical_lines(caplog)
    assert "another secret" in line
    assert "SIMHASH_SECRET" in line
    # Without one, and with the right one, all is well.
    held = secret_of(GIVEN).hex()
    for given in (None, GIVEN):
        done = await crawl(PageSpider, settings | {"SIMHASH_SECRET": given}, urls)
        assert (done.stats["changes/unchanged"], done.stats["duplicates"]) == (8, 4)
    for shown in (GIVEN, "wrong horse", held):
        assert shown not in caplog.text
        assert shown not in str(done.crawler.stats.get_stats())


@deferred_f_from_coro_f
async def test_what_comes_before_the_secret_is_known_is_stored_unchecked(database, settings, urls):
    """It is in the database, which does not answer yet."""
    holder = sqlite3.connect(database, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    def give_back():
        holder.execute("COMMIT")
        # It is asked again after half a second.
        time.sleep(2)

    with closing(holder):
        done = await crawl(
            InPhases, settings | {"SIMHASH_TIMEOUT": 1}, [lambda: None, give_back], urls
        )
    assert len(done.items) + done.stats.get("duplicates", 0) == len(urls)
    assert done.stats["failed_open"] == len(urls) / 2
    assert done.stats["unique"] == len(urls) / 2
    with closing(Database(settings["SIMHASH_DATABASE_URL"])) as opened:
        drawn = opened.secret
    with closing(sqlite3.connect(database)) as read:
        (scheme,) = read.execute("SELECT scheme FROM simhash_namespaces").fetchone()
    assert scheme.endswith(key_part(drawn))
