"""Warns of crawls that find nothing but copies: in a trap, on a mirror, in front of a wall."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field

from scrapy.crawler import Crawler

from scrapy_simhash.crawl.scrapy_internals import close_crawl
from scrapy_simhash.index.verdict import Verdict
from scrapy_simhash.item.urls import UrlParts
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

#: Copies without any new or changed item between them, after which there is a warning.
_TRAP = 300
#: The same, if all are copies of one item: every page may show the same notice.
_WALL = 20

_LONGEST = 500


@dataclass(eq=False)
class Repeats:
    """Counts the items since the last one that is new or has changed.

    `most` is the setting SIMHASH_CLOSESPIDER_REPEATS.
    """

    crawler: Crawler
    most: int | None
    _items: int = 0
    # The first copies among them, with the URLs of their originals.
    _copies: list[tuple[str, str]] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)

    def see(self, url: str, verdict: Verdict) -> None:
        """Look at the verdict on an item, found at a URL."""
        match = verdict.match
        if verdict.kind != "duplicate" and verdict.status in {"new", "changed"}:
            self._items = 0
            self._copies.clear()
        if match is None or verdict.kind not in {"duplicate", "same"}:
            return
        self._items += 1
        if verdict.kind == "duplicate" and len(self._copies) < _TRAP:
            self._copies.append((url, match.url))
            if len(self._copies) % _WALL == 0 and "wall" not in self._told:
                self._warn_of_wall()
            if len(self._copies) == _TRAP and "trap" not in self._told:
                self._warn_of_trap()
        if self._items == self.most and "closed" not in self._told:
            self._told.add("closed")
            logger.info("The crawl is closed, as the last items were stored before: %d", self.most)
            close_crawl(self.crawler, "simhash_repeats")

    def _warn_of_wall(self) -> None:
        urls, originals = map(set, zip(*self._copies, strict=True))
        # Views and sessions of one page differ from it in a parameter.
        if len(originals) > 1 or len(urls) < _WALL or 2 * self._parts().total() > len(urls):
            return
        self._told.add("wall")
        logger.warning(
            "Only copies of one item were found in a row: %d. It may be a notice in place of the "
            "pages, such as for consent, a login or a ban: %s",
            len(self._copies),
            self._last,
        )

    def _warn_of_trap(self) -> None:
        self._told.add("trap")
        ((part, count),) = self._parts().most_common(1) or [("", 0)]
        of_part = f" {count} of them differ from the originals in {part} of the URL."
        logger.warning(
            "Only copies were found in a row: %d. The crawl may be in a trap, or on a mirror: "
            "%s.%s SIMHASH_CLOSESPIDER_REPEATS closes such a crawl",
            _TRAP,
            self._last,
            of_part if count > _TRAP / 2 else "",
        )

    def _parts(self) -> Counter[str]:
        """How many copies differ from their originals in one part of the URL, by the part."""
        return Counter(part for pair in self._copies for part in _different_parts(*pair))

    @property
    def _last(self) -> str:
        url, original = (shortened(one, _LONGEST) for one in self._copies[-1])
        return f"the last is {url}, a copy of {original}"


def _different_parts(url: str, other: str) -> list[str]:
    """The parts without which two URLs are equal, one at a time."""
    here, there = UrlParts.of(url), UrlParts.of(other)
    if here is None or there is None:
        return []
    names = dict.fromkeys([*here.names(), *there.names()])
    return [name for name in names if here.without((name,)) == there.without((name,))]
