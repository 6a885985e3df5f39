"""Settings with fields that no item has: reported once, with the fields that exist."""

from __future__ import annotations

import pytest
from loopback import STORES, PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f


async def warnings(settings, caplog, pages=1, **given):
    with serve({f"/{number}": article(number) for number in range(pages)}) as site:
        urls = [f"{site}/{number}" for number in range(pages)]
        done = await crawl(PageSpider, settings | STORES | given, urls)
    assert len(done.items) == pages
    named = (one for one in caplog.records if one.name == "scrapy_simhash.crawl.fields")
    return [one.getMessage() for one in named]


@pytest.mark.parametrize(
    ("setting", "pages"), [("SIMHASH_FIELDS", 1), ("SIMHASH_IGNORE_FIELDS", 30), ("SIMHASH_KEY", 1)]
)
@deferred_f_from_coro_f
async def test_a_field_that_no_item_has_is_reported_once(settings, caplog, setting, pages):
    (line,) = await warnings(settings, caplog, pages, **{setting: ["ur1"]})
    assert line.startswith(f"{setting} names fields that none of the first items has: 'ur1'")


@pytest.mark.parametrize(
    # Strings as given to `-s`.
    "given",
    [{"scrapy.Item": ["ur1"]}, "url, url.path", "['url']", '{"scrapy.Item": ["ur1"]}'],
)
@deferred_f_from_coro_f
async def test_nothing_is_logged_about_fields_in_use_or_other_items(settings, caplog, given):
    assert await warnings(settings, caplog, SIMHASH_IGNORE_FIELDS=given) == []
