"""Callbacks that are drawn: what they do, and a crawl of pages that have such callbacks.

As a program it compares drawn crawls with the plugin and without it, with the reactor of select.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from itemadapter import ItemAdapter
from loopback import article, serve
from scrapy import Field, Item, Request, Spider
from scrapy.exceptions import CloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import install_reactor
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

#: Of these only the first awaits. The last two have no generator that could be ended.
FORMS = ["async_generator", "generator", "errback", "returned", "awaited"]
STEPS = [
    *("yield dict", "yield record", "yield item", "yield again", "yield request"),
    *("change", "append"),
    *("await turn", "await time", "await page", "await download", "await stored"),
]
ENDS = [None, ValueError]
#: One of these ends a crawl, or leaves Scrapy waiting.
LAST_ENDS = [CloseSpider, asyncio.CancelledError, GeneratorExit]


@dataclass(frozen=True)
class Plan:
    """What the callback of a page does."""

    form: str
    steps: Sequence[str]
    end: type[BaseException] | None = None


@dataclass
class Record:
    name: str
    number: int
    parts: list[str] = field(default_factory=list)


class Fields(Item):
    name = Field()
    number = Field()
    parts = Field()


MAKE = {"dict": dict, "record": Record, "item": Fields}


async def pause(seconds: float) -> None:
    """Wait with any reactor."""
    waiter: Deferred[None] = Deferred()
    call_later(seconds, waiter.callback, None)
    await maybe_deferred_to_future(waiter)


class PageObject:
    """As page objects do, it needs a while."""

    async def to_item(self) -> dict[str, Any]:
        await pause(0.005)
        return {}


class Stores:
    """The last pipeline; it needs no turn of the event loop."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_item(self, item):
        self.crawler.spider.store(item)
        return item


class Planned(Spider):
    """Runs a plan for each page."""

    name = "planned"

    def __init__(self, site: str, plans: Sequence[Plan]) -> None:
        super().__init__()
        self.site, self.plans = site, plans
        #: What was stored of each page, in its order.
        self.stored: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.waiting: list[tuple[str, int, Deferred[None]]] = []

    async def start(self):
        for number, plan in enumerate(self.plans):
            given = {"plan": plan, "name": f"page {number}"}
            if plan.form == "errback":
                yield Request(f"{self.site}/missing/{number}", errback=self.errback, meta=given)
            else:
                callback = getattr(self, plan.form)
                yield Request(f"{self.site}/{number}", callback, meta=given)

    def store(self, item):
        values = deepcopy(ItemAdapter(item).asdict())
        self.stored[values["name"]].append(values)
        for name, count, waiter in self.waiting:
            if len(self.stored[name]) >= count and not waiter.called:
                waiter.callback(None)

    async def async_generator(self, response):
        yielded, name = 0, response.meta["name"]
        for what, output in self.steps(response.meta):
            if what == "await":
                await self.wait(output, name, yielded)
            else:
                yielded += not isinstance(output, Request)
                yield output

    def generator(self, response):
        yield from (output for what, output in self.steps(response.meta) if what == "yield")

    def returned(self, response):
        return [*self.generator(response)]

    async def awaited(self, response):
        await pause(0)
        return [*self.generator(response)]

    def errback(self, failure):
        yield from self.generator(failure.request)

    def steps(self, meta):
        """What a callback yields and awaits; it changes its last item in between."""
        item, name, plan = None, meta["name"], meta["plan"]
        for number, step in enumerate(plan.steps):
            what, _, kind = step.partition(" ")
            if kind == "request":
                child = f"{name} child {number}"
                url = f"{self.site}/child?{child.replace(' ', '-')}"
                yield "yield", Request(url, self.child, meta={"name": child})
            elif kind in MAKE:
                item = MAKE[kind](name=name, number=number, parts=[f"{name} {number}"])
                yield "yield", item
            elif what == "await":
                yield "await", kind
            elif item is not None and what == "append":
                ItemAdapter(item)["parts"].append(f"more {number}")
            elif item is not None:
                ItemAdapter(item)["number"] = number
                if what == "yield":
                    yield "yield", item
        if plan.end in LAST_ENDS[1:]:
            # Nobody else refers to them: they may be collected, and the crawl never ends.
            call_later(0.02, self.free_workers, asyncio.all_tasks())
        if plan.end is not None:
            raise plan.end("an end")

    async def wait(self, kind, name, yielded):
        match kind:
            case "turn":
                await pause(0)
            case "time":
                await pause(0.02)
            case "page":
                await PageObject().to_item()
            case "download":
                await self.crawler.engine.download_async(Request(f"{self.site}/child?more"))
            case "stored" if len(self.stored[name]) < yielded:
                waiter: Deferred[None] = Deferred()
                self.waiting.append((name, yielded, waiter))
                await maybe_deferred_to_future(waiter)

    def child(self, response):
        yield {"name": response.meta["name"], "number": 0, "parts": []}

    def free_workers(self, tasks):
        """End what Scrapy does not end: its workers wait for more from a callback that is gone."""
        engine = self.crawler.engine
        if engine.scraper.slot.itemproc_size or len(engine.scraper.slot.active) > 1:
            call_later(0.01, self.free_workers, tasks)
            return
        for task in tasks:
            if task.get_coro().__qualname__ == "_parallel_asyncio.<locals>.worker":
                task.cancel()


async def stored(plans: Sequence[Plan], **settings: Any) -> dict[str, list[dict[str, Any]]]:
    """What a crawl stores of each page, in its order."""
    pages = {f"/{number}": article(number) for number in range(len(plans))}
    with serve({**pages, "/child": b"<p>child"}) as site:
        crawler = get_crawler(
            Planned,
            {
                "ITEM_PIPELINES": {Stores: 900},
                "TELNETCONSOLE_ENABLED": False,
                "RETRY_ENABLED": False,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
                **settings,
            },
        )
        await crawler.crawl_async(site, plans)
    return crawler.spider.stored


def with_plugin(database: object) -> dict[str, Any]:
    """Settings of a crawl with the plugin, which drops nothing."""
    return {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_DATABASE_URL": f"sqlite:///{database}",
        "SIMHASH_ON_DUPLICATE": "report",
    }


async def main(database: str) -> None:
    """Compare crawls of plans that are drawn by a fixed seed."""
    draw = random.Random(database)
    for _ in range(10):
        plans = [
            Plan(draw.choice(FORMS), draw.choices(STEPS, k=draw.randint(1, 8)), draw.choice(ENDS))
            for _ in range(3)
        ]
        expected = await stored(plans)
        assert await stored(plans, **with_plugin(database)) == expected, plans


if __name__ == "__main__":
    install_reactor("twisted.internet.selectreactor.SelectReactor")
    from twisted.internet.task import react

    react(lambda _: Deferred.fromCoroutine(main(sys.argv[1])))
