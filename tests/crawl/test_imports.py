"""What a crawl loads: nothing that only another setting, or a command, needs."""

from __future__ import annotations

import json
import subprocess
import sys

from loopback import article, in_batch, serve

#: Each takes a while to load, or some megabytes, and is needed by few crawls.
OTHERS = (
    "jieba",
    "jinja2",
    "numpy.ma",
    "numpy.random",
    "psycopg",
    "pymysql",
    "rapidfuzz",
    "rich",
    "rjieba",
    "scrapy_simhash.classic",
    "scrapy_simhash.cli",
    "scrapy_simhash.feed",
    "scrapy_simhash.history",
    "scrapy_simhash.report",
    "sqlalchemy.orm",
    "trafilatura",
    "xxhash",
)

CRAWL = """
import gc, json, sys
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

loaded = {}

class Texts(Spider):
    name = "texts"

    async def start(self):
        words = "Nobody in the town knew who had closed the sluice on the evening before the flood"
        yield {"text": " ".join(f"{word}{n}" for n in range(4) for word in words.split())}
        for url in sys.argv[2:]:
            yield Request(url)

    def parse(self, response):
        yield {"url": response.url}

    def closed(self, reason):
        for kind in ("unique", "duplicates"):
            loaded[kind] = self.crawler.stats.get_value(f"simhash/{kind}")
        watched = gc.get_objects()
        loaded["watched"] = [type(o).__name__ for o in watched if o is Texts]

folder = sys.argv[1]
process = CrawlerProcess({
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines"}},
    "LOG_LEVEL": "ERROR",
    "SIMHASH_DATABASE_URL": f"sqlite:///{folder}/index.db",
    "TELNETCONSOLE_ENABLED": False,
})
process.crawl(Texts)
process.start()
print(json.dumps({**loaded, "modules": sorted(sys.modules)}))
"""


def test_a_crawl_loads_nothing_that_it_does_not_need(tmp_path):
    paths = in_batch(2, 6)
    with serve({path: article(path.split("/")[1]) for path in paths}) as address:
        done = subprocess.run(
            [sys.executable, "-c", CRAWL, str(tmp_path), *(address + path for path in paths)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["unique"], found["duplicates"]) == (3, 10)
    assert "sqlalchemy" in found["modules"]
    assert [name for name in OTHERS if name in found["modules"]] == []
    # Nothing that was imported.
    assert found["watched"] == []
