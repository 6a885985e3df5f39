"""What needs no crawl loads neither Scrapy nor jieba."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Each name, imported and used. The text is long enough to be compared.
USES = {
    "page_text": """
from scrapy_simhash import page_text
assert page_text(b"<html><body><article><p>" + TEXT.encode() + b"</p></article></body>") == TEXT
""",
    "fingerprint": """
from scrapy_simhash import fingerprint
assert fingerprint(TEXT) == fingerprint(TEXT) is not None
""",
    "distance": """
from scrapy_simhash import distance
assert distance(0b1100, 0b1010) == 2
""",
    "similarity": """
from scrapy_simhash import similarity
assert similarity(5, 5) == 1
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
from scrapy_simhash.feed.documents import ComparedFields, ItemReader
from scrapy_simhash.feed.json_lines import JsonLines
from scrapy_simhash.index.rule import Rule
item = {"text": TEXT, "tags": ["flood", {"year": 1953}], "read": 0.5, "by": None, "new": False}
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    source = folder / "in.jsonl"
    source.write_text(2 * (json.dumps(item) + chr(10)), "utf-8")
    plan = Plan.make(Rule(), bytes(16))
    reader = ItemReader(plan.scheme, plan.secret, ComparedFields(), 8, 10**6)
    sketcher = Sketcher([JsonLines(source)], reader, plan, [])
    counts = dedupe_corpus(sketcher, Targets(folder / "out.jsonl"))
    assert (counts.read, counts.kept, counts.dropped) == (2, 1, 1)
""",
}

#: What none of them may load; `crawl/test_imports.py` is about crawls.
NOT_LOADED = ("scrapy", "twisted", "itemadapter", "jieba", "rjieba")

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
def test_nothing_is_loaded_that_only_others_need(name):
    others = f"OTHERS = {NOT_LOADED}\n"
    done = subprocess.run(
        [sys.executable, "-c", others + WATCH + USES[name] + REPORT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if done.stdout:
        pytest.fail(done.stdout)
