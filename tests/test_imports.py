"""Nothing is imported that only another use of the package needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Each name, imported and used. The text is long enough to be compared.
USES = {
    "page_text": """
from scrapy_simhash import page_text
assert page_text(b"<html><body><article><p>" + TEXT.encode() + b"</p></article></body>") == TEXT
""",
    "fingerprint": """
from scrapy_simhash import distance, fingerprint, similarity
assert fingerprint(TEXT) == fingerprint(TEXT) is not None
assert (distance(0b1100, 0b1010), similarity(5, 5)) == (2, 1)
""",
    "Index": """
from scrapy_simhash import Index
with Index("sqlite://") as index:
    first = index.claim(TEXT, key="1")
    index.confirm(first)
    assert (first.kind, index.claim(TEXT, key="2").kind) == ("unique", "duplicate")
""",
    "dedupe": """
import json, tempfile
from pathlib import Path
from scrapy_simhash.corpus.dedupe import Targets, dedupe_corpus
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.workers import Sketcher
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.feed.json_file import JsonLines
from scrapy_simhash.index.rule import Rule
item = {"text": TEXT, "tags": ["flood", {"year": 1953}], "read": 0.5, "by": None, "new": False}
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    source = folder / "in.jsonl"
    source.write_text(2 * (json.dumps(item) + chr(10)), "utf-8")
    plan = Plan.make(Rule(), bytes(16))
    reader = ItemReader(plan.scheme, plan.secret, 8, 10**6)
    sketcher = Sketcher([JsonLines(source)], reader, plan)
    counts = dedupe_corpus(sketcher, Targets(folder / "out.jsonl"))
    assert (counts.read, counts.kept, counts.dropped) == (2, 1, 1)
""",
    "item": """
from scrapy_simhash.item.content import read_item
from scrapy_simhash.item.evidence import Relation
from scrapy_simhash.item.facts import conflict
item = {"title": "Ferry", "offers": [{"price": 3}], "url": "https://a.example/"}
content = read_item(item, page_url="https://a.example/", since=0, now=0)
conflict(content.facts, content.facts, frozenset({Relation.SAME_SITE}))
""",
    "commands": """
import scrapy_simhash.cli.main, scrapy_simhash.cli.upkeep
""",
    "crawl": """
import gc
import scrapy
from scrapy.crawler import CrawlerProcess

class Texts(scrapy.Spider):
    name = "texts"

    async def start(self):
        yield {"text": TEXT}
        for number in range(3):
            yield scrapy.Request(f"data:text/html;number={number},<title>A flood</title><p>{TEXT}")

    def parse(self, response):
        yield {"title": response.css("title::text").get()}

    def closed(self, reason):
        stats = self.crawler.stats.get_stats()
        assert (stats.get("simhash/checked"), stats.get("simhash/failed_open")) == (4, None), stats
        # No garbage collection looks at what was imported.
        assert not any(found is Texts for found in gc.get_objects())

process = CrawlerProcess({
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
    "LOG_LEVEL": "ERROR",
    "SIMHASH_DATABASE_URL": "sqlite:///index.db",
    "TELNETCONSOLE_ENABLED": False,
})
process.crawl(Texts)
process.start()
assert open("items.jsonl").read()
""",
}

#: What may be imported for a crawl alone.
OF_A_CRAWL = ("scrapy", "twisted", "itemadapter", "jieba")
#: What each of them may not import; each of these takes a while, or some megabytes.
NOT_IMPORTED = dict.fromkeys(USES, OF_A_CRAWL) | {
    "item": (*OF_A_CRAWL, "sqlalchemy", "lxml"),
    "commands": ("itemadapter", "jinja2", "requests", "tldextract"),
    "crawl": (
        *("jieba", "jinja2", "numpy.ma", "numpy.random", "psutil", "psycopg", "pymysql"),
        *("rapidfuzz", "rich", "scrapy_simhash.classic", "scrapy_simhash.cli"),
        *("scrapy_simhash.feed", "scrapy_simhash.history", "scrapy_simhash.report"),
        *("sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm"),
        "trafilatura",
    ),
}

#: Records which modules, back to one of this package, imported one of the others first.
WATCH = """
import sys

TEXT = "Nobody in the town knew who had closed the sluice on the evening before the flood."
importers = {}

class Watch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in OTHERS or name in importers:
            return
        chain, frame = [name], sys._getframe(1)
        while frame is not None and not chain[-1].startswith("scrapy_simhash"):
            module = frame.f_globals["__name__"]
            if module not in (chain[-1], "importlib._bootstrap", "importlib._bootstrap_external"):
                chain.append(module)
            frame = frame.f_back
        importers[name] = ", imported by ".join(chain)

sys.meta_path.insert(0, Watch)
"""

REPORT = """
for name in OTHERS:
    if name in sys.modules:
        print(importers[name])
"""


@pytest.mark.parametrize("name", USES)
def test_nothing_is_imported_that_only_others_need(name: str, tmp_path: Path) -> None:
    others = f"OTHERS = {NOT_IMPORTED[name]}\n"
    done = subprocess.run(
        [sys.executable, "-c", others + WATCH + USES[name] + REPORT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
