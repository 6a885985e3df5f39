"""Sends restored items through the item pipelines and feeds of a spider."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object

from scrapy_simhash.cli.project import CommandError
from scrapy_simhash.crawl.components import SimhashPipeline
from scrapy_simhash.crawl.scrapy_internals import is_replaced
from scrapy_simhash.history.record import Record
from scrapy_simhash.history.sql import NamespaceRow


class Restored(NamedTuple):
    """A dropped item: its fields, the path of its class, and where it is kept."""

    namespace: NamespaceRow
    number: int
    record: Record
    fields: dict[str, Any]
    kind: str


def resend(settings: Settings, name: str, found: Iterable[Restored]) -> list[tuple[int, int]]:
    """Let a spider yield items, in place of a crawl.

    Returns the numbers of the namespaces of those that were stored, and their own.
    """
    try:
        spidercls: Any = get_spider_loader(settings).load(name)
    except KeyError as error:
        raise CommandError(f"there is no spider {name!r}") from error
    sent, refused = list[tuple[int, int, Any]](), set[int]()

    class Resending(spidercls):  # type: ignore[misc]
        async def start(self) -> AsyncIterator[Any]:
            for one in found:
                item = _item(one)
                sent.append((one.namespace.id, one.number, item))
                yield item

    own = settings.copy()
    # Of a higher priority than the settings of the spider: nothing may drop the items again.
    own.setdict({"SIMHASH_ENABLED": False, "JOBDIR": None}, priority="cmdline")
    process = CrawlerProcess(own)
    crawler = process.create_crawler(Resending)
    _check_stores(crawler)

    def refuse(item: Any, spider: Spider) -> None:
        refused.add(id(item))

    for signal in (signals.item_dropped, signals.item_error):
        crawler.signals.connect(refuse, signal)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    is_lost = any(str(key).startswith("feedexport/failed_count") for key in stats)
    if process.bootstrap_failed or is_lost or stats.get("finish_reason") != "finished":
        raise CommandError("the items were not stored; see the log above")
    return [(place, number) for place, number, item in sent if id(item) not in refused]


def _check_stores(crawler: Crawler) -> None:
    """Raise CommandError if nothing stores the items, or a feed would replace an older one."""
    feeds = {str(uri): given for uri, given in crawler.settings.getdict("FEEDS").items()}
    if replaced := [uri for uri, given in feeds.items() if is_replaced(uri, given)]:
        raise CommandError(
            f"the feed {replaced[0]} would be replaced by the restored items alone; write them "
            "to a file with -o"
        )
    pipelines = crawler.settings.getwithbase("ITEM_PIPELINES")
    others = {load_object(one) for one, place in pipelines.items() if place is not None}
    if not feeds and others <= {SimhashPipeline}:
        raise CommandError("nothing would store the items: the spider has no pipeline and no feed")


def _item(restored: Restored) -> Any:
    """An item of its own class, if the project has loaded that; else a dict."""
    module, _, name = restored.kind.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    if not isinstance(cls, type) or not ItemAdapter.is_item_class(cls):
        return restored.fields
    try:
        return cls(**restored.fields)
    except (KeyError, TypeError):  # its fields are others now
        return restored.fields
