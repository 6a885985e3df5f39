"""Pages as the plugin tracks them, without a crawl."""

from __future__ import annotations

from scrapy.http import Response

from scrapy_simhash.crawl.tracking import Page


def tracked(
    response: Response | None, *, is_alone: bool = True, key: str = "", download: int = 0
) -> Page:
    """A page whose callback has yielded one item, or several."""
    page = Page("n", lambda: response, key, download, items=1 if is_alone else 2)
    page.is_only.resolve(is_alone)
    return page


def document_of(maker, page, item):
    """The document of an item, or why it has none."""
    draft = maker.draft(page, item)
    return draft if isinstance(draft, str) else maker.of_item(draft)
