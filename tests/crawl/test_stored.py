"""What counts as stored is what was stored, whatever stores it and however it fails."""

from __future__ import annotations

import asyncio

import pytest
import scrapy
from loopback import InPhases, PageSpider, crawl, error_lines, in_batch, path_of
from scrapy.extensions.feedexport import ItemFilter
from scrapy.utils.defer import deferred_f_from_coro_f, maybe_deferred_to_future
from stored import rows_of
from twisted.internet.threads import deferToThread
from visited_sites import FailsToStore
from visits import IN_ORDER

from scrapy_simhash import Index

GROUPS, COPIES = 4, 3
PATHS = in_batch(GROUPS, COPIES)
EVERY = sorted(map(str, range(GROUPS)))


def groups(items):
    return sorted(path_of(item["url"]).split("/")[1] for item in items)


@pytest.fixture
def database(tmp_path):
    return tmp_path / "index.db"


@pytest.fixture
def settings(database):
    return {"SIMHASH_DATABASE_URL": f"sqlite:///{database}", **IN_ORDER}


def settled(database):
    return rows_of(database, "SELECT settled FROM simhash_runs ORDER BY id")


def pipelines(*classes):
    """Settings with pipelines after ours."""
    return {"ITEM_PIPELINES": {kind: 200 + at for at, kind in enumerate(classes)}}


class Pipeline:
    """Stores items in a list of its crawl."""

    def __init__(self):
        self.stored = []

    @classmethod
    def from_crawler(cls, crawler):
        made = crawler.pipeline = cls()
        made.crawler = crawler
        return made


# Slow pipelines


class FailsLate(Pipeline):
    """Fails with the first item of each group, long after the timeout."""

    seen = frozenset()

    async def process_item(self, item):
        group = path_of(item["url"]).split("/")[1]
        if group not in self.seen:
            self.seen |= {group}
            await asyncio.sleep(1.0)
            raise OSError("the upload failed")
        self.stored.append(item)
        return item


@deferred_f_from_coro_f
async def test_nothing_is_dropped_for_what_fails_after_the_timeout(settings, urls, database):
    slow = settings | pipelines(FailsLate) | {"SIMHASH_TIMEOUT": 0.5}
    done = await crawl(PageSpider, slow | {"CONCURRENT_REQUESTS": 16}, urls)
    # On a busy machine the index may answer too late as well, so that copies are stored unchecked.
    assert sorted(set(groups(done.crawler.pipeline.stored))) == EVERY
    assert "claims/released" in done.stats or done.stats["failed_open"] >= GROUPS


class Batches(Pipeline):
    """Holds items until there are enough; more than there are without the copies."""

    size = GROUPS + 2

    def __init__(self):
        super().__init__()
        self.held = []

    async def process_item(self, item):
        done = asyncio.get_running_loop().create_future()
        self.held.append((item, done))
        if len(self.held) >= self.size:
            for one, waiter in self.held:
                self.stored.append(one)
                waiter.set_result(None)
            self.held = []
            self.size = 1
        await done
        return item


@deferred_f_from_coro_f
async def test_a_pipeline_that_waits_for_more_items_ends(settings, urls, monkeypatch, caplog):
    monkeypatch.setattr("scrapy_simhash.crawl.deduplicator.STALLED", 0.5)
    batching = settings | pipelines(Batches) | {"CONCURRENT_REQUESTS": 16}
    done = await asyncio.wait_for(crawl(PageSpider, batching, urls), 30)
    assert sorted(set(groups(done.crawler.pipeline.stored))) == EVERY
    assert done.stats["failed_open"] > 0
    assert caplog.text.count("have finished no item for 0.5 s") == 1


# Feeds that do not want an item


class Typed(scrapy.Item):
    url = scrapy.Field()


class FirstIsTyped(PageSpider):
    """The first item of a group is of a class that no feed takes."""

    def parse(self, response):
        kind = Typed if path_of(response.url).endswith("/0") else dict
        yield kind(url=response.url)


class NotTyped(ItemFilter):
    """A filter that must be asked once for each item."""

    asked = 0

    def accepts(self, item):
        NotTyped.asked += 1
        return not isinstance(item, Typed)


@pytest.mark.parametrize("chosen", [{"item_classes": [dict]}, {"item_filter": NotTyped}])
@deferred_f_from_coro_f
async def test_what_no_feed_takes_is_not_stored(settings, urls, tmp_path, caplog, chosen):
    caplog.set_level("INFO")
    NotTyped.asked = 0
    feed = {str(tmp_path / "f.csv"): {"format": "csv", **chosen}}
    done = await crawl(FirstIsTyped, settings | {"FEEDS": feed}, urls)
    lines = (tmp_path / "f.csv").read_text().split()[1:]
    assert sorted(path_of(line).split("/")[1] for line in lines) == EVERY
    assert done.stats["feeds/not_wanted"] == done.stats["claims/released"] == GROUPS
    assert f"Items that no feed takes, by its item_classes or item_filter: {GROUPS}" in caplog.text
    if "item_filter" in chosen:
        assert NotTyped.asked == len(done.items) == 2 * GROUPS


class Stores(Pipeline):
    def process_item(self, item):
        self.stored.append(item)
        return item


class FailsOnce(NotTyped):
    """Fails with the first item; the exporter then writes it to no later feed."""

    def accepts(self, item):
        if path_of(item["url"]) == "/0/0":
            raise ValueError("an error in a filter")
        return True


@deferred_f_from_coro_f
async def test_a_filter_that_fails_leaves_an_item_unstored(settings, urls, tmp_path):
    feeds = {
        str(tmp_path / "f.csv"): {"format": "csv"},
        str(tmp_path / "g.csv"): {"format": "csv", "item_filter": FailsOnce},
    }
    done = await crawl(PageSpider, settings | {"FEEDS": feeds}, urls)
    lines = (tmp_path / "g.csv").read_text().split()[1:]
    assert sorted(path_of(line).split("/")[1] for line in lines) == EVERY
    assert done.stats["feeds/not_exported"] == 1


# Pipelines that fail when they close


class Buffers(Pipeline):
    """Inserts all at the end, which fails."""

    def process_item(self, item):
        return item

    def close_spider(self):
        raise OSError("the insert failed")


class BuffersLate(Buffers):
    async def close_spider(self):
        await asyncio.sleep(0.01)
        raise OSError("the insert failed")


@pytest.mark.parametrize("kind", [Buffers, BuffersLate])
@deferred_f_from_coro_f
async def test_a_pipeline_that_fails_to_close_leaves_the_run_unsettled(
    settings, urls, database, caplog, kind
):
    await crawl(PageSpider, settings | pipelines(kind), urls)
    assert settled(database) == [(0,)]
    assert caplog.text.count("failed in close_spider (OSError: the insert failed). All claims") == 1
    known = {"SIMHASH_KNOWN": "drop"}
    again = await crawl(PageSpider, settings | pipelines(Stores) | known, urls)
    assert groups(again.crawler.pipeline.stored) == EVERY
    assert settled(database) == [(0,), (1,)]


# Pipelines that do something else with an item


class Replaces(Pipeline):
    """Stores another object; fails with the first item of each group."""

    seen = frozenset()

    def process_item(self, item):
        group = path_of(item["url"]).split("/")[1]
        if group not in self.seen:
            self.seen |= {group}
            raise ValueError("no")
        self.stored.append(item)
        return {"url": item["url"], "new": True}


class InThread(Replaces):
    """The same on another thread."""

    async def process_item(self, item):
        process = super().process_item
        return await maybe_deferred_to_future(deferToThread(process, item))


@pytest.mark.parametrize("kind", [Replaces, InThread])
@deferred_f_from_coro_f
async def test_an_outcome_belongs_to_its_item(settings, urls, kind):
    done = await crawl(PageSpider, settings | pipelines(kind), urls)
    assert groups(done.crawler.pipeline.stored) == EVERY
    assert done.stats["claims/released"] == done.stats["claims/confirmed"] == GROUPS


@deferred_f_from_coro_f
async def test_one_of_several_feeds_that_is_not_stored_leaves_the_run_unsettled(
    settings, urls, tmp_path, database
):
    feeds = {
        str(tmp_path / "f.csv"): {"format": "csv"},
        "bucket://name/g.csv": {"format": "csv"},
    }
    storages = {"bucket": FailsToStore}
    await crawl(PageSpider, settings | {"FEEDS": feeds, "FEED_STORAGES": storages}, urls)
    assert settled(database) == [(0,)]


# An index whose file goes away


@pytest.mark.parametrize(
    ("goes", "comes"),
    [
        ("deleted alone", "nothing"),
        ("moved", "nothing"),
        ("deleted", "another index"),
        ("deleted", "another file"),
    ],
)
@deferred_f_from_coro_f
async def test_where_the_file_goes_away_items_are_stored_unchecked(  # noqa: PLR0917
    settings, urls, database, tmp_path, caplog, goes, comes
):
    other = tmp_path / "other.db"
    Index(f"sqlite:///{other}").close()

    def go():
        for path in database.parent.glob("index.db*"):
            if goes == "deleted" or (goes == "deleted alone" and path == database):
                path.unlink()
            elif goes == "moved":
                path.rename(path.with_name(f"old-{path.name}"))
        if comes == "another index":
            other.rename(database)
        elif comes == "another file":
            database.write_text("no database" * 1000)

    # The first of each group before, the second after.
    pairs = [url for url in urls if not url.endswith("/2")]
    done = await crawl(InPhases, settings, [lambda: None, go], pairs)
    assert groups(done.items) == sorted(EVERY * 2), "one of each before, and one after"
    assert done.stats["failed_open"] == GROUPS
    gone, unclosed = error_lines(caplog)
    assert gone.startswith("The index can't be used, storing items unchecked: ")
    assert "deleted or moved" in gone
    assert "could not be closed" in unclosed
    if comes == "another index":
        assert rows_of(database, "SELECT count(*) FROM simhash_claims") == [(0,)]
