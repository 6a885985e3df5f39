"""An item goes on as without the plugin, but for the time of its verdict; however it ends."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from loopback import STORES, PageSpider, article, crawl, path_of, prose, serve
from scrapy import Request, signals
from scrapy.logformatter import LogFormatter
from scrapy.utils.defer import deferred_f_from_coro_f

# Without the add-on, as the docs show it.
PROJECTS = (Path(__file__).parents[2] / "docs/projects.md").read_text("utf-8")
(BLOCK,) = re.findall(r"```python\n(DOWNLOADER_MIDDLEWARES.*?)```", PROJECTS, re.DOTALL)
BY_HAND: dict[str, dict[str, int]] = {}
exec(BLOCK, {}, BY_HAND)


class Waits(PageSpider):
    """Its callback waits until its item is stored."""

    name = "waits"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.stored = asyncio.Event()
        crawler.signals.connect(spider.stored.set, signals.item_scraped)
        return spider

    async def parse(self, response):
        yield {"url": response.url}
        await asyncio.wait_for(self.stored.wait(), 30)


@deferred_f_from_coro_f
async def test_a_callback_may_wait_until_its_item_is_stored(settings, caplog):
    caplog.set_level("INFO")
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(Waits, settings, [f"{site}/a", f"{site}/b"])
    assert done.errors == 0
    assert done.urls == ["/a", "/b"], "nobody knows that they are the only ones of their pages"
    (line,) = (line for line in caplog.messages if "waits after its first item" in line)
    assert line.startswith("Waits.parse waits")


@pytest.mark.parametrize(("count", "kept"), [(2, 1), (1, 2)])
@deferred_f_from_coro_f
async def test_where_nobody_asks_a_callback_for_more_its_item_goes_on(settings, count, kept):
    """With CONCURRENT_ITEMS = 1 Scrapy asks for more when the item has been stored."""

    class Spider(PageSpider):
        def parse(self, response):
            yield {"url": response.url}
            for number in range(10):
                yield Request(f"{response.url}?{number}", self.nothing)

        def nothing(self, response):
            pass

    with serve({"/a": article(1), "/b": article(1)}) as site:
        more = {"CONCURRENT_ITEMS": count}
        done = await crawl(Spider, settings | more, [f"{site}/a", f"{site}/b"])
    assert len(done.items) == kept
    assert done.errors == 0


# At the next visits

ITEMS = {
    "the address of its page": lambda page, price: {"url": page, "price": price},
    "an address of its own": lambda page, price: {
        "url": f"http://a.example{path_of(page)}",
        "n": price,
    },
    "a text": lambda page, price: {"url": page, "text": prose(path_of(page)), "price": price},
}


class Moody(PageSpider):
    """Ends in one way or another, as `how` says for each page."""

    name = "moody"

    def __init__(self, urls, item, how):
        super().__init__(urls)
        self.item, self.how = item, how

    async def parse(self, response):
        yield self.item(response.url)
        match self.how[int(path_of(response.url)[1:]) % len(self.how)]:
            case "w":
                await asyncio.sleep(0)
            case "e":
                raise ValueError("an error")


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize(
    ("known", "how"),
    [
        ("pass", "---w"),
        ("drop", "www-"),
        ("pass", ["--w-", "w", "-w", "-"]),
        ("drop", ["e-", "-e", "ee", "-"]),
    ],
)
@deferred_f_from_coro_f
async def test_a_visit_that_ends_in_another_way_finds_what_is_known(settings, known, item, how):
    settings |= {"SIMHASH_KNOWN": known, "SIMHASH_CHANGE_FIELD": "change"}
    pages, said = {f"/{number}": article(number) for number in range(4)}, []
    with serve(pages) as site:
        urls = [site + path for path in pages]
        for price, visit in zip("1112", how, strict=True):
            done = await crawl(Moody, settings, urls, lambda url: item(url, f"{price}.00"), visit)  # noqa: B023
            said.append(Counter(one["change"]["status"] for one in done.items))
    unchanged = {"unchanged": 4} if known == "pass" else {}
    assert said == [{"new": 4}, unchanged, unchanged, {"changed": 4}]


@pytest.mark.parametrize("known", ["pass", "drop"])
@deferred_f_from_coro_f
async def test_a_list_whose_callback_waits_may_grow_and_shrink(settings, known):
    """Its entries have no URLs, and the first one might be the only one of the page."""

    class Lists(PageSpider):
        name = "lists"

        def __init__(self, urls, names):
            super().__init__(urls)
            self.names = names

        async def parse(self, response):
            for name in self.names:
                yield {"name": name}
                await asyncio.sleep(0)

    kept = []
    with serve({"/a": article(1)}) as site:
        for names in ("ab", "nab", "nab", "b", "ab"):
            done = await crawl(Lists, settings | {"SIMHASH_KNOWN": known}, [f"{site}/a"], names)
            kept.append("".join(sorted(item["name"] for item in done.items)))
    assert kept == (["ab", "abn", "abn", "b", "ab"] if known == "pass" else ["ab", "n", "", "", ""])


# Changed by its spider while it waits


class Shares(PageSpider):
    """Its callbacks share an item, which is changed for each page."""

    name = "shares"

    async def start(self):
        item = {"parts": []}
        for url in self.urls:
            yield Request(url, meta={"item": item})

    def parse(self, response):
        item = response.meta["item"]
        item["url"] = response.url
        item["parts"].append(path_of(response.url))
        yield item


class SeesChanges:
    """Stores at once."""

    seen: ClassVar[list[tuple[str, str]]] = []

    def process_item(self, item):
        self.seen.append((path_of(item["url"]), "".join(item["parts"])))
        return item


@deferred_f_from_coro_f
async def test_an_item_that_several_pages_share_is_stored_as_it_came(settings, caplog):
    SeesChanges.seen.clear()
    settings |= {"CONCURRENT_REQUESTS": 1, "ITEM_PIPELINES": {SeesChanges: 500}}
    pages = {f"/{number}": article(number) for number in range(6)}
    with serve(pages) as site:
        await crawl(Shares, settings, [site + path for path in pages])
    assert SeesChanges.seen == [
        (f"/{number}", "".join(list(pages)[: number + 1])) for number in range(6)
    ]
    (line,) = (line for line in caplog.messages if "changed an item" in line)
    assert line.startswith("Shares.parse changed an item")


# Whatever ends it


class Cancelled:
    """Its first item is cancelled."""

    def __init__(self):
        self.count = 0

    async def process_item(self, item):
        self.count += 1
        if self.count == 1:
            await asyncio.sleep(0.05)
            raise asyncio.CancelledError
        return item


class FirstFails(LogFormatter):
    """Scrapy then sends no signal."""

    count = 0

    def scraped(self, item, response, spider):
        self.count += 1
        if self.count == 1:
            raise ValueError("an error in a log formatter")
        return super().scraped(item, response, spider)


@pytest.mark.parametrize(
    "more", [{"ITEM_PIPELINES": {Cancelled: 500}}, {"LOG_FORMATTER": FirstFails}]
)
@deferred_f_from_coro_f
async def test_the_copy_of_an_item_that_ends_without_a_signal_takes_its_place(
    settings, more, monkeypatch
):
    # Long enough for a busy machine; without it all ends well at last.
    monkeypatch.setattr("scrapy_simhash.crawl.deduplicator.STALLED", 10.0)
    with serve({"/a": article(1), "/b": article(1)}) as site:
        done = await crawl(PageSpider, settings | more, [f"{site}/a", f"{site}/b"])
    assert done.urls == ["/b"]
    assert done.stats["claims/released"] == done.stats["claims/confirmed"] == 1
    assert "failed_open" not in done.stats


@pytest.mark.parametrize("left_out", ["", "EXTENSIONS", "DOWNLOADER_MIDDLEWARES"])
@deferred_f_from_coro_f
async def test_the_components_do_the_same_as_the_add_on(settings, left_out, caplog):
    given = {name: value for name, value in BY_HAND.items() if name != left_out}
    with serve({"/a": article(1), "/b": article(1), "/c": article(2)}) as site:
        urls = [f"{site}/{name}" for name in "abc"]
        by_hand = await crawl(PageSpider, settings | STORES | given | {"ADDONS": {}}, urls)
        other = {"SIMHASH_NAMESPACE": "other"}
        added = await crawl(PageSpider, settings | STORES | other, urls)
    assert by_hand.urls == added.urls == ["/a", "/c"]
    # A copy is found in flight, or in the index.
    same = [{*one.stats} - {"in_flight_waits", "index/candidates"} for one in (by_hand, added)]
    assert same[0] == same[1]
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]
