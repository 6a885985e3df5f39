"""Turn items of a feed into the documents that are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_simhash.index.batch import identity_hash
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.content import (
    ItemContent,
    digest_of,
    digest_on,
    is_canonical,
    published_first,
    read_item,
)
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.fields import FEW_SPACES, GLANCE, LOOK, MIN_PROSE, SHORT
from scrapy_simhash.item.folding import is_encoded, is_markup
from scrapy_simhash.item.names import Name, name_of
from scrapy_simhash.item.state import without_state
from scrapy_simhash.item.urls import is_url, own_url
from scrapy_simhash.item.values import read_fields
from scrapy_simhash.simhash.scheme import Scheme, Sketch, sketch_all
from scrapy_simhash.simhash.shingles import Shingles
from scrapy_simhash.text.density import density
from scrapy_simhash.text.page import Extractor, MarkupReader

#: The time of the crawl is unknown, so no value of an item is taken for it.
NO_CRAWL: Any = {"since": math.inf, "now": -math.inf}

_NO_FACTS = Facts()

# The URL of the page of an item, its content, and the sketch of the page that is its text, if any.
_Read = tuple[str, ItemContent, bytes | None]


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Makes the documents of items.

    Items are compared by their texts. An item whose text is missing, too short or too long is
    compared as a whole and exactly. Items without an address count as items of one site: there the
    stricter rule applies, by which different facts keep items apart, so that none is lost.

    Attributes:
        scheme: of the fingerprints, with the secret in it.
        secret: hashes of facts depend on it.
        min_features: a text with fewer features is too short.
        max_text: a text with more characters is too long.
        only: compare these fields only; None for all.
        ignore: irrelevant fields.
        key: fields that identify an item on its page; None for the item's own address.
        beside_texts: fields that are irrelevant in an item with a text.
        extractor: finds the main text of a page in a value.
    """

    scheme: Scheme
    secret: bytes
    min_features: int
    max_text: int
    only: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    key: Sequence[str] | None = None
    beside_texts: Sequence[str] = ()
    extractor: Extractor = density

    def document(self, item: Mapping[str, Any], number: int) -> Document | None:
        """The document of an item; None for an empty item, and for one that can't be read."""
        (made,) = self.documents([item], [number])
        return made

    def documents(
        self, items: Sequence[Mapping[str, Any] | None], numbers: Iterable[int]
    ) -> list[Document | None]:
        """The documents of items, and None for None; their texts are sketched together."""
        name = self._prose_name()
        ignore = (*self.ignore, *self.beside_texts)
        prose = [self._read_prose(item, name) if item and name else None for item in items]
        read = [
            one or (None if item is None else self._read(item, ignore))
            for item, one in zip(items, prose, strict=True)
        ]
        sketches = self._sketches(read)
        for place, item in enumerate(items):
            # What looks like prose may be the same words again and again, and what is irrelevant
            # beside a text may be all that tells rows of data apart.
            least = MIN_PROSE if prose[place] else self.min_features if self.beside_texts else 0
            if item is not None and sketches[place].size < least:
                read[place] = self._read(item, self.ignore)
                sketches[place : place + 1] = self._sketches(read[place : place + 1])
        return [
            None if one is None else self._document(*one, sketch, number)
            for one, sketch, number in zip(read, sketches, numbers, strict=True)
        ]

    def _sketches(self, read: Sequence[_Read | None]) -> list[Sketch]:
        texts = ["" if one is None else one[1].text for one in read]
        return sketch_all(
            self.scheme, [text if len(text) <= self.max_text else "" for text in texts]
        )

    def _document(
        self,
        page: str,
        content: ItemContent,
        page_sketch: bytes | None,
        sketch: Sketch,
        number: int,
    ) -> Document | None:
        digest = digest_on(content, page)
        if digest is None or content.is_empty:
            return None
        facts, exact = content.facts, False
        if sketch.fingerprint is None or sketch.size < self.min_features:
            bits = min(self.scheme.bits, 8 * len(digest))
            sketch = Sketch(int.from_bytes(digest, "big") & (1 << bits) - 1, 0, None)
            facts, exact = _NO_FACTS, True
        # Things that one page lists under addresses of their own are different things.
        is_listed = bool(page) and content.own_url is not None
        return Document(
            sketch,
            f"listed:{page} {content.own_url}" if is_listed else f"item:{number}",
            page or content.own_url or "",
            alone=False,
            listing=identity_hash(page) if is_listed else 0,
            text=None if exact else content.text,
            facts=facts,
            page_sketch=None if exact else page_sketch,
            digest=digest,
            exact=exact,
            published=content.published,
            canonical=content.canonical,
        )

    def _prose_name(self) -> Name | None:
        """The only compared field, if its name has no meaning and it may hold prose."""
        only = self.only or ()
        if len(only) != 1 or "." in only[0] or only[0] in self.ignore or self.key is not None:
            return None
        name = name_of(only[0])
        tells = name.marks or name.state or name.shortest_id
        return None if tells or type(self.scheme) is not Shingles else name

    def _read_prose(self, item: Mapping[str, Any], name: Name) -> _Read | None:
        """What `_read` returns of an item of which one long text is compared, in less time.

        None if that text may be anything but prose.
        """
        (everything, unread), inside = read_fields(item), f"{name.text}."
        value = everything.get(name.text)
        if type(value) is not str or not SHORT < len(value) <= LOOK or unread:
            return None
        if is_url(name, value) or any(other.startswith(inside) for other in everything):
            return None
        if len(value) < GLANCE and value.count(" ") > FEW_SPACES:
            value = without_state(value)
        text = value.strip()
        if text[:1] in {"", "{", "["} or is_markup(value) or is_encoded(text):
            return None
        if is_url(name, text):
            return None
        page = _page_of(item)
        url = own_url(everything, page_url=page, key=None)
        marks = frozenset().union(*[name_of(other).marks for other in everything])
        content = ItemContent(
            prose=[text] if text else [],
            facts=_NO_FACTS,
            own_url=url,
            digest=digest_of(type(item).__name__, {name.text: value}, {}, {}, self.secret),
            has_page_url=False,
            is_empty=False,
            published=published_first(everything) if "published" in marks else None,
            canonical="canonical" in marks and is_canonical(everything, page, url),
        )
        return page, content, None

    def _read(self, item: Mapping[str, Any], ignore: Sequence[str]) -> _Read:
        """Read an item without irrelevant fields."""
        page = _page_of(item)
        how: dict[str, Any] = {"page_url": page, "secret": self.secret, **NO_CRAWL}
        markup = MarkupReader(self.extractor, self.max_text)
        content = read_item(
            item, fields=self.only, ignore=ignore, key=self.key, markup=markup.text, **how
        )
        return page, markup.with_facts(content, **how), markup.sketch_of(content.text)


def _page_of(item: Mapping[str, Any]) -> str:
    url = item.get("url")
    return url if isinstance(url, str) else ""
