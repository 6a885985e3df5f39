"""Documents that were dropped as copies and may turn out to be none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from scrapy_simhash.index.verdict import ClaimRow
from scrapy_simhash.item.urls import same_site, site

# Copies of one document and site that the next one is compared with.
_COPIES = 4

#: The slots and keys of a document that many share.
Keys = Sequence[tuple[int, int]]


class CorpusCopies:
    """Copies of documents of other sites that have facts: they may turn out to be none.

    Attributes:
        known: of each document, by their sites, the copies with their keys.
    """

    def __init__(self) -> None:
        self.known: dict[int, dict[str, dict[int, Keys]]] = {}

    def add(self, mine: ClaimRow, original: ClaimRow, keys: Keys) -> None:
        """Note a copy, if it is such a one."""
        if mine.facts and mine.url and original.url and not same_site(mine.url, original.url):
            of_sites = self.known.setdefault(original.id, {})
            of_sites.setdefault(site(mine.url), {})[mine.id] = keys

    def some(self, original: int, url: str) -> list[int]:
        """Some copies of a document that are of the site of a URL."""
        of_sites = self.known.get(original)
        return list(islice(of_sites.get(site(url), ()), _COPIES)) if of_sites else []

    def take(self, original: ClaimRow, shared: Collection[str]) -> list[tuple[int, Keys]]:
        """Remove and return the copies of a document where it, or they, are of one of the sites."""
        of_sites = self.known.pop(original.id, {})
        is_shared = site(original.url) in shared
        left = {name: of for name, of in of_sites.items() if not (is_shared or name in shared)}
        if left:
            self.known[original.id] = left
        return sorted(pair for name in of_sites.keys() - left for pair in of_sites[name].items())
