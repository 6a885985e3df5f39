"""The item pipeline: drops near-duplicates before they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.crawl.verdicts import Verdicts

if TYPE_CHECKING:
    from typing import Any, Self

    from scrapy.crawler import Crawler

__all__ = ["SimhashPipeline"]


class SimhashPipeline:
    """Asks for the verdict on an item's page, or on the item itself, and drops the duplicates."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Built by Scrapy; raises as :meth:`Verdicts.of` does."""
        return cls(Verdicts.of(crawler))

    async def process_item(self, item: Any) -> Any:
        """Called by Scrapy with each item.

        Raises:
            NearDuplicateItem: what the item's page says is stored already.
        """
        return await self._verdicts.process(item)
