"""What is used of Scrapy without being documented: it is there, and what is lost without it."""

from __future__ import annotations

import gc
import logging
from functools import partial
from types import SimpleNamespace
from weakref import ref

import pytest
from loopback import PageSpider, article, crawl, serve
from scrapy import Request, Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.core.scraper import Scraper, Slot
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.pipelines import ItemPipelineManager
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import scrapy_internals
from scrapy_simhash.crawl.scrapy_internals import (
    callback_name,
    close_crawl,
    closed_feed,
    counted_as_load,
    feed_counts,
    feed_slots,
    has_tree,
    keep_old_feeds,
    may_know_requests,
    pipelines_around,
    release_tree,
    replaces_feeds,
    watch_closing,
    watch_items,
)


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def page(no_collector: None) -> HtmlResponse:
    made = HtmlResponse("http://a.example/", body=b"<p>text", encoding="utf-8")
    assert made.css("p::text").get() == "text"
    return made


def test_a_tree_goes_at_once(page: HtmlResponse) -> None:
    tree = ref(page.selector.root)
    assert has_tree(page)
    release_tree(page)
    assert tree() is None
    assert not has_tree(page)
    assert page._cached_ubody is None


@pytest.mark.usefixtures("no_collector")
def test_the_response_may_go() -> None:
    def gone(is_released: bool) -> bool:
        page = HtmlResponse("http://a.example/", body=b"<p>text", encoding="utf-8")
        assert page.css("p")
        if is_released:
            release_tree(page)
        here = ref(page)
        del page
        return here() is None

    assert gone(is_released=True)
    # The collector alone finds it otherwise.
    assert not gone(is_released=False)


def test_whoever_asks_once_more_has_a_tree_of_his_own(page: HtmlResponse) -> None:
    release_tree(page)
    assert page.css("p::text").get() == "text"


def test_what_has_no_tree_is_left_as_it_is() -> None:
    release_tree(None)
    for other in (Response("http://a.example/", body=b"0"), HtmlResponse("http://a.example/")):
        assert not has_tree(other)
        release_tree(other)
        assert not has_tree(other)


def test_an_item_that_waits_counts_more_than_a_small_page():
    slot = SimpleNamespace(active_size=1024)
    crawler = SimpleNamespace(engine=SimpleNamespace(scraper=SimpleNamespace(slot=slot)))
    with counted_as_load(crawler):
        with counted_as_load(crawler):
            assert slot.active_size == 1024 + 2 * 20_000
        assert slot.active_size == 1024 + 20_000
    with pytest.raises(TimeoutError), counted_as_load(crawler):
        raise TimeoutError
    assert slot.active_size == 1024


@pytest.mark.parametrize(
    "without", [None, SimpleNamespace(), SimpleNamespace(scraper=SimpleNamespace(slot=None))]
)
def test_where_there_is_nothing_to_count_in_items_wait_all_the_same(without):
    with counted_as_load(SimpleNamespace(engine=without)):
        pass


# The contract: what the installed version of Scrapy has


class Passes:
    def process_item(self, item):
        return item


class PassesToo(Passes):
    pass


class Parses(Spider):
    name = "parses"

    def parse(self, response):
        yield from ()


@pytest.fixture
def lost(monkeypatch, caplog):
    """The features reported as lost; each test starts with none."""
    monkeypatch.setattr(scrapy_internals, "_lost", set())
    caplog.set_level(logging.WARNING)

    def lines():
        return [line for line in caplog.messages if "differs from what this plugin" in line]

    return lines


def test_a_response_keeps_its_tree_and_its_text():
    response = TextResponse("http://a.example/", body=b"<p>", encoding="utf-8")
    assert (response._cached_selector, response._cached_ubody) == (None, None)
    assert response.selector is response._cached_selector
    assert response.text is response._cached_ubody


def test_callbacks_have_names(lost):
    class Rules(CrawlSpider):
        rules = (Rule(LinkExtractor(), callback="page"),)

        def page(self, response):
            pass

    def name(spider, callback=None, **given):
        request = Request("http://a.example/", callback, **given)
        return callback_name(Response("http://a.example/", request=request), spider)

    rules, spider = Rules(name="rules"), Parses()
    assert name(spider) == name(spider, partial(spider.parse, number=1)) == "Parses.parse"
    assert name(rules, rules._callback, meta={"rule": 0}).endswith("Rules.page")
    assert name(rules) == "CrawlSpider._parse"
    assert callback_name(None, spider) == "start() or an errback"
    assert lost() == []


def test_the_scraper_counts_its_load():
    assert Slot().active_size == 0
    assert callable(ExecutionEngine.close_spider_async)


def test_the_item_processor_lists_the_pipelines(lost):
    pipelines = {Passes: 1, PassesToo: 2}
    manager = ItemPipelineManager.from_crawler(get_crawler(Parses, {"ITEM_PIPELINES": pipelines}))
    first, last = manager.middlewares
    crawler = crawler_with(scraper=SimpleNamespace(itemproc=manager))
    assert isinstance(last, PassesToo)
    assert [*map(list, pipelines_around(crawler, first))] == [[], [last]]
    assert [*map(list, pipelines_around(crawler, last))] == [[first], []]
    # An unknown class of the project.
    crawler.engine.scraper.itemproc = SimpleNamespace()
    assert pipelines_around(crawler, last) is None
    assert lost() == []


@deferred_f_from_coro_f
async def test_the_item_processor_tells_that_a_pipeline_fails_as_it_closes(lost):
    crawler, errors = get_crawler(Parses, {"ITEM_PIPELINES": {FailsToClose: 1}}), []
    crawler.spider = Parses()
    crawler._apply_settings()
    scraper = Scraper(crawler)
    await scraper.open_spider_async()
    watch_closing(crawler_with(scraper=scraper), errors.append)
    with pytest.raises(OSError, match="full"):
        await scraper.close_spider_async()
    assert [str(error) for error in errors] == ["full"]
    assert lost() == []


class FailsToClose(Passes):
    def close_spider(self):
        raise OSError("full")


def feed(tmp_path):
    options = {"format": "jsonlines", "batch_item_count": 5}
    crawler = get_crawler(Parses, {"FEEDS": {str(tmp_path / "%(batch_id)d.jl"): options}})
    crawler.spider = Parses()
    exporter = FeedExporter.from_crawler(crawler)
    exporter.open_spider(crawler.spider)
    return crawler, exporter


def test_the_exporter_tells_what_it_writes(tmp_path, lost):
    crawler, exporter = feed(tmp_path)
    uri = str(tmp_path / "%(batch_id)d.jl")
    (slot,) = exporter.slots
    assert isinstance(slot, FeedSlot)
    slot.itemcount, slot.batch_id = 3, 2
    ((found, written, chosen),) = feed_counts(exporter)
    assert (found, written, chosen) == (uri, 8, slot.filter)
    assert closed_feed(slot) == (uri, 3, str(tmp_path / "1.jl"))
    before = feed_slots(exporter)
    exporter.item_scraped({"a": 1}, crawler.spider)
    after = feed_slots(exporter)
    assert after is not before
    with pytest.raises(TypeError):
        exporter.item_scraped({"a": object()}, crawler.spider)
    assert feed_slots(exporter) is after, "an item that can't be written is seen by that"
    slot.file.close()
    slot.store_empty = True
    crawler.get_extension = lambda kind: exporter
    keep_old_feeds(crawler)
    assert slot.store_empty is False
    assert lost() == []


@pytest.mark.parametrize(
    ("uri", "options", "replaces"),
    [
        ("f.jl", {}, False),
        ("f.jl", {"overwrite": True}, True),
        ("f-%(time)s.jl", {"overwrite": True}, False),
        ("s3://bucket/f.jl", {}, True),
        ("s3://bucket/f-%(batch_id)d.jl", {}, False),
    ],
)
def test_a_feed_of_a_fixed_name_that_is_overwritten_replaces_the_last_one(uri, options, replaces):
    exporter = SimpleNamespace(feeds={uri: options})
    assert replaces_feeds(SimpleNamespace(get_extension=lambda kind: exporter)) is replaces
    assert not replaces_feeds(SimpleNamespace(get_extension=lambda kind: None))


# Without it a feature is lost, with one warning, and nothing else


def crawler_with(**parts):
    return SimpleNamespace(
        engine=SimpleNamespace(**parts), get_extension=lambda kind: SimpleNamespace()
    )


class Bare(TextResponse):
    """As if Scrapy kept the tree elsewhere."""

    def __getattribute__(self, name):
        if name.startswith("_cached"):
            raise AttributeError(name)
        return super().__getattribute__(name)


def use_tree():
    response = Bare("http://a.example/", body=b"<p>", encoding="utf-8")
    assert not has_tree(response)
    release_tree(response)


def use_load():
    slot = SimpleNamespace()
    with counted_as_load(crawler_with(scraper=SimpleNamespace(slot=slot))):
        pass
    assert vars(slot) == {}


def use_pipelines():
    manager = ItemPipelineManager.__new__(ItemPipelineManager)
    assert pipelines_around(crawler_with(scraper=SimpleNamespace(itemproc=manager)), None) is None


def use_closing():
    watch_closing(crawler_with(scraper=SimpleNamespace(itemproc=SimpleNamespace())), print)


def use_items():
    watch_items(crawler_with(scraper=SimpleNamespace()), print)


def use_feeds():
    bare = SimpleNamespace(slots=[SimpleNamespace()])
    assert feed_counts(bare) is closed_feed(SimpleNamespace()) is None


@pytest.mark.parametrize(
    ("use", "feature"),
    [
        (use_tree, "parsed pages stay in memory"),
        (use_load, "do not slow down fetching"),
        (use_pipelines, "that nothing stores count as stored"),
        (lambda: close_crawl(crawler_with(), "reason"), "is not closed when its index fails"),
        (use_closing, "although an item pipeline failed"),
        (use_items, "items are compared without their pages"),
        (lambda: callback_name(Response("http://a.example/"), SimpleNamespace()), "not name"),
        (use_feeds, "items count as stored"),
        (lambda: keep_old_feeds(crawler_with()), "may replace earlier feeds"),
        (lambda: may_know_requests(crawler_with()), "leaves out counts as removed"),
    ],
)
def test_what_is_missing_costs_one_feature_and_one_warning(use, feature, lost):
    for _ in range(2):
        use()
    (line,) = lost()
    assert feature in line


class NamesItsCallback(PageSpider):
    async def start(self):
        for url in self.urls:
            yield Request(url, self.parse)


@deferred_f_from_coro_f
async def test_without_it_a_crawl_checks_and_stores(settings, tmp_path, monkeypatch, lost):
    def fail(*given):
        raise AttributeError("another Scrapy")

    feed = {"FEEDS": {str(tmp_path / "f.jl"): {"format": "jsonlines"}}}
    settings |= feed | {"SIMHASH_ON_DUPLICATE": "skip", "CONCURRENT_REQUESTS": 1}
    unreadable = property(fail, lambda *given: None)
    monkeypatch.setattr(FeedSlot, "uri_template", unreadable, raising=False)
    monkeypatch.delattr(Spider, "_parse")
    with serve({"/a": article("a"), "/b": article("a"), "/c": article("b")}) as site:
        urls = [f"{site}/{name}" for name in "abc"]
        done = await crawl(NamesItsCallback, settings, urls)
        assert (done.stats["unique"], done.stats["duplicates"]) == (2, 1)
        again = await crawl(NamesItsCallback, settings | {"SIMHASH_KNOWN": "drop"}, urls)
    assert again.items == [], "the run was settled, and its claims confirmed"
    assert len(lost()) == 1
