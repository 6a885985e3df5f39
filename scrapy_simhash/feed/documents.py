"""From an item of a feed to the document that is compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scrapy_simhash.feed.errors import FeedError
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.content import digest_on, read_facts, read_item
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.simhash.scheme import Sketch, longest_text
from scrapy_simhash.text.html import decode, is_too_complex, is_too_large, parse_html
from scrapy_simhash.text.page import read_page
from scrapy_simhash.text.page_facts import page_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.feed.warc import WarcPage
    from scrapy_simhash.item.content import ItemContent
    from scrapy_simhash.simhash.scheme import Scheme
    from scrapy_simhash.text.extractor import Extractor

__all__ = ["ItemReader", "PageReader", "What"]

# When the items were crawled is not known, so no moment is taken for that by its value alone.
_NEVER = {"since": math.inf, "now": -math.inf}


@dataclass(frozen=True, slots=True)
class What:
    """What of an item is compared.

    Attributes:
        fields: these alone; None for all.
        ignore: fields that say nothing.
        key: fields that identify an item; None for its own address.
    """

    fields: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    key: Sequence[str] | None = None

    def noted(self) -> list[str]:
        """What another call has to have in common with this one to go on with its work."""
        notes = [] if self.fields is None else [f"fields {name}" for name in self.fields]
        notes += [f"ignore {name}" for name in self.ignore]
        return notes + [f"key {name}" for name in self.key or ()]


class ItemReader:
    """Makes the documents of a feed.

    An item's own text is compared, or the item as a whole, to the letter, where it has none, too
    little or too much of it. A feed without addresses counts as one site: nothing is known of where
    its items come from, and the stricter rule, by which what they say keeps them apart, loses none.

    Args:
        feed: the identity of the feed; all of it is one visit.
        scheme: of the fingerprints.
        what: of an item is compared.
        secret: of the database.
        min_features: a text of fewer says nothing.
        max_text: one of more characters is not looked at.
    """

    def __init__(
        self,
        feed: str,
        scheme: Scheme,
        what: What,
        secret: bytes,
        *,
        min_features: int,
        max_text: int,
    ) -> None:
        self._feed = feed
        self._scheme = scheme
        self._what = what
        self._secret = secret
        self._min_features = min_features
        self._max_text = max_text
        self._visit = _number(feed)

    def document(self, item: Mapping[str, Any], number: int) -> Document | None:
        """The document of an item; None where the item says nothing, or can't be read to its end.

        Args:
            item: its fields.
            number: its place in the feed, from 0 on.

        Raises:
            FeedError: it has none of the fields.
        """
        url = item.get("url")
        page = url if isinstance(url, str) else ""
        said = self._read(item, page)
        if said.is_empty and not said.names_page:
            self._check_fields(item, number)
            return None
        sketch = Sketch(None, 0, None)
        if said.text and len(said.text) <= self._max_text:
            sketch = self._scheme.sketch(said.text)
        facts, exact = said.facts.with_numbers(said.text, self._secret), False
        digest = digest_on(said, page)
        if sketch.fingerprint is None or sketch.size < self._min_features:
            if digest is None:
                return None
            sketch, facts, exact = self._whole(digest), Facts(), True
        # Things that one page lists under addresses of their own are different things.
        is_listed = bool(page) and said.address is not None
        return Document(
            sketch,
            f"{self._feed}:{page} {said.address}" if is_listed else f"{self._feed}:{number}",
            page or said.address or "",
            visit=self._visit,
            fetch=_number(f"{self._feed}:{page}") if is_listed else 0,
            text=None if exact else said.text,
            facts=facts,
            digest=digest,
            exact=exact,
            # What goes on after an interruption knows its own.
            token=_number(f"{self._feed}:{number}"),
            published=said.published,
            canonical=said.canonical,
        )

    def _read(self, item: Mapping[str, Any], page: str) -> ItemContent:
        what = self._what
        return read_item(
            item,
            fields=what.fields,
            ignore=what.ignore,
            key=what.key,
            page_url=page,
            secret=self._secret,
            **_NEVER,
        )

    def _check_fields(self, item: Mapping[str, Any], number: int) -> None:
        fields = self._what.fields
        if fields is None or any({name, name.partition(".")[0]} & item.keys() for name in fields):
            return
        raise FeedError(
            f"item {number + 1} has none of the fields {', '.join(fields)}; it has "
            f"{', '.join(map(str, item)) or 'none'}"
        )

    def _whole(self, digest: bytes) -> Sketch:
        bits = min(self._scheme.bits, 8 * len(digest))
        return Sketch(int.from_bytes(digest, "big") & (1 << bits) - 1, 0, None)


class PageReader:
    """Makes the documents of the pages of an archive, each alone, as a crawl compares pages.

    Args:
        feed: the identity of the corpus; all of it is one visit.
        scheme: of the fingerprints.
        extractor: finds the main text.
        min_features: a text of fewer says nothing.
        max_text: a page that shows more is not looked at.
        secret: of the database.
    """

    def __init__(
        self,
        feed: str,
        scheme: Scheme,
        *,
        extractor: Extractor,
        min_features: int,
        max_text: int,
        secret: bytes,
    ) -> None:
        self._feed = feed
        self._scheme = scheme
        self._extractor = extractor
        self._min_features = min_features
        self._max_text = longest_text(scheme, max_text)
        self._secret = secret
        self._visit = _number(feed)

    def document(self, page: WarcPage, number: int) -> Document | None:
        """The document of a page; None where it says too little, or is too much to look at.

        Args:
            page: as it was fetched.
            number: its place in the corpus, from 0 on.
        """
        found = self._read(page)
        if found is None or not found[0].strip() or len(found[0]) > self._max_text:
            return None
        text, facts, rest = found
        sketch = self._scheme.sketch(text)
        if sketch.fingerprint is None or sketch.size < self._min_features:
            return None
        return Document(
            sketch,
            f"{self._feed}:{number}",
            page.url,
            visit=self._visit,
            text=text,
            facts=facts.with_numbers(text, self._secret),
            rest=rest,
            token=_number(f"{self._feed}:{number}"),
        )

    def _read(self, page: WarcPage) -> tuple[str, Facts, bytes | None] | None:
        """Its main text, its facts, and a sketch of all that it shows."""
        if page.html is None:
            return page.text or "", Facts(), None
        if is_too_large(page.html):
            return None
        text = decode(page.html)
        root = None if is_too_complex(text, is_parsed=False) else parse_html(text)
        if root is None or not isinstance(root.tag, str):
            return None
        says = read_page(root, self._extractor, most=self._max_text, secret=self._secret)
        if says is None or not says.speaks:
            return None
        facts = read_facts(
            page_facts(root), page_url=page.url, since=math.inf, now=-math.inf, secret=self._secret
        )
        return says.text, facts, says.rest


def _number(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
