"""The start of a crawl: it logs its index and settings, or is refused before the first request."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest
from loopback import PageSpider, crawl, critical_lines, in_batch, prose
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import cleared_database
from stored import rows_of

from scrapy_simhash import Index, native
from scrapy_simhash.crawl.start import _collect_less_garbage

PATHS = in_batch(3, 2)
NOBODY_THERE = {
    "SIMHASH_DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/none",
    "SIMHASH_TIMEOUT": 1,
}


@pytest.fixture
def settings(database):
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{database}"}


def lines(caplog, level):
    return [record.getMessage() for record in caplog.records if record.levelname == level]


def fetched(done):
    return done.crawler.stats.get_value("downloader/request_count", 0)


# What is logged


@deferred_f_from_coro_f
async def test_the_first_line_names_the_index_and_its_contents(database, settings, urls, caplog):
    caplog.set_level("INFO", "scrapy_simhash.crawl.start")
    await crawl(PageSpider, settings, urls)
    await crawl(PageSpider, settings | {"SIMHASH_ON_DUPLICATE": "report"})
    await crawl(PageSpider, settings | {"SIMHASH_DISTANCE": 5, "SIMHASH_NAMESPACE": "other"})
    near = "similarity 0.9 or more (COMPARE=auto EXTRACTOR=density)"
    far = "distance 5 or less (COMPARE=auto EXTRACTOR=density)"
    dropped = f"duplicates are dropped; core: {native.in_use}"
    kept = f"duplicates are reported, and stored; core: {native.in_use}"
    assert lines(caplog, "INFO") == [
        f"Index {database}, namespace 'pages' with 0 stored items; {near}; {dropped}",
        f"Index {database}, namespace 'pages' with 3 stored items; {near}; {kept}",
        f"Index {database}, namespace 'other' with 0 stored items; {far}; {dropped}",
    ]


@deferred_f_from_coro_f
async def test_a_crawl_that_meets_nothing_makes_no_namespace_and_empties_none(
    database, settings, urls
):
    """As `scrapy shell` and `scrapy fetch` do, in a project whose crawls reset the index."""
    await crawl(PageSpider, settings, [])
    assert rows_of(database, "SELECT name FROM simhash_namespaces") == []
    await crawl(PageSpider, settings, urls)
    await crawl(PageSpider, settings | {"SIMHASH_RESET": True}, [])
    assert rows_of(database, "SELECT name, size FROM simhash_namespaces") == [("pages", 3)]


# What can never heal


def corrupt(database):
    database.write_bytes(b"this is no database, despite its name. " * 400)
    return f"sqlite:///{database}"


def damaged(database):
    with Index(f"sqlite:///{database}") as index:
        index.claim(prose(1), key="a")
    content = bytearray(database.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    database.write_bytes(content)
    return f"sqlite:///{database}"


def read_only(database):
    with Index(f"sqlite:///{database}"):
        pass
    return f"sqlite:///file:{database}?mode=ro&uri=true"


def without_folder(database):
    return f"sqlite:///{database.parent / 'missing' / 'index.db'}"


def a_folder(database):
    database.mkdir()
    return f"sqlite:///{database}"


def no_driver(database):
    return "oracle+oracledb://user:secret@host/database"


UNUSABLE = [corrupt, damaged, read_only, without_folder, a_folder, no_driver]


@pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__)
@deferred_f_from_coro_f
async def test_an_index_that_will_never_answer_is_reported_in_one_line_and_nothing_is_fetched(
    database, make, urls, caplog
):
    url = make(database)
    before = database.read_bytes() if database.is_file() else None
    done = await crawl(PageSpider, {"SIMHASH_DATABASE_URL": url}, urls)
    assert done.reason == "simhash_index_unusable"
    assert fetched(done) == 0
    (line,) = critical_lines(caplog)
    assert "The crawl is not started" in line
    assert "secret" not in line
    places = {without_folder: str(database.parent), no_driver: "oracledb"}
    assert places.get(make, str(database)) in line
    assert lines(caplog, "ERROR") == []
    assert "Traceback" not in caplog.text
    if before is not None:
        assert database.read_bytes() == before, "it is never repaired or replaced silently"


@deferred_f_from_coro_f
async def test_a_database_without_the_schema_of_its_url_is_refused(tmp_path, urls, caplog):
    url = cleared_database("postgresql", tmp_path)
    url = url.update_query_dict({"options": "-csearch_path=no_such"})
    shown = url.render_as_string(hide_password=False)
    done = await crawl(PageSpider, {"SIMHASH_DATABASE_URL": shown}, urls)
    assert (done.reason, fetched(done)) == ("simhash_index_unusable", 0)
    assert done.crawler.spider is None, "scrapy crawl exits with 1"
    (line,) = critical_lines(caplog)
    assert line.endswith("no schema has been selected to create in")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300], ids=["nul", "lone", "long"])
@deferred_f_from_coro_f
async def test_a_spider_whose_name_can_be_no_namespace_is_refused_with_the_reason(
    settings, urls, caplog, name
):
    done = await crawl(type("Named", (PageSpider,), {"name": name}), settings, urls)
    assert (done.reason, fetched(done)) == ("simhash_misconfigured", 0)
    (line,) = critical_lines(caplog)
    assert "SIMHASH_NAMESPACE = '{spider}': namespace" in line
    assert line.isprintable()


@pytest.mark.parametrize(
    "other",
    [{"SIMHASH_SCHEME": "keywords", "SIMHASH_DISTANCE": 3}, {"SIMHASH_DISTANCE": 3}],
    ids=["scheme", "keys"],
)
@deferred_f_from_coro_f
async def test_another_scheme_refuses_the_crawl_and_names_the_command_that_helps(
    database, settings, urls, other, caplog
):
    await crawl(PageSpider, settings, urls)
    done = await crawl(PageSpider, settings | other, urls)
    assert done.reason == "simhash_index_mismatch"
    assert "checked" not in done.stats
    (line,) = critical_lines(caplog)
    assert "Use another namespace" in line
    assert "scrapy simhash reset --namespace pages" in line
    assert lines(caplog, "ERROR") == []
    assert rows_of(database, "SELECT settled, reason FROM simhash_runs") == [
        (1, "finished"),
        (1, "simhash_index_mismatch"),
    ], "the run that was opened is not left open"


# What may heal


@deferred_f_from_coro_f
async def test_without_an_answer_nothing_is_fetched_if_that_is_wanted(urls, caplog):
    done = await crawl(PageSpider, NOBODY_THERE | {"SIMHASH_ON_ERROR": "close"}, urls)
    assert done.reason == "simhash_index_unavailable"
    assert fetched(done) == 0
    assert len(critical_lines(caplog)) == 1
    assert done.errors == 0


# How it ends


@deferred_f_from_coro_f
async def test_a_feed_of_an_earlier_crawl_is_not_replaced_by_an_empty_one(settings, urls, tmp_path):
    feed = tmp_path / "items.jl"
    feeds = {"FEEDS": {str(feed): {"format": "jsonlines", "overwrite": True}}}
    await crawl(PageSpider, settings | feeds, urls)
    before = feed.read_bytes()
    assert before.count(b"\n") == 3
    for wrong in (
        {"SIMHASH_SIMILARITY": 2},
        {"SIMHASH_DISTANCE": 3},
        {"SIMHASH_DATABASE_URL": without_folder(tmp_path / "none")},
    ):
        done = await crawl(PageSpider, settings | feeds | wrong, urls)
        assert done.reason.startswith("simhash_")
        assert feed.read_bytes() == before, wrong


SPIDER = """
import scrapy

class Offline(scrapy.Spider):
    name = "offline"
    custom_settings = {"ADDONS": {"scrapy_simhash.Addon": 500}, %s}

    async def start(self):
        raise AssertionError("it was started")
        yield
"""


WRONG = {
    "setting": ("SIMHASH_TIMEOUT", 0, "SIMHASH_TIMEOUT = 0"),
    "database": ("SIMHASH_DATABASE_URL", "sqlite:///none/index.db", "there is no folder none"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_there_is_one_line_and_the_process_knows_that_it_failed(tmp_path, wrong):
    name, value, message = WRONG[wrong]
    (tmp_path / "spider.py").write_text(SPIDER % f"{name!r}: {value!r}")
    ended = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.count("The crawl is not started: ") == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "it was started" not in ended.stderr


@pytest.mark.parametrize(("before", "after"), [((700, 10, 10), (5000, 5, 2)), ((9000, 9, 9),) * 2])
@deferred_f_from_coro_f
async def test_the_garbage_collector_runs_more_rarely_once_a_crawl_is_open(
    settings, urls, before, after
):
    others = gc.get_threshold()
    _collect_less_garbage.cache_clear()
    gc.set_threshold(*before)
    try:
        await crawl(PageSpider, settings, urls)
        assert gc.get_threshold() == after
    finally:
        gc.set_threshold(*others)
