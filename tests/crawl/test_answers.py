"""Answers of the index that come late or fail: nothing is lost, no verdict outlives its reason."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from loopback import InPhases, PageSpider, article, crawl, error_lines, in_batch, path_of, serve
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f
from stored import rows_of

from scrapy_simhash.crawl.thread import DatabaseThread
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.exceptions import IndexUnavailable
from scrapy_simhash.index.index import Index
from scrapy_simhash.text.packed import TooLarge

PATHS = in_batch(12, 3)


class DropsFirst:
    """Drops the first item once the verdict on its copy is on its way."""

    def __init__(self, crawler):
        self.crawler, self.crawler.is_decided = crawler, asyncio.Event()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_item(self, item):
        if path_of(item["url"]) == "/a":
            await self.crawler.is_decided.wait()
            raise DropItem("not wanted")
        return item


@pytest.mark.parametrize("original", ["new", "known", "claimed too late"])
@deferred_f_from_coro_f
async def test_a_verdict_whose_original_was_dropped_while_it_was_on_its_way_is_asked_for_again(
    settings, monkeypatch, original
):
    claim, crawlers, claimed = Worker.claim, [], []

    class Spider(PageSpider):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            crawlers.append(crawler)
            return super().from_crawler(crawler, *args, **kwargs)

    async def comes_late(self, namespace, document):
        is_copy = path_of(document.url) == "/b"
        while is_copy and not claimed:
            await asyncio.sleep(0.01)
        verdict = await claim(self, namespace, document)
        claimed.append(document.url)
        if not is_copy and original == "claimed too late":
            # As the worker does where nobody waits any more; the item is stored unchecked.
            while not crawlers[-1].is_decided.is_set():
                await asyncio.sleep(0.01)
            self.release(namespace, verdict)
            raise IndexUnavailable("no answer")
        if is_copy and not crawlers[-1].is_decided.is_set():
            crawlers[-1].is_decided.set()
            while not crawlers[-1].stats.get_value("item_dropped_count"):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)  # its outcome follows at once
        return verdict

    with serve({"/a": article(1), "/b": article(1)}) as site:
        if original == "known":
            await crawl(PageSpider, settings, [f"{site}/a"])
        monkeypatch.setattr(Worker, "claim", comes_late)
        settings |= {"ITEM_PIPELINES": {DropsFirst: 900}, "CONCURRENT_REQUESTS": 16}
        done = await crawl(Spider, settings, [f"{site}/a", f"{site}/b"])
    assert done.urls == ["/b"]


@deferred_f_from_coro_f
async def test_a_blocked_event_loop_is_no_fault_of_the_database(settings, monkeypatch):
    """The answer comes soon after nobody could look for it."""
    execute, begun, is_over = Index.execute, threading.Event(), threading.Event()

    def waits(self, claims=(), **more):
        begun.set()
        is_over.wait(30)
        return execute(self, claims, **more)

    class Blocks(PageSpider):
        async def parse(self, response):
            if response.url.endswith("/b"):
                while not begun.is_set():
                    await asyncio.sleep(0.01)
                time.sleep(2.5)
                asyncio.get_running_loop().call_later(0.3, is_over.set)
            yield {"url": response.url}

    monkeypatch.setattr(Index, "execute", waits)
    with serve({f"/{name}": article(name) for name in "ab"}) as site:
        urls = [f"{site}/{name}" for name in "ab"]
        done = await crawl(Blocks, settings | {"SIMHASH_TIMEOUT": 1}, urls)
    assert (done.stats["unique"], done.stats.get("failed_open", 0)) == (2, 0)


@deferred_f_from_coro_f
async def test_a_claim_that_nobody_waits_for_any_more_is_released(database, monkeypatch):
    """Its item was stored unchecked; the next copy is the first that is known to be stored."""
    execute, is_late = Index.execute, threading.Event()

    def comes_late(self, claims=(), **more):
        verdicts = execute(self, claims, **more)
        if claims and not is_late.is_set():
            time.sleep(2)
            is_late.set()
        return verdicts

    monkeypatch.setattr(Index, "execute", comes_late)
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{database}", "SIMHASH_TIMEOUT": 1}
    with serve({"/a": article(1), "/b": article(1)}) as site:
        urls = [f"{site}/a", f"{site}/b"]
        done = await crawl(InPhases, settings, [lambda: None, is_late.is_set], urls)
    assert done.urls == ["/a", "/b"]
    assert (done.stats["failed_open"], done.stats["unique"]) == (1, 1)
    assert rows_of(database, "SELECT state FROM simhash_claims") == [(1,)]


@deferred_f_from_coro_f
async def test_one_item_that_can_not_be_claimed_does_not_harm_the_others(
    settings, urls, monkeypatch
):
    execute = Index.execute

    def refuse(self, claims=(), **more):
        if any(document.url.endswith("/3/0") for document in claims):
            raise TooLarge("17 MB")
        return execute(self, claims, **more)

    monkeypatch.setattr(Index, "execute", refuse)
    done = await crawl(PageSpider, settings | {"CONCURRENT_REQUESTS": 16}, urls)
    assert done.stats["failed_open"] == 1
    assert done.stats["claims/confirmed"] == 12
    assert "/3/0" in done.urls


@deferred_f_from_coro_f
async def test_a_thread_that_fails_goes_on(database, urls, monkeypatch, caplog):
    """What waits is stored unchecked, and no outcome is lost."""
    do, is_failing = DatabaseThread.do, []

    def fails_at_times(thread, jobs):
        if is_failing:
            raise MemoryError
        return do(thread, jobs)

    monkeypatch.setattr(DatabaseThread, "do", fails_at_times)
    phases = [lambda: None, lambda: is_failing.append(1), is_failing.clear]
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{database}"}
    done = await crawl(InPhases, settings, phases, urls)
    assert {path.split("/")[1] for path in done.urls} == {str(group) for group in range(12)}
    assert done.stats["failed_open"] >= 12
    assert rows_of(database, "SELECT DISTINCT state FROM simhash_claims") == [(1,)]
    assert rows_of(database, "SELECT settled FROM simhash_runs") == [(1,)]
    assert caplog.text.count("The thread of the index failed; it goes on") == 1
    assert len(error_lines(caplog)) == 2
