"""Crawls that come again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from itemadapter import ItemAdapter
from loopback import Crawl, crawl
from sqlalchemy import create_engine, inspect, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy import Spider

on_both_engines = pytest.mark.parametrize("engine", ["sqlite", "postgresql"])


def claims_in(settings: Mapping[str, Any]) -> int:
    """The number of claims in all namespaces of a database."""
    engine = create_engine(settings["SIMHASH_DATABASE_URL"])
    with engine.connect() as connection:
        # What claims nothing does not open the database.
        has_tables = inspect(engine).has_table("simhash_claims")
        count = has_tables and connection.execute(text("SELECT count(*) FROM simhash_claims"))
        count = count.scalar_one() if count else 0
    engine.dispose()
    return count


def said(items: Iterable[Any], *but: str) -> list[str]:
    """What items say, in an order that does not depend on theirs; fields can be left out."""
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
    """Crawl, and again: the second visit must keep what the first did, and claim nothing new.

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
    assert said(second.items, *but) == said(first.items, *but)
    assert claims_in(settings) == claims, "the second visit claimed something new"
    assert (first.errors, second.errors) == (0, 0)
    return first
