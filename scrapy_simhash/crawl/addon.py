"""The add-on: one line in a project's settings."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from scrapy_simhash.crawl.logstats import SimhashLogStats
from scrapy_simhash.crawl.pipeline import SimhashPipeline
from scrapy_simhash.crawl.spidermiddleware import SimhashSpiderMiddleware


class Addon:
    """Enables the components of this package, unless the project has placed them itself."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl starts."""
        # Closest to the engine: it must not see what other spider middlewares filter out.
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", SimhashSpiderMiddleware, 40
        )
        # Before pipelines that store items, or replace them by other objects.
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", SimhashPipeline, 100)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", SimhashLogStats, 0)
