"""What feeds lack counts as not stored: one item that can't be written, or a feed as a whole."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from loopback import PageSpider, crawl, in_batch, path_of
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, ItemFilter
from scrapy.pipelines.files import FilesPipeline
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_simhash import SimhashPipeline
from scrapy_simhash.crawl import scrapy_internals

GROUPS, COPIES = 6, 3
PATHS = in_batch(GROUPS, COPIES)
EVERY = sorted(map(str, range(GROUPS)))


def runs(settings):
    with closing(sqlite3.connect(settings["SIMHASH_DATABASE_URL"].split("///")[1])) as connection:
        return [row[0] for row in connection.execute("SELECT settled FROM simhash_runs")]


def groups(items):
    return sorted(path_of(item["url"]).split("/")[1] for item in items)


def in_file(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Odd(PageSpider):
    """The items of one group can't be written, nor the first copy of another group."""

    def parse(self, response):
        _, group, copy = path_of(response.url).split("/")
        is_odd = group == "1" or (group, copy) == ("2", "0")
        yield {"url": response.url, **({"odd": 1j} if is_odd else {})}


class Counting(ItemFilter):
    """A filter that must be asked once for each item."""

    asked = 0

    def accepts(self, item):
        Counting.asked += 1
        return "/0/" not in item["url"]


FEEDS = {
    "one": {"f.jl": {}},
    "two items a file": {"f-%(batch_id)d.jl": {"batch_item_count": 2}},
    "several": {"f.jl": {}, "g.pickle": {"format": "pickle"}, "h-%(batch_id)d.jl": {}},
    "no item": {"f.jl": {}, "g.jl": {"item_classes": ["scrapy.Item"]}},
    "own filter": {"f.jl": {}, "g.jl": {"item_filter": Counting}},
}


def feeds(case, folder):
    return {
        str(folder / name): {"format": "jsonlines", **options}
        for name, options in FEEDS[case].items()
    }


@pytest.mark.parametrize("case", FEEDS)
@deferred_f_from_coro_f
async def test_an_item_that_can_not_be_written_counts_as_not_stored(
    settings, urls, tmp_path, caplog, case
):
    """Its duplicate takes its place, and all that was written stays."""
    Counting.asked = 0
    done = await crawl(Odd, settings | {"FEEDS": feeds(case, tmp_path)}, urls)
    written = [item for path in sorted(tmp_path.glob("f*.jl")) for item in in_file(path)]
    assert groups(written) == [group for group in EVERY if group != "1"]
    # Whichever is reported first.
    assert {"/2/1", "/2/2"} & {path_of(item["url"]) for item in written}
    assert runs(settings) == [1]
    assert done.stats["feeds/not_exported"] == COPIES + 1
    assert done.stats["claims/released"] == COPIES + 1
    (line,) = [line for line in caplog.messages if "could not be written" in line]
    assert line.startswith(
        f"Items that could not be written to a feed: {COPIES + 1}, the first from"
    )
    assert f"{urls[COPIES]}. " in line
    if case == "own filter":
        assert 0 < Counting.asked <= len(done.items)

    # Scrapy leaves a file open whose only item could not be written.
    for slot in done.crawler.get_extension(FeedExporter).slots:
        if slot.file is not None:
            slot.file.close()

    again = await crawl(PageSpider, settings | {"SIMHASH_KNOWN": "drop", "FEEDS": {}}, urls)
    assert groups(again.items) == ["1"]


class Missing(FileFeedStorage):
    """A storage for feeds whose library is missing."""

    def __init__(self, uri, *, feed_options=None):
        raise NotConfigured("its library is missing")


@deferred_f_from_coro_f
async def test_of_feeds_that_scrapy_has_disabled_nothing_is_claimed(settings, urls, caplog):
    feeds = {"missing://a": {"format": "jsonlines"}}
    given = settings | {"FEEDS": feeds, "FEED_STORAGES": {"missing": Missing}}
    # It may only validate.
    done = await crawl(PageSpider, given | {"ITEM_PIPELINES": {Stores: 800}}, urls)
    assert done.stats["feeds/not_exported"] == len(PATHS)
    assert "Items that could not be written to a feed" in caplog.text
    assert "Nothing stores the items" not in caplog.text
    again = await crawl(PageSpider, settings | {"SIMHASH_KNOWN": "drop"}, urls)
    assert groups(again.items) == EVERY


class Stops:
    """A pipeline in whose end somebody stops the crawl once more: a signal, for one."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def close_spider(self):
        stopped = asyncio.ensure_future(self.crawler.stop_async())
        await asyncio.sleep(0.5)
        assert not stopped.done()
        self.crawler.stopped = stopped


@deferred_f_from_coro_f
async def test_a_crawl_that_is_stopped_while_it_closes_waits_for_its_feeds(
    settings, urls, tmp_path, caplog
):
    path = tmp_path / "f.jl"
    options = {"FEEDS": {str(path): {"format": "jsonlines"}}, "ITEM_PIPELINES": {Stops: 900}}
    done = await crawl(PageSpider, settings | options, urls)
    await done.crawler.stopped
    assert groups(in_file(path)) == EVERY
    assert runs(settings) == [1]
    assert "is released" not in caplog.text


# Nothing that stores


class Stores:
    def process_item(self, item):
        return item


@pytest.mark.parametrize(
    ("with_what", "warns"),
    [
        ({}, True),
        ({"ITEM_PIPELINES": {Stores: 50}}, True),
        ({"ITEM_PIPELINES": {Stores: 500}}, False),
        ({"FEEDS": {os.devnull: {"format": "jsonlines"}}}, False),
        ({"SIMHASH_ENABLED": False}, False),
    ],
    ids=["nothing", "a pipeline before", "a pipeline after", "a feed", "disabled"],
)
@deferred_f_from_coro_f
async def test_a_crawl_that_stores_nothing_is_warned(settings, urls, caplog, with_what, warns):
    await crawl(PageSpider, settings | with_what, urls[:1])
    warnings = [line for line in caplog.messages if line.startswith("Nothing stores")]
    assert len(warnings) == warns
    if warns:
        assert "-s SIMHASH_ENABLED=0" in warnings[0]
        assert "\n" not in warnings[0]


class Files(FilesPipeline):
    """Of a project: it downloads files."""


BEFORE = {"ITEM_PIPELINES": {Stores: 50}}
REPORTS = {"SIMHASH_ON_DUPLICATE": "report"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (BEFORE, ["Stores (50)"]),
        ({"ITEM_PIPELINES": {Stores: 200, Files: 300}}, []),
        ({"ITEM_PIPELINES": {Stores: 50, Files: 1}}, ["Files (1)", "Stores (50)"]),
        ({"ITEM_PIPELINES": {Stores: 900, SimhashPipeline: 950}}, ["Stores (900)"]),
        (BEFORE | REPORTS, []),
        (BEFORE | REPORTS | {"SIMHASH_KNOWN": "drop"}, ["Stores (50)"]),
    ],
)
@deferred_f_from_coro_f
async def test_pipelines_that_get_what_is_dropped_are_named(settings, caplog, given, named):
    await crawl(PageSpider, settings | {"FILES_STORE": os.devnull, **given})
    lines = [line for line in caplog.messages if line.startswith("These item pipelines run")]
    assert re.findall(r"\.(\w+ \(\d+\))", "".join(lines)) == named
    assert len(lines) == bool(named)


# On the disk


@deferred_f_from_coro_f
async def test_local_feeds_and_their_folders_are_synced_before_the_run_settles(
    settings, urls, tmp_path, monkeypatch
):
    synced, settled_after = [], []
    real = os.fsync

    def sync(descriptor):
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        settled_after.extend(runs(settings))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    feeds = {
        str(tmp_path / "a" / "b" / "f-%(batch_id)d.jl"): {
            "format": "jsonlines",
            "batch_item_count": 4,
        },
        (tmp_path / "c.csv").as_uri(): {"format": "csv"},
        str(tmp_path / "empty.jl"): {"format": "jsonlines", "item_classes": ["scrapy.Item"]},
    }
    await crawl(PageSpider, settings | {"FEEDS": feeds}, urls)
    files = ["a/b/f-1.jl", "a/b/f-2.jl", "c.csv", "empty.jl"]
    folders = [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert {*(str(tmp_path / name) for name in files), *map(str, folders)} <= {*synced}
    assert set(settled_after) == {0}
    assert runs(settings) == [1]


@pytest.fixture(params=["file", "folder"])
def failing_disk(request, monkeypatch):
    def fail(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == (request.param == "folder"):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.usefixtures("failing_disk")
@deferred_f_from_coro_f
async def test_a_feed_that_can_not_be_synced_leaves_the_run_unsettled(
    settings, urls, tmp_path, caplog
):
    feeds = {str(tmp_path / "f.jl"): {"format": "jsonlines"}}
    await crawl(PageSpider, settings | {"FEEDS": feeds}, urls)
    assert runs(settings) == [0]
    assert "A feed may not be on disk" in caplog.text
    assert "Input/output error" in caplog.text


@pytest.mark.parametrize("feed", ["f.jl overwrite", "f-%(time)s.jl overwrite", "f.jl"])
@deferred_f_from_coro_f
async def test_a_feed_that_replaces_an_earlier_one_may_lack_what_moved(
    settings, urls, tmp_path, caplog, feed
):
    name, *options = feed.split()
    feeds = {str(tmp_path / name): {"format": "jsonlines", **dict.fromkeys(options, True)}}
    # The second crawl finds one item at another address, one where it was, and a copy of that.
    given = settings | {"FEEDS": feeds, "SIMHASH_NAMESPACE": "news", "SIMHASH_KNOWN": "drop"}
    await crawl(PageSpider, given, [urls[0], urls[COPIES]])
    again = [urls[1], urls[COPIES], urls[COPIES + 1]]
    done = await crawl(PageSpider, given, again)
    assert len(done.drops) == 3
    found = re.findall(r"left out by SIMHASH_KNOWN = 'drop': (\d+)", caplog.text)
    assert found == (["2"] if feed == "f.jl overwrite" else [])
    renamed = type("Renamed", (PageSpider,), {"name": "renamed"})
    await crawl(renamed, given | {"SIMHASH_KNOWN": "pass"}, again)
    assert ("A renamed spider needs" in caplog.text) is (feed == "f.jl overwrite")


@pytest.mark.parametrize(
    ("uri", "is_replaced"), [("s3://bucket/f.jl", True), ("s3://bucket/f-%(batch_id)d.jl", False)]
)
def test_a_bucket_replaces_what_has_its_name(uri, is_replaced):
    assert scrapy_internals.is_replaced(uri, {}) is is_replaced
