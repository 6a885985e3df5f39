"""Without the add-on, as docs/projects.md shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from loopback import STORES, PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f

PAGE = (Path(__file__).parents[2] / "docs/projects.md").read_text("utf-8")
(BLOCK,) = re.findall(r"```python\n(DOWNLOADER_MIDDLEWARES.*?)```", PAGE, re.DOTALL)
BY_HAND: dict[str, dict[str, int]] = {}
exec(BLOCK, {}, BY_HAND)


@pytest.mark.parametrize("left_out", ["", "EXTENSIONS", "DOWNLOADER_MIDDLEWARES"])
@deferred_f_from_coro_f
async def test_the_components_do_the_same_as_the_add_on(settings, left_out, caplog):
    given = {name: value for name, value in BY_HAND.items() if name != left_out}
    with serve({"/a": article(1), "/b": article(1), "/c": article(2)}) as site:
        urls = [f"{site}/{name}" for name in "abc"]
        by_hand = await crawl(PageSpider, settings | STORES | given | {"ADDONS": {}}, urls)
        other = {"SIMHASH_NAMESPACE": "other"}
        added = await crawl(PageSpider, settings | STORES | other, urls)
    assert by_hand.urls == added.urls == ["/a", "/c"]
    # A copy is found in flight, or in the index.
    same = [{*one.stats} - {"in_flight_waits", "index/candidates"} for one in (by_hand, added)]
    assert same[0] == same[1]
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]
