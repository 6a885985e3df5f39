"""The field in which items carry what they are copies of."""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import urlsplit

import pytest
from hosts import serve_hosts
from item_kinds import kinds_of
from itemadapter import ItemAdapter
from loopback import STORES, PageSpider, crawl, prose
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_f_from_coro_f
from servers import ENGINES
from site_pages import bare, paragraphs, story, title

FIELD = {"SIMHASH_GROUP_FIELD": "group"}
REPORT = {"SIMHASH_ON_DUPLICATE": "report"}


class KindSpider(PageSpider):
    name = "kinds"

    def __init__(self, urls, kind=dict) -> None:
        super().__init__(urls)
        self.kind = kind

    def parse(self, response):
        yield self.kind(url=response.url)


def page(number: int, *more: str) -> bytes:
    return bare(title(number), paragraphs(*story(number, 240), *more))


def hosts_of(count: int):
    hosts = {
        host: {f"/{number}": page(number) for number in range(count)}
        for host in ("one.example", "two.example", "three.example")
    }
    return hosts, [f"http://{host}{path}" for host, pages in hosts.items() for path in pages]


def groups(items) -> dict[str, str]:
    """The group of each item, by its address."""
    return {ItemAdapter(item)["url"]: ItemAdapter(item)["group"] for item in items}


def members(found: dict[str, str]) -> list[list[str]]:
    """Which items have one in common."""
    of = defaultdict(list)
    for url, group in found.items():
        of[group].append(url)
    return sorted(map(sorted, of.values()))


@pytest.mark.parametrize("engine", ENGINES)
@deferred_f_from_coro_f
async def test_groups_are_the_same_in_every_run(settings):
    hosts, urls = hosts_of(3)
    given = settings | STORES | FIELD
    with serve_hosts(hosts) as through:
        # What is dropped first, a later crawl stores; and a version that changed is no other thing.
        first = await crawl(KindSpider, given | through, urls)
        hosts["one.example"]["/1"] = page(1, f"{prose('news', 8)}.")
        second = await crawl(KindSpider, given | through | REPORT, urls)
        hosts["one.example"]["/1"] = page(1, f"{prose('news', 8)}. {prose('more', 4)}.")
        third = await crawl(KindSpider, given | through | REPORT, urls[::-1])
    kept = groups(first.items)
    assert sorted(kept) == urls[:3]
    assert len(set(kept.values())) == 3
    assert all(isinstance(group, str) and group for group in kept.values())
    assert second.stats["claims/refreshed"] == 1
    for crawled in (second, third):
        found = groups(crawled.items)
        assert sorted(found) == sorted(urls)
        assert {url: kept[f"http://one.example{urlsplit(url).path}"] for url in urls} == found


@pytest.mark.parametrize("kind", kinds_of("url", "group", "change"))
@deferred_f_from_coro_f
async def test_items_of_every_kind_carry_it_and_their_change(settings, kind):
    hosts, urls = hosts_of(2)
    with serve_hosts(hosts) as through:
        given = settings | STORES | through | FIELD | REPORT | {"SIMHASH_CHANGE_FIELD": "change"}
        done = await crawl(KindSpider, given, urls, kind=kind)
    assert done.errors == 0
    assert all(isinstance(item, kind) for item in done.items)
    statuses = [ItemAdapter(item)["change"]["status"] for item in done.items]
    assert sorted(statuses) == ["copy"] * 4 + ["new"] * 2
    found = members(groups(done.items))
    assert found == [sorted(urls[number::2]) for number in range(2)]


@pytest.mark.parametrize("kind", [*kinds_of("url")[1:], kinds_of("url", "group", frozen=True)[2]])
@deferred_f_from_coro_f
async def test_items_that_can_not_carry_it_are_stored_without_and_reported_once(
    settings, kind, caplog
):
    hosts, urls = hosts_of(3)
    with serve_hosts(hosts) as through:
        given = settings | STORES | through | FIELD
        done = await crawl(KindSpider, given, urls, kind=kind)
    assert len(done.items) == 3
    assert (done.stats["claims/confirmed"], done.errors) == (3, 0)
    (line,) = [one.getMessage() for one in caplog.records if one.name.endswith("crawl.fields")]
    assert f"'group' is not written to items of {kind.__module__}.{kind.__qualname__}" in line


class DropFirst:
    """Drops the first item, some time after the second one has come."""

    def __init__(self) -> None:
        self.seen = False

    async def process_item(self, item):
        if not self.seen:
            self.seen = True
            raise DropItem("not wanted")
        return item


@deferred_f_from_coro_f
async def test_a_copy_of_what_was_not_stored_begins_a_group_of_its_own(settings):
    hosts, urls = hosts_of(1)
    with serve_hosts(hosts) as through:
        given = settings | STORES | through | FIELD | REPORT
        done = await crawl(KindSpider, {**given, "ITEM_PIPELINES": {DropFirst: 900}}, urls)
        again = await crawl(KindSpider, given, urls)
    assert done.stats["claims/released"] == 1
    assert members(groups(done.items)) == [sorted(urls[1:])]
    assert members(groups(again.items)) == [sorted(urls)]
    assert set(groups(again.items).values()) == set(groups(done.items).values())
