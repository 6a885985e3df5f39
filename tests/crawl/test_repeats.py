"""Crawls that find nothing but copies: a notice on every page, a trap, the known part of a site."""

from __future__ import annotations

import logging

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash.crawl import repeats


@pytest.fixture
def options(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "scrapy_simhash.crawl.repeats")
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}", "CONCURRENT_REQUESTS": 1}


def warnings_of(caplog):
    return [one.getMessage() for one in caplog.records if one.name == repeats.__name__]


@deferred_f_from_coro_f
async def test_a_notice_in_place_of_the_pages_is_warned_of_once(options, caplog):
    notice = article(0)
    pages = {f"/story/{number}": article(number) if number < 3 else notice for number in range(60)}
    with serve(pages) as site:
        await crawl(PageSpider, options, [f"{site}{path}" for path in pages])
    (warning,) = warnings_of(caplog)
    assert warning.startswith("Only copies of one item were found in a row: 20. It may be a notice")
    assert warning.endswith(f", a copy of {site}/story/0")


@deferred_f_from_coro_f
async def test_a_trap_names_the_parameter(options, caplog, monkeypatch):
    monkeypatch.setattr(repeats, "_TRAP", 30)
    with serve({"/list/a": article(1), "/list/b": article(2)}) as site:
        traps = [f"{site}/list/{'ab'[number > 24]}?sort={number}" for number in range(60)]
        await crawl(PageSpider, options, [f"{site}/list/a", f"{site}/list/b", *traps])
    (warning,) = warnings_of(caplog)  # and none of a notice
    assert warning.startswith("Only copies were found in a row: 30. The crawl may be in a trap")
    assert "30 of them differ from the originals in 127.0.0.1:" in warning
    assert "/list/?sort of the URL" in warning


@deferred_f_from_coro_f
async def test_a_crawl_is_closed_where_the_known_items_begin(options, caplog):
    options |= {"SIMHASH_CLOSESPIDER_REPEATS": 5, "SIMHASH_KNOWN": "drop"}
    pages = {f"/{number}": article(number) for number in range(40)}
    with serve(pages) as site:
        urls = [f"{site}{path}" for path in pages]
        first = await crawl(PageSpider, options, urls[10:])
        second = await crawl(PageSpider, options, urls)
    assert (first.reason, len(first.items)) == ("finished", 30)
    assert (second.reason, len(second.items)) == ("simhash_repeats", 10)
    assert second.stats["same"] >= 5
    assert not warnings_of(caplog)
