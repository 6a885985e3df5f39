"""Whether the feeds of a crawl have everything that was scraped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter, ItemFilter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

__all__ = ["FeedCheck"]


class FeedCheck:
    """Compares what was scraped with what the feeds have stored.

    Args:
        crawler: whose feeds they are.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._exported: Counter[str] = Counter()

    def slot_closed(self, slot: FeedSlot) -> None:
        """Handles the signal feed_slot_closed: a feed, or a part of it, is complete."""
        self._exported[slot.uri_template] += slot.itemcount

    def missing(self) -> str | None:
        """What shows that not everything that was scraped has been stored; None if nothing does."""
        figures = self._crawler.stats.get_stats()
        if any(name.startswith("feedexport/failed_count/") for name in figures):
            return "A feed could not be stored"
        scraped = figures.get("item_scraped_count", 0)
        exporter = self._crawler.get_extension(FeedExporter)
        for feed, chosen in exporter.filters.items() if exporter is not None else ():
            if type(chosen) is not ItemFilter or chosen.item_classes:
                # It stores a choice of the items: their number says nothing.
                continue
            if (stored := self._exported[feed]) < scraped:
                return f"The feed {feed} has {stored} items of {scraped}"
        return None
