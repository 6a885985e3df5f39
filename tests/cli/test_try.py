"""``scrapy simhash try``: a crawl of a project's spider that leaves nothing behind but a report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Page, article, prose, serve

ROOT = Path(__file__).parents[2]

SETTINGS = """
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
FEEDS = {"out.jsonl": {"format": "jsonlines"}}
LOG_FILE = "project.log"
JOBDIR = "job"
SIMHASH_REPORT = "other.html"
ITEM_PIPELINES = {"shop.pipelines.Store": 300, "shop.pipelines.Clean": 50}
"""
PIPELINES = """
class Store:
    def process_item(self, item):
        open("stored", "a").write("item")
        return item


class Clean(Store):
    pass
"""
SPIDERS = """
import scrapy


class Shop(scrapy.Spider):
    name = "shop"
    custom_settings = {
        "FEEDS": {"own.jsonl": {"format": "jsonlines"}},
        "ITEM_PIPELINES": {"shop.pipelines.Store": 1},
        "CONCURRENT_REQUESTS": 1,
    }

    async def start(self):
        for number in range(int(self.count)):
            yield scrapy.Request(f"{self.site}/{number}")

    def parse(self, response):
        yield {"url": response.url, "price": response.css("b::text").get()}


class Bare(Shop):
    name = "bare"

    def parse(self, response):
        yield {"url": response.url}


class Empty(Shop):
    name = "empty"

    def parse(self, response):
        return None
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n", "utf-8")
    for name, code in (
        ("__init__", ""),
        ("settings", SETTINGS),
        ("pipelines", PIPELINES),
        ("spiders", SPIDERS),
    ):
        (tmp_path / "shop" / f"{name}.py").write_text(code, "utf-8")
    return tmp_path


@pytest.fixture
def tried(project):
    """Run the command in the project; gives its exit code, standard output and standard error."""

    def tried(*arguments):
        # A reactor runs once in a process.
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "simhash", "try", *map(str, arguments)],
            cwd=project,
            env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{project}", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, " ".join(done.stdout.split()), done.stderr

    return tried


@pytest.fixture
def site():
    """Ten pages: three of one text, two of another one at two prices, five others."""
    pages = {f"/{number}": Page(article(max(number, 2))) for number in range(8)}
    for number in (8, 9):
        body = f"<html><body><article><p>{prose('offer')}</p></article><b>{number} EUR</b></body>"
        pages[f"/{number}"] = Page(body.encode())
    with serve(pages) as address:
        yield address


def files(folder):
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_it_lists_what_would_be_dropped_and_leaves_nothing_behind(project, tried, site):
    before = files(project)
    code, out, err = tried("shop", "-a", f"site={site}", "-a", "count=10")
    assert code == 0
    assert all(line.startswith("Crawling: ") for line in err.splitlines())
    assert "shop: 10 pages, 10 items checked: 2 duplicates would be dropped (20.0%)" in out
    assert "1 (10.0%) kept: `price` differs" in out
    assert f"{site}/8 {site}/9 `price` differs: 8 EUR -> 9 EUR" in out
    assert 'ADDONS = {"scrapy_simhash.Addon": 500}' in out
    # The offers have another price and serial number, and only the latter should be ignored.
    assert "SIMHASH_IGNORE_FIELDS" not in out
    assert "Nothing was stored" in out
    assert "Changes that shop.pipelines.Clean would make first are missing." in out
    report = project / "simhash-try-shop.html"
    assert f"Report: {report}" in out
    # It names no index, and no command that would ask it.
    written = report.read_text("utf-8")
    assert "2 duplicates would be dropped" in written
    assert not re.search("index.db|scrapy simhash", written)
    assert files(project) - before == {report.name}


@pytest.mark.slow
def test_pages_ends_it(project, tried, site):
    _, out, _ = tried("shop", "-a", f"site={site}", "-a", "count=10", "--pages", 4, "-o", "r.html")
    # What was on its way when the crawl was closed still comes in.
    assert int(out.split(" pages,")[0].rpartition(" ")[2]) < 10
    assert (project / "r.html").exists()


@pytest.mark.slow
def test_a_file_with_a_spider_needs_no_project(project, tried, site):
    (project / "scrapy.cfg").unlink()
    file = project / "alone.py"
    file.write_text(
        "from shop import spiders\n\n\nclass Alone(spiders.Shop):\n    name = 'alone'\n"
    )
    code, out, err = tried("alone.py", "-a", f"site={site}", "-a", "count=10")
    assert code == 0, err
    assert "alone: 10 pages, 10 items checked: 2 duplicates would be dropped" in out
    assert (project / "simhash-try-alone.html").exists()


REFUSED = [
    (["shp"], "there is no spider 'shp'; did you mean 'shop'?"),
    (["empty", "-a", "site=data:,", "-a", "count=1"], "'empty' gave no items (1 page)"),
    (
        ["bare", "-a", "site=data:text/html,", "-a", "count=2"],
        "'bare' could be compared (2 pages), because neither the item nor its page has text",
    ),
    (["shop", "-o", "nowhere/r.html"], "there is no folder nowhere"),
    (["shop/pipelines.py"], "No spider found in file: shop/pipelines.py"),
]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [REFUSED[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in REFUSED[1:])],
)
def test_what_can_not_be_tried_is_reported_in_one_line(project, tried, arguments, words):
    before = files(project)
    code, out, err = tried(*arguments)
    assert (code, out) == (2, "")
    assert words in err.strip().splitlines()[-1]
    assert "Traceback" not in err
    assert files(project) == before
