"""From a page, or an item of it, to the document that is compared; or why there is none."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from scrapy.http import HtmlResponse

from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.values import item_text

if TYPE_CHECKING:
    from typing import Any

    from scrapy.http import Response

    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.tracking import Page, Subject
    from scrapy_simhash.simhash.scheme import Sketch

__all__ = ["DocumentMaker", "Reason"]

#: Why something is not compared.
Reason = Literal["disabled", "not_text", "no_text", "too_large", "too_short"]

#: A text of fewer features that is so small a part of its page is a shell, a consent wall or what
#: the parser saved of a hostile page, the same for many different pages.
_SHELL_FEATURES, _SHELL_RATIO = 32, 500


class DocumentMaker:
    """Makes the documents of a crawl.

    Args:
        settings: what of a page or an item is compared, and what is too little or too much.
        stats: where the time is counted that it takes.
    """

    def __init__(self, settings: Settings, stats: CrawlStats) -> None:
        self._settings = settings
        self._stats = stats

    def make(self, subject: Subject, item: Any) -> Document | Reason:
        """The document of a subject, or why it has none.

        Args:
            subject: what the verdict is to be on.
            item: the item that it is asked for with; None where a page is judged before its
                callback has run.
        """
        page = subject.page
        if page.is_left_alone:
            return "disabled"
        with self._stats.spent("text_seconds"):
            text = self._text(page, item)
        if text is None:
            return "not_text"
        if not text.strip():
            return "no_text"
        if len(text) > self._settings.max_text:
            return "too_large"
        with self._stats.spent("fingerprint_seconds"):
            sketch = self._settings.scheme.sketch(text)
        if sketch.fingerprint is None:
            return "no_text"
        if sketch.size < self._settings.min_features or self._is_shell(page, text, sketch):
            return "too_short"
        return Document(
            sketch,
            page.key if page.response is not None else _key_of(text),
            page.url,
            position=subject.position,
            visit=page.visit,
            text=text,
        )

    def _text(self, page: Page, item: Any) -> str | None:
        """The text that is compared: "" if there is none, None if the page is no HTML."""
        if self._settings.fields is not None:
            return item_text(item, self._settings.fields.of(item))
        return "" if page.response is None else self._main_text(page.response)

    def _main_text(self, response: Response) -> str | None:
        if not isinstance(response, HtmlResponse):
            return None
        root = response.selector.root
        # A comment, for one, is a root without a name.
        return self._settings.extractor(root) if isinstance(getattr(root, "tag", None), str) else ""

    def _is_shell(self, page: Page, text: str, sketch: Sketch) -> bool:
        return (
            self._settings.fields is None
            and page.response is not None
            and sketch.size < _SHELL_FEATURES
            and len(page.response.body) > _SHELL_RATIO * len(text)
        )


def _key_of(text: str) -> str:
    """The owner key of an item of ``start()``: the same item in another run is the same owner's."""
    return f"item:{blake2b(text.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
