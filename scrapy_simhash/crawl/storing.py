"""Whether there is anything in a crawl that could store its items."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["warn_if_nothing_stores"]

logger = logging.getLogger(__name__)


def warn_if_nothing_stores(crawler: Crawler, pipeline: object) -> None:
    """Say so where a crawl that is about to start has no feed, and no pipeline after ours.

    Its claims are confirmed all the same: an extension or a middleware may well store its items,
    and nobody can see that. Whoever only tries something out wants to know what that leaves behind.
    """
    if crawler.get_extension(FeedExporter) is not None:
        return
    # An item processor of somebody's own may have no list.
    pipelines = getattr(crawler.engine.scraper.itemproc, "middlewares", ())
    if not pipelines or pipelines[-1] is not pipeline:
        return
    logger.warning(
        "Nothing stores what this crawl scrapes: there is no feed, and no item pipeline after "
        "SimhashPipeline. Its items count as stored all the same, so later crawls may leave them "
        "out. To try something out, add -s SIMHASH_ENABLED=0, or -o and a file; where an extension "
        "or a middleware stores them, all is well"
    )
