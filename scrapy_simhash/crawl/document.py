"""From an item and its page to the document that is compared; or why there is none.

What is compared: the item's own prose, if it has some; otherwise the main text of its page, if the
page yields no other item; otherwise the item as a whole, for equality.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit
from zlib import crc32

from scrapy_simhash.crawl.page_text import NoText, PageText
from scrapy_simhash.crawl.scrapy_internals import release_tree
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.tracking import Page
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.content import ItemContent, digest_on, key_on, read_item, stands_for_page
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.keys import UNIDENTIFIED
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.urls import site
from scrapy_simhash.simhash.scheme import Scheme, Sketch, keyed
from scrapy_simhash.text.packed import pack_text
from scrapy_simhash.text.page import MarkupReader, without_site_lines

#: Why something is not compared.
Reason = Literal[NoText, "disabled", "error_page", "too_short", "unreadable"]

#: A text of fewer features on a page that is so many times larger is a shell, a consent wall or
#: what the parser saved of a hostile page: the same for many different pages.
_SHELL_FEATURES = 32
_SHELL_RATIO = 500

# After an item that is a loose cut, the next items of its host are examined, then one of so many by
# the first characters of its text, so that an item and its copy are both examined, or neither.
_FIRST_PAGES = 16
_ONE_OF = 8
_BEGINNING = 64
_REMEMBERED_HOSTS = 1024

#: Digests of fewer bits may collide.
_DIGEST_BITS = 64

_NO_SKETCH = Sketch(None, 0, None)


class Draft(NamedTuple):
    """A document without its text and its facts, and what they are read from."""

    document: Document
    content: ItemContent
    says: PageText


@dataclass(eq=False)
class DocumentMaker:
    """Makes the documents of a crawl; `ask_secret` returns the secret of the database."""

    settings: Settings
    stats: CrawlStats
    ask_secret: Callable[[], bytes]
    _since: float = field(default_factory=time.time)
    # By host, the number of items since the last loose cut.
    _uncut: Counter[str] = field(default_factory=Counter)

    @cached_property
    def _secret(self) -> bytes:
        return self.ask_secret()

    @cached_property
    def _scheme(self) -> Scheme:
        return keyed(self.settings.scheme, self._secret)

    def draft(self, page: Page, item: Any) -> Draft | Reason:
        """What an item says, or why it is not compared; IndexUnavailable without the secret."""
        if reason := _left_out(page):
            return reason
        with self.stats.spent("text_seconds"):
            says = PageText(page, self.settings, self._secret, self._since)
            content = self._read(item, page, says)
            digest = digest_on(content, page.url)
            if digest is None:
                return "unreadable"
            is_own = page.has_own_item and stands_for_page(item, page.url)
            key = _identity(page, content, is_own=is_own) or UNIDENTIFIED + digest.hex()
            alone = page.has_one_item
            document = Document(_NO_SKETCH, key, page.url, alone=alone, digest=digest)
        if not page.has_one_item and content.own_url is not None:
            document.listing = page.download
        return Draft(document, content, says)

    def of_item(self, draft: Draft) -> Document | Reason:
        """The document of an item, or why it has none."""
        document, content, says = draft
        page = says.page
        with self.stats.spent("text_seconds"):
            reason = self._add_text(document, page, content, says)
        if page.has_one_item:
            # The callback has ended, and no other item needs the page.
            release_tree(page.response)
        if document.text is not None:
            reason = self._add_sketch(document, page)
        if document.sketch.fingerprint is None and (
            reason := self._add_digest(document, content, reason)
        ):
            return reason
        self._pack(document, content.facts if document.exact else document.facts)
        return document

    def _pack(self, document: Document, facts: Facts | None) -> None:
        """Compress what is kept of a document.

        Not in the database's thread: zlib releases the GIL, and while the event loop is busy
        re-acquiring it can take 5 ms.
        """
        settings = self.settings
        if settings.values and facts is not None:
            document.values = facts.short
        if settings.text_budget and (document.text or document.values):
            document.packed = pack_text(document.text or "", document.values)

    def _read(self, item: Any, page: Page, says: PageText) -> ItemContent:
        settings = self.settings
        fields = None if settings.fields is None else settings.fields.of(item)
        how: dict[str, Any] = {"page_url": page.url, "secret": self._secret}
        how |= {"since": self._since, "now": time.time()}
        # What a page shows is in its own text.
        is_markup_text = fields is not None or not says.is_html
        markup = MarkupReader(settings.extractor, settings.max_text)
        content = read_item(
            item,
            fields=fields,
            ignore=settings.ignored(item),
            # Classes that are not named have the usual key.
            key=None if settings.key is None else settings.key.of(item) or None,
            page_names=(says.title, says.name),
            markup=markup.text if is_markup_text else None,
            is_alone=page.has_one_item,
            **how,
        )
        return markup.with_facts(content, **how)

    def _add_text(
        self, document: Document, page: Page, content: ItemContent, says: PageText
    ) -> Reason | None:
        """Add the text that stands for an item, with its facts; or say why there is none.

        A document without a text and without a reason is compared as a whole.
        """
        settings = self.settings
        compare = page.compare or settings.compare
        has_page = settings.fields is None and page.response is not None
        is_auto = compare == "auto" and page.has_one_item
        cut = self._cut(page, says, content.prose) if has_page and is_auto else None
        document.facts = content.facts
        if has_page and (compare == "page" or cut is not None or (is_auto and not content.text)):
            main = says.content
            if isinstance(main, str):
                return main
            document.text = main.text
            # The facts of the page may be those of its other items.
            if page.has_one_item:
                document.text = cut or main.text
                document.facts = content.facts.joined(says.facts)
                if content.text or content.has_more:
                    rest = without_state(content.text)
                    document.facts = document.facts.with_rest(rest, self._secret)
                document.page_sketch = main.page_sketch
            return None
        if not content.text:
            return None
        document.text = content.text
        if has_page and is_auto:
            # Variants of a product, and ads for several towns, may differ in nothing else.
            document.facts = says.facts_beside(content.facts)
        return None

    def _cut(self, page: Page, says: PageText, prose: Sequence[str]) -> str | None:
        """What a loose cut has of the main text of its page, as of some or most pages of a host.

        Where many items were none, only an eighth is looked at: it takes a tenth of parsing.
        """
        if not prose:
            return None
        if len(self._uncut) > _REMEMBERED_HOSTS:
            self._uncut.clear()
        host = urlsplit(page.url).netloc
        self._uncut[host] += 1
        beginning = prose[0][:_BEGINNING].encode("utf-8", "replace")
        if self._uncut[host] > _FIRST_PAGES and crc32(beginning) % _ONE_OF:
            return None
        cut = says.cut(prose)
        if cut is not None:
            self._uncut[host] = 0
        return cut

    def _add_digest(
        self, document: Document, content: ItemContent, reason: Reason | None
    ) -> Reason | None:
        """Have an item compared as a whole; or return why it can't be.

        If there is a reason why it has no text, only with its own past.
        """
        if reason is None:
            self.stats.count_text(0)
        if self.settings.scheme.bits < _DIGEST_BITS:
            return reason or "unreadable"
        if content.is_empty:
            return reason or "no_text"
        digest = cast("bytes", document.digest)
        bits = min(self.settings.scheme.bits, 8 * len(digest))
        document.sketch = Sketch(int.from_bytes(digest, "big") & (1 << bits) - 1, 0, None)
        document.text, document.facts, document.page_sketch = None, Facts(), None
        document.exact, document.reason = True, reason
        return None

    def _add_sketch(self, document: Document, page: Page) -> Reason | None:
        """Add the sketch of a document's text; or return why it has none."""
        settings = self.settings
        whole, facts = cast("str", document.text), cast("Facts", document.facts)
        text = without_site_lines(whole, site(page.url))
        if text != whole and document.page_sketch is None:
            # A new version of the item's own text may differ there alone.
            facts = facts.with_rest(without_state(whole), self._secret)
        if not text.strip():
            self.stats.count_text(0)
            return "no_text"
        if len(text) > settings.max_text:
            return "too_large"
        with self.stats.spent("fingerprint_seconds"):
            sketch = self._scheme.sketch(text)
        self.stats.count_text(sketch.size)
        if sketch.fingerprint is None:
            return "no_text"
        body = b"" if page.response is None else page.response.body
        is_shell = sketch.size < _SHELL_FEATURES and len(body) > _SHELL_RATIO * len(text)
        if sketch.size < settings.min_features or is_shell:
            return "too_short"
        document.sketch, document.text, document.facts = sketch, text, facts
        return None


def _identity(page: Page, content: ItemContent, *, is_own: bool) -> str | None:
    """The key by which later visits know an item; None if nothing identifies it.

    The values of SIMHASH_KEY, or its own URL, on whichever page it is found; else the request of
    its page, if it is alone there or the page's own item. The first item of a callback that waits
    counts as such if it has the URL of the page.
    """
    if (key := key_on(content, page.url)) is not None:
        return key
    may_be = page.may_have_more and content.has_page_url
    return page.key if page.has_one_item or is_own or may_be else None


def _left_out(page: Page) -> Reason | None:
    if page.is_left_alone:
        return "disabled"
    # Error messages are no content, whatever the spider makes of them.
    is_error = page.response is not None and not 200 <= page.response.status < 300
    return "error_page" if is_error else None
