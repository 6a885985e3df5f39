from __future__ import annotations

import logging
from typing import ClassVar

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f


@pytest.fixture
def options(tmp_path, caplog):
    caplog.set_level(logging.INFO, "scrapy_simhash.crawl")
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}"}


@deferred_f_from_coro_f
async def test_the_log_counts_what_was_kept_and_dropped(options, caplog):
    options |= {
        "EXTENSIONS": {"scrapy_simhash.crawl.components.SimhashLogStats": 0},
        "LOGSTATS_INTERVAL": 0.05,
        "DOWNLOAD_DELAY": 0.1,
    }

    def headed(heading):
        return article(1).replace(b"<p>", b"<h1>%s</h1><p>" % heading)

    pages = {"/a": headed(b"May"), "/b": headed(b"May"), "/e": headed(b"June")}
    with serve({**pages, "/c": article(2), "/d": b""}) as site:
        await crawl(PageSpider, options, [f"{site}/{name}" for name in "abcde"])
    names = [f"scrapy_simhash.crawl.{name}" for name in ("components", "end")]
    often, last = ([r.getMessage() for r in caplog.records if r.name == one] for one in names)
    assert "/min)" in often[-1]
    assert last[0] == (
        "5 items: 4 stored (3 new, 1 not compared as neither the item nor its page has text), "
        "1 left out (1 copy). Which, and why: scrapy simhash drops --run 1"
    )
    assert last[1] == (
        "Kept 1 similar item whose values differ: heading of the page 1. To see both values: "
        "scrapy simhash drops --kept --run 1"
    )


class KeepsNothing:
    def process_item(self, item):
        raise DropItem("not wanted")


@deferred_f_from_coro_f
async def test_what_a_later_pipeline_drops_is_not_said_to_be_stored(options, caplog):
    options["ITEM_PIPELINES"] = {KeepsNothing: 900}
    with serve({"/a": article(1)}) as site:
        await crawl(PageSpider, options, [f"{site}/a"])
    parts = "0 stored, 0 left out, 1 dropped by later pipelines or feeds (1 new)"
    assert f"1 item: {parts}" in caplog.text


@pytest.mark.usefixtures("options")
@deferred_f_from_coro_f
async def test_commands_name_a_database_that_they_would_not_find(tmp_path, caplog):

    class Own(PageSpider):
        custom_settings: ClassVar = {"SIMHASH_DATABASE_URL": str(tmp_path / "own index.db")}

    with serve({"/a": article(1), "/b": article(1)}) as site:
        await crawl(Own, {}, [f"{site}/a", f"{site}/b"])
    assert f"drops --run 1 --database '{tmp_path / 'own index.db'}'" in caplog.text
