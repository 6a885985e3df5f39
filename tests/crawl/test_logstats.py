from __future__ import annotations

import logging
import random
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


@deferred_f_from_coro_f
async def test_of_a_crawl_that_drops_nothing_it_is_told_what_would_be_dropped(options, caplog):
    options["SIMHASH_ON_DUPLICATE"] = "report"
    with serve({"/a": article(1), "/b": article(1)}) as site:
        await crawl(PageSpider, options, [f"{site}/a", f"{site}/b"])
    assert (
        "2 items: 2 stored (1 new, 1 copy), 0 left out. Which would be left out, and why: "
        in caplog.text
    )


@deferred_f_from_coro_f
async def test_the_command_is_named_also_if_everything_has_changed(options, caplog):
    pages = {}
    with serve(pages) as site:
        for number in range(2):
            pages["/a"] = article(number)
            await crawl(PageSpider, options, [f"{site}/a"])
    assert "1 changed. To list them: scrapy simhash changes --run 2" in caplog.text


@deferred_f_from_coro_f
async def test_unchanged_items_alone_are_no_drops_to_list(options, caplog):
    options["SIMHASH_KNOWN"] = "drop"
    with serve({"/a": article(1)}) as site:
        for _ in range(2):
            await crawl(PageSpider, options, [f"{site}/a"])
    assert "1 item: 0 stored, 1 left out (1 as before). More: scrapy simhash stats" in caplog.text
    assert "scrapy simhash drops" not in caplog.text


@deferred_f_from_coro_f
async def test_a_random_id_that_keeps_copies_is_named_after_one_crawl(options, caplog):
    ids = random.Random(1)

    class Stories(PageSpider):
        def parse(self, response):
            text = "\n".join(response.css("p::text").getall())
            title = response.css("h1::text").get()
            yield {"title": title, "text": text, "nonce": f"{ids.getrandbits(64):016x}"}

    pages = {f"/{n}": b"<h1>Story %d</h1>" % n + article(n) for n in range(20)}
    urls = [f"{path}{more}" for more in ("", "?from=list") for path in pages]
    with serve(pages) as site:
        done = await crawl(Stories, options, [f"{site}{url}" for url in urls])
    assert len(done.items) == 40
    assert (
        "To drop more: SIMHASH_IGNORE_FIELDS = ['nonce']: 20 more items would be dropped"
    ) in caplog.text
