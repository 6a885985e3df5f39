"""Crawls that are repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from itemadapter import ItemAdapter
from loopback import Crawl, crawl
from scrapy import Spider
from sqlalchemy import create_engine, text

#: Settings of a crawl that gets pages in the order of its requests, whatever their hosts.
IN_ORDER = {
    # On a busy machine the database answers late.
    "SIMHASH_TIMEOUT": 60,
    "CONCURRENT_REQUESTS": 1,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


def claims_in(settings: Mapping[str, Any]) -> int:
    """The number of claims in all namespaces of a database."""
    engine = create_engine(settings["SIMHASH_DATABASE_URL"])
    with engine.connect() as connection:
        count = connection.execute(text("SELECT count(*) FROM simhash_claims")).scalar_one()
    engine.dispose()
    return count


def contents(items: Iterable[Any], *but: str) -> list[str]:
    """Items as sorted JSON, without some of their fields."""
    return sorted(
        json.dumps(
            {name: value for name, value in ItemAdapter(item).asdict().items() if name not in but},
            sort_keys=True,
            ensure_ascii=False,
            default=str,
        )
        for item in items
    )


async def crawl_twice(
    spider: type[Spider],
    settings: Mapping[str, Any],
    *args: Any,
    kept: int,
    but: Iterable[str] = (),
    **kwargs: Any,
) -> Crawl:
    """Crawl twice: the second visit must keep what the first did, and claim nothing new.

    Args:
        spider: what crawls.
        settings: of both crawls.
        args: for the spider.
        kept: how many items the first visit must keep.
        but: fields that differ at each visit.
        kwargs: for the spider.

    Returns:
        The first visit.
    """
    first = await crawl(spider, settings, *args, **kwargs)
    assert len(first.items) == kept, f"{len(first.drops)} dropped on the first visit"
    claims = claims_in(settings)
    second = await crawl(spider, settings, *args, **kwargs)
    assert len(second.items) == kept, f"{len(second.drops)} dropped on the second visit"
    assert contents(second.items, *but) == contents(first.items, *but)
    assert claims_in(settings) == claims, "the second visit claimed something new"
    assert (first.errors, second.errors) == (0, 0)
    return first
