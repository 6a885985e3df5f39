"""What waits for a verdict counts in Scrapy's own measure of what it has on its hands."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

__all__ = ["Load"]

#: Bytes that an item counts while it waits: of 5,000,000, as ``SCRAPER_SLOT_MAX_ACTIVE_SIZE`` is by
#: default, 250 items take all, four times what one transaction claims.
_WAITING = 20_000


class Load:
    """Keeps pages from piling up where they come faster than they are claimed.

    Scrapy asks for no more pages while those that it has not done with hold more bytes than
    ``SCRAPER_SLOT_MAX_ACTIVE_SIZE``. It counts their bodies, of which 5,000 small ones fit into
    that, and not the hundred tasks that it makes for each, which live until the item is through.

    Args:
        crawler: whose pages they are.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @contextmanager
    def item_waits(self) -> Iterator[None]:
        """An item waits inside."""
        scraper = getattr(self._crawler.engine, "scraper", None)
        slot = getattr(scraper, "slot", None)
        if slot is None or not hasattr(slot, "active_size"):
            yield
            return
        slot.active_size += _WAITING
        try:
            yield
        finally:
            slot.active_size -= _WAITING
