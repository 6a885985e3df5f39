"""From an item and its page to the document that is compared; or why there is none.

What of them is compared: the item's own prose, if it has some; otherwise the main text of its page,
if the page gives nothing else; otherwise the item as a whole, to the letter.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.parsed import forget_tree, has_tree
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.content import digest_on, read_facts, read_item
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.simhash.scheme import Sketch, keyed
from scrapy_simhash.text.html import SHOW_TAGS, decode, is_too_complex, is_too_large, parse_html
from scrapy_simhash.text.packed import pack_text
from scrapy_simhash.text.page import read_page
from scrapy_simhash.text.page_facts import page_facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy_simhash.crawl.settings import Settings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.crawl.tracking import Page, Subject
    from scrapy_simhash.item.content import ItemContent
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["DocumentMaker"]

#: Why something is not compared.
Reason = Literal[
    "disabled",
    "error_page",
    "not_text",
    "no_text",
    "no_main_text",
    "too_complex",
    "too_large",
    "too_short",
    "unreadable",
]

#: A text of fewer features that is so small a part of its page is a shell, a consent wall or what
#: the parser saved of a hostile page, the same for many different pages.
_SHELL_FEATURES, _SHELL_RATIO = 32, 500

#: Digests of fewer bits might be those of two items.
_DIGEST_BITS = 64

_NOTHING = Facts()


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is compared, and what is said beside it."""

    text: str
    facts: Facts
    rest: bytes | None = None


class DocumentMaker:
    """Makes the documents of a crawl.

    Args:
        settings: what of a page or an item is compared, and what is too little or too much.
        stats: where the time is counted that it takes.
        ask_secret: gives that of the database whose index is asked about the documents.
    """

    def __init__(
        self, settings: Settings, stats: CrawlStats, ask_secret: Callable[[], bytes]
    ) -> None:
        self._settings = settings
        self._stats = stats
        self._ask_secret = ask_secret
        self._since = time.time()

    @cached_property
    def _secret(self) -> bytes:
        return self._ask_secret()

    @cached_property
    def _scheme(self) -> Scheme:
        return keyed(self._settings.scheme, self._secret)

    def of_item(self, subject: Subject, item: Any) -> Document | Reason:
        """The document of an item, or why it has none.

        Raises:
            TypeError: it is no item.
            IndexUnavailable: the secret is not known, as the database was not open yet.
        """
        page = subject.page
        if reason := self._left_out(page):
            return reason
        with self._stats.spent("text_seconds"):
            said = self._read(item, page)
            found = self._text(subject, said)
        if subject.is_alone:
            # Its callback is over, and no other item will ask for this page.
            forget_tree(page.response)
        if found is None:
            return self._exact(subject, said)
        return found if isinstance(found, str) else self._by_text(subject, said, found)

    def of_page(self, page: Page) -> Document | Reason:
        """The document of a page whose items are not known yet, or why it has none.

        Raises:
            IndexUnavailable: as :meth:`of_item`.
        """
        if reason := self._left_out(page):
            return reason
        with self._stats.spent("text_seconds"):
            found = self._page_text(page)
        return found if isinstance(found, str) else self._made(page.key, page, found, page.visit)

    def _left_out(self, page: Page) -> Reason | None:
        if page.is_left_alone:
            return "disabled"
        # What a server says of an error is no page, whatever a spider makes of it.
        is_error = page.response is not None and not 200 <= page.response.status < 300
        return "error_page" if is_error else None

    def _read(self, item: Any, page: Page) -> ItemContent:
        settings = self._settings
        return read_item(
            item,
            fields=None if settings.fields is None else settings.fields.of(item),
            ignore=settings.ignored(item),
            # Of classes that are not named the usual address counts.
            key=None if settings.key is None else settings.key.of(item) or None,
            page_url=page.url,
            since=self._since,
            now=time.time(),
            secret=self._secret,
        )

    def _text(self, subject: Subject, said: ItemContent) -> Text | Reason | None:
        """The text that speaks for an item, why it can't; None if the item speaks as a whole."""
        page = subject.page
        compare = page.compare or self._settings.compare
        is_of_page = self._settings.fields is None and page.response is not None
        if is_of_page and (
            compare == "page" or (compare == "auto" and subject.is_alone and not said.text)
        ):
            found = self._page_text(page)
            if isinstance(found, str):
                return found
            # Of what a page gives beside others it does not speak.
            facts = said.facts.joined(found.facts) if subject.is_alone else said.facts
            return Text(found.text, facts, found.rest if subject.is_alone else None)
        if not said.text:
            return None
        if is_of_page and subject.is_alone and self._settings.on_duplicate == "skip":
            # The next such page is judged before there are items.
            found = self._page_text(page)
            if not isinstance(found, str):
                return Text(said.text, said.facts.joined(found.facts), found.rest)
        return Text(said.text, said.facts)

    def _page_text(self, page: Page) -> Text | Reason:
        """The main text of a page, or why it is none that could be compared."""
        if not isinstance(page.response, HtmlResponse):
            return "not_text"
        if is_too_large(page.response.body):
            return "too_large"
        # Where the spider has asked for the tree, it is there.
        is_parsed = has_tree(page.response)
        text = _decoded(page.response)
        body = page.response.body if page.response.encoding in SHOW_TAGS else None
        if is_too_complex(text, is_parsed=is_parsed, body=body):
            return "too_complex"
        try:
            root = page.response.selector.root
        except (LookupError, UnicodeError):
            root = parse_html(text)
        # A comment, for one, is a root without a name.
        if not isinstance(getattr(root, "tag", None), str):
            return "no_text"
        says = read_page(
            root, self._settings.extractor, most=self._settings.max_text, secret=self._secret
        )
        if says is None:
            return "too_large"
        if says.text.strip() and not says.speaks:
            return "no_main_text"
        facts = read_facts(
            page_facts(root),
            page_url=page.url,
            since=self._since,
            now=time.time(),
            secret=self._secret,
        )
        return Text(says.text, facts, says.rest)

    def _exact(self, subject: Subject, said: ItemContent) -> Document | Reason:
        """An item as a whole."""
        self._stats.count_text(0)
        if said.digest is None or self._settings.scheme.bits < _DIGEST_BITS:
            return "unreadable"
        if said.is_empty and not said.names_page:
            return "no_text"
        digest = cast("bytes", digest_on(said, subject.page.url))
        bits = min(self._settings.scheme.bits, 8 * len(digest))
        key, visit = self._owner(subject, said)
        return Document(
            Sketch(int.from_bytes(digest, "big") & (1 << bits) - 1, 0, None),
            key,
            subject.page.url,
            visit=visit,
            fetch=self._fetch(subject, said),
            facts=_NOTHING,
            digest=digest,
            exact=True,
            published=said.published,
            canonical=said.canonical,
        )

    def _by_text(self, subject: Subject, said: ItemContent, found: Text) -> Document | Reason:
        key, visit = self._owner(subject, said)
        document = self._made(key, subject.page, found, visit)
        if not isinstance(document, str):
            document.fetch = self._fetch(subject, said)
            document.digest = digest_on(said, subject.page.url)
            document.published, document.canonical = said.published, said.canonical
            if self._settings.text_budget:
                # To compress it gives the interpreter away, which the database's thread would have
                # back 5 ms later where the event loop is busy.
                document.packed = pack_text(found.text)
        return document

    def _made(self, key: str, page: Page, found: Text, visit: int | None) -> Document | Reason:
        settings, text = self._settings, found.text
        if not text.strip():
            self._stats.count_text(0)
            return "no_text"
        if len(text) > settings.max_text:
            return "too_large"
        with self._stats.spent("fingerprint_seconds"):
            sketch = self._scheme.sketch(text)
        self._stats.count_text(sketch.size)
        if sketch.fingerprint is None:
            return "no_text"
        if sketch.size < settings.min_features or _is_shell(page, text, sketch):
            return "too_short"
        return Document(
            sketch,
            key,
            page.url,
            visit=visit,
            text=text,
            facts=found.facts.with_numbers(text, self._secret),
            rest=found.rest,
        )

    def _owner(self, subject: Subject, said: ItemContent) -> tuple[str, int | None]:
        """Whose the claim is, and which visit of it this is: None for the one of the crawl.

        What a page gives alone is the page's: fetched again, it is the same thing. What it lists is
        the thing's own, wherever it is listed.
        """
        if subject.is_alone and (self._settings.key is None or said.address is None):
            return subject.page.key, subject.page.visit
        if said.address is not None:
            return said.address, None
        digest = digest_on(said, subject.page.url)
        return f"item:{subject.page.key if digest is None else digest.hex()}", None

    def _fetch(self, subject: Subject, said: ItemContent) -> int:
        is_listed = not subject.is_alone and said.address is not None
        return subject.page.visit if is_listed else 0


def _is_shell(page: Page, text: str, sketch: Sketch) -> bool:
    return (
        page.response is not None
        and sketch.size < _SHELL_FEATURES
        and len(page.response.body) > _SHELL_RATIO * len(text)
    )


def _decoded(response: HtmlResponse) -> str:
    """The page as its spider reads it; where it declares no encoding of text, as a browser does."""
    try:
        return response.text
    except (LookupError, UnicodeError):
        return decode(response.body)
