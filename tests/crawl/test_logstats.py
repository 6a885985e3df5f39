from __future__ import annotations

import logging

from loopback import PageSpider, article, crawl, serve
from scrapy.utils.defer import deferred_f_from_coro_f


@deferred_f_from_coro_f
async def test_the_log_counts_what_was_kept_and_dropped(tmp_path, caplog):
    caplog.set_level(logging.INFO, "scrapy_simhash.crawl.logstats")
    options = {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "EXTENSIONS": {"scrapy_simhash.crawl.logstats.SimhashLogStats": 0},
        "LOGSTATS_INTERVAL": 0.05,
        "DOWNLOAD_DELAY": 0.1,
    }
    with serve({"/a": article(1), "/b": article(1), "/c": article(2), "/d": b""}) as site:
        await crawl(PageSpider, options, [f"{site}/{name}" for name in "abcd"])
    lines = [r.getMessage() for r in caplog.records if r.name == "scrapy_simhash.crawl.logstats"]
    assert len(lines) > 1
    assert lines[-1] == (
        "4 checked, 3 kept, 1 dropped: 2 unique, 1 near-duplicate, 1 not comparable. "
        "More: scrapy simhash stats"
    )
    assert "/min)" in lines[0]
