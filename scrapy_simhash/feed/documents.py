"""From an item of a feed to the document that is compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scrapy_simhash.feed.files import FeedError
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.says import digest_on, read_item
from scrapy_simhash.simhash.scheme import Sketch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.item.says import Said
    from scrapy_simhash.simhash.scheme import Scheme

__all__ = ["ItemReader", "What"]

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
    little or too much of it. A
    feed without addresses counts as one site: nothing is known of where its items come from, and
    the stricter rule, by which what they say keeps them apart, loses none.

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
            facts=facts,
            digest=digest,
            exact=exact,
            # What goes on after an interruption knows its own.
            token=_number(f"{self._feed}:{number}"),
        )

    def _read(self, item: Mapping[str, Any], page: str) -> Said:
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


def _number(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
