"""The ways an item can end, and that its claim is settled by each."""

from __future__ import annotations

import asyncio

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f


class TwoItems(PageSpider):
    """The second of a page's items is the odd one."""

    def parse(self, response):
        for is_odd in (False, True):
            yield {"url": response.url, "odd": is_odd}


class DropsTheEven:
    """With this no item is stored but the odd one."""

    async def process_item(self, item):
        await asyncio.sleep(0.02)
        if not item["odd"]:
            raise DropItem("not the odd one")
        return item


class Drops:
    def process_item(self, item):
        if item["odd"]:
            raise DropItem("not wanted")
        return item


class Fails:
    def process_item(self, item):
        if item["odd"]:
            raise ValueError("an error in a pipeline")
        return item


class Replaces:
    def process_item(self, item):
        return dict(item) if item["odd"] else item


BEFORE, AFTER, LAST = 50, 500, 900
# Claims confirmed, and released: that of the even one always is.
CONFIRMED, RELEASED, UNSEEN = (1, 1), (0, 2), (0, 1)


@pytest.mark.parametrize(
    ("pipelines", "outcome"),
    [
        ({}, CONFIRMED),
        ({Replaces: AFTER}, CONFIRMED),
        ({Drops: AFTER}, RELEASED),
        ({Fails: AFTER}, RELEASED),
        ({Replaces: AFTER, Drops: LAST}, RELEASED),
        ({Drops: BEFORE}, UNSEEN),
        ({Fails: BEFORE}, UNSEEN),
        ({Replaces: BEFORE}, CONFIRMED),
        ({Replaces: BEFORE, Drops: AFTER}, RELEASED),
        ({Replaces: BEFORE, Fails: AFTER}, RELEASED),
    ],
    ids=[
        *("stored", "stored, as another object", "dropped later", "failed later"),
        *("dropped later, as another object", "dropped before", "failed before"),
        "replaced before and stored",
        *("replaced before and dropped", "replaced before and failed"),
    ],
)
@deferred_f_from_coro_f
async def test_however_an_item_ends_its_claim_is_settled(tmp_path, pipelines, outcome):
    settings = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "ITEM_PIPELINES": {**pipelines, DropsTheEven: LAST - 1},
    }
    with serve({"/a": article(1)}) as site:
        done = await crawl(TwoItems, settings, [f"{site}/a"])
    stats = done.stats
    assert (stats.get("claims/confirmed", 0), stats.get("claims/released", 0)) == outcome
    assert stats["claims/open"] == 0
