"""The add-on: one line in a project's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.crawl.logstats import SimhashLogStats
from scrapy_simhash.crawl.pipeline import SimhashPipeline
from scrapy_simhash.crawl.spidermiddleware import SimhashSpiderMiddleware

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["Addon"]


class Addon:
    """Puts the components in their places, where the project has not done so itself."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl starts."""
        # Closest to the engine: what other spider middlewares filter is never counted on.
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", SimhashSpiderMiddleware, 40
        )
        # Before the pipelines that store, and those that put other objects in an item's place.
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", SimhashPipeline, 100)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", SimhashLogStats, 0)
