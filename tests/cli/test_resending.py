"""``scrapy simhash restore --pipelines``, in a project with a database of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback import prose
from stored import store

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import LeftOut

FILES = {
    "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
    "shop/__init__.py": "",
    "shop/settings.py": """
ADDONS = {"scrapy_simhash.Addon": 500}
SPIDER_MODULES = ["shop.spiders"]
ITEM_PIPELINES = {"shop.pipelines.Rows": 300}
TELNETCONSOLE_ENABLED = False
""",
    "shop/items.py": """
from dataclasses import dataclass

@dataclass
class Offer:
    url: str
    price: int
""",
    "shop/spiders.py": """
import scrapy
import shop.items

class Shop(scrapy.Spider):
    name = "shop"

class Bare(scrapy.Spider):
    name = "bare"
    custom_settings = {"ITEM_PIPELINES": {}}

class Replacing(scrapy.Spider):
    name = "replacing"
    custom_settings = {"FEEDS": {"all.jsonl": {"format": "jsonlines", "overwrite": True}}}

class Failing(scrapy.Spider):
    name = "failing"

    async def start(self):
        yield

    def __init__(self, needed):
        super().__init__()
""",
    "shop/pipelines.py": """
import json
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

class Rows:
    def process_item(self, item):
        fields = ItemAdapter(item).asdict()
        if fields["price"] == 2:
            raise DropItem("not wanted")
        if fields["price"] == 3:
            raise ValueError("fails")
        with open("rows.jsonl", "a") as file:
            file.write(json.dumps([type(item).__name__, fields]) + "\\n")
        return {"another": "item"}
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four copies were dropped; of two of them the class is gone, or has other fields now."""
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    with Index(f"sqlite:///{tmp_path}/seen.db", namespace="shop") as index:
        store(index, prose(1), "http://a.test/")
        kinds = ["shop.items.Offer", "shop.items.Offer", "os.system", "shop.items.Offer"]
        for price, kind in enumerate(kinds, 1):
            url = f"http://a.test/{price}"
            (verdict,) = index.execute(claims=[index.document(prose(1), key=url, url=url)])
            old = {"size": "L"} if price == 4 else {}
            item = pack({"url": url, "price": price, **old})[0]
            index.execute(left_out=[LeftOut(verdict, "drop", item, kind)])
    return tmp_path


def restore(project: Path, *options: str) -> Any:
    command = [sys.executable, "-m", "scrapy", "simhash", "restore", "--database", "seen.db"]
    return subprocess.run(
        [*command, *options],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_items_pass_through_the_pipelines_and_only_those_stored_are_noted(project: Path) -> None:
    done = restore(project, "--pipelines", "shop")
    assert done.returncode == 0, done.stderr
    assert "2 items restored\nDropped by an item pipeline, or failed there: 2 items" in done.stderr
    rows = [json.loads(line) for line in (project / "rows.jsonl").read_text().splitlines()]
    assert rows == [
        ["Offer", {"url": "http://a.test/1", "price": 1}],
        ["dict", {"url": "http://a.test/4", "price": 4, "size": "L"}],
    ]
    # The others can still be restored.
    left = [json.loads(line)["price"] for line in restore(project).stdout.splitlines()]
    assert left == [2, 3]


@pytest.mark.parametrize(
    ("spider", "said"),
    [
        ("bare", "nothing would store the items"),
        ("replacing", "the feed all.jsonl would be replaced"),
        ("failing", "TypeError"),
    ],
)
def test_where_nothing_is_stored_nothing_is_noted(project: Path, spider: str, said: str) -> None:
    (project / "all.jsonl").write_text("the feed of earlier crawls")
    done = restore(project, "--pipelines", spider)
    assert done.returncode != 0
    assert said in done.stderr
    assert (project / "all.jsonl").read_text() == "the feed of earlier crawls"
    assert len(restore(project).stdout.splitlines()) == 4
