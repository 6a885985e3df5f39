"""The monitors, run by Spidermon in real crawls."""

from __future__ import annotations

import logging

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f

# Spidermon logs by a deprecated method of spiders.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning"
)

COUNT = 24
PATHS = [f"/{number}" for number in range(COUNT)]
SITE = {path: article(path) for path in PATHS}
NAMES = {
    "checked": "every item was checked, and every duplicate recorded",
    "duplicates": "not too many are duplicates",
    "fields": "no field keeps copies",
    "usual": "the shares of duplicates and of new items are those of the last crawls",
}


@pytest.fixture
def monitored(tmp_path, caplog):
    """Crawl a site; returns the result of each monitor, and the log."""

    async def monitored(pages, **settings):
        caplog.clear()
        caplog.set_level(logging.INFO)
        options = {
            "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
            "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
            "SPIDERMON_ENABLED": True,
            "SPIDERMON_SPIDER_CLOSE_MONITORS": ["scrapy_simhash.monitors.SimhashMonitorSuite"],
        }
        with serve(pages) as site:
            await crawl(PageSpider, options | settings, [site + path for path in pages])
        lines = [record.getMessage() for record in caplog.records]
        results = {}
        for short, name in NAMES.items():
            (line,) = [line for line in lines if f"Near-duplicates/{name}..." in line]
            results[short] = line.rpartition("... ")[2].split()[0]
        return results, caplog.text

    return monitored


def but(**changed):
    return dict.fromkeys(NAMES, "OK") | changed


@deferred_f_from_coro_f
async def test_crawls_are_compared_with_the_last_ones(monitored):
    for _ in range(3):
        assert (await monitored(SITE))[0] == but(usual="SKIPPED")
    assert (await monitored(SITE))[0] == but()
    # A third of the pages shows a login page by now.
    walled = {path: article("login" if place % 3 else path) for place, path in enumerate(PATHS)}
    results, log = await monitored(walled)
    assert results == but(duplicates="FAIL", usual="FAIL")
    assert "62% of the items are duplicates" in log
    assert "62% duplicates; in the last crawls 0%" in log
    other = {path: article(f"another site {path}") for path in PATHS}
    results, log = await monitored(other, SPIDERMON_SIMHASH_MAX_DUPLICATES=0.7)
    assert results == but(usual="FAIL")
    assert "100% new; in the last crawls 0%" in log


@deferred_f_from_coro_f
async def test_a_field_that_keeps_copies_is_named(monitored):
    pages = {
        path: article(place // 2).replace(b"<p>", b"<h1>Number %d</h1><p>" % place)
        for place, path in enumerate(PATHS)
    }
    results, log = await monitored(pages)
    assert results == but(fields="FAIL", usual="SKIPPED")
    assert "page:heading (50%)" in log
    results, _ = await monitored(pages, SPIDERMON_SIMHASH_MAX_KEPT=1)
    assert results == but(usual="SKIPPED")
