"""Settings with fields that no item has: reported once, with the fields that exist."""

from __future__ import annotations

import pytest
from loopback import STORES, PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f


def warnings(caplog):
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "scrapy_simhash.crawl.fields"
    ]


async def crawled(settings, caplog, pages=1, **given):
    with serve({f"/{number}": article(number) for number in range(pages)}) as site:
        urls = [f"{site}/{number}" for number in range(pages)]
        done = await crawl(PageSpider, settings | STORES | given, urls)
    assert len(done.items) == pages
    return warnings(caplog)


@pytest.mark.parametrize("pages", [1, 30])
@pytest.mark.parametrize("setting", ["SIMHASH_FIELDS", "SIMHASH_IGNORE_FIELDS", "SIMHASH_KEY"])
@deferred_f_from_coro_f
async def test_a_field_that_no_item_has_is_reported_once(settings, caplog, setting, pages):
    (line,) = await crawled(settings, caplog, pages, **{setting: ["ur1"]})
    assert line == (
        f"{setting} names fields that none of the first items has: 'ur1'. Their fields are url"
    )


@pytest.mark.parametrize(
    "given",
    [
        ["url"],
        ["url.path"],
        {"scrapy.Item": ["ur1"]},
        # As given to `-s`.
        "url, url.path",
        "['url']",
        '["url"]',
        '{"scrapy.Item": ["ur1"]}',
    ],
)
@deferred_f_from_coro_f
async def test_nothing_is_logged_about_fields_in_use_or_other_items(settings, caplog, given):
    assert await crawled(settings, caplog, SIMHASH_IGNORE_FIELDS=given) == []
