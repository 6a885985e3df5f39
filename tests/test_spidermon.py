"""The settings that the page shows, used by Spidermon in real crawls."""

from __future__ import annotations

import logging

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f
from sources import DOCS, blocks

# Spidermon logs by a deprecated method of spiders.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning"
)

PATHS = [f"/{number}" for number in range(8)]
UNLIKE = {path: article(path) for path in PATHS}
LOGIN = dict.fromkeys(PATHS, article("login"))
HEADINGS = {
    path: article(place // 2).replace(b"<p>", b"<h1>Number %d</h1><p>" % place)
    for place, path in enumerate(PATHS)
}


@deferred_f_from_coro_f
async def test_expressions_on_the_stats_tell_good_crawls_from_bad_ones(caplog, tmp_path):
    shown: dict[str, object] = {}
    exec(*blocks(DOCS / "spidermon.md", "python"), shown)
    settings = {name: value for name, value in shown.items() if name.isupper()}
    failed = []
    for number, pages in enumerate((UNLIKE, LOGIN, HEADINGS)):
        settings["SIMHASH_DATABASE_URL"] = f"sqlite:///{tmp_path}/{number}.db"
        caplog.clear()
        caplog.set_level(logging.INFO)
        with serve(pages) as site:
            await crawl(PageSpider, settings, [site + path for path in pages])
        results = [
            record.getMessage().partition("Near-duplicates/")[2].split("... ")
            for record in caplog.records
            if "Near-duplicates/" in record.getMessage()
        ]
        assert len(results) >= 3
        failed.append({name for name, result in results[:3] if result.startswith("FAIL")})
    assert failed == [
        set(),
        {"at most half are duplicates"},
        {"no field keeps more than a fifth although another item is similar"},
    ]
