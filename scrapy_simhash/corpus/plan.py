"""How the documents of a corpus are compared, and which of two copies is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.keys import item_url
from scrapy_simhash.item.urls import site
from scrapy_simhash.keys.bands import Bands
from scrapy_simhash.keys.plan import Blocks, choose_keys
from scrapy_simhash.simhash.scheme import Scheme, keyed

if TYPE_CHECKING:
    from scrapy_simhash.index.verdict import Document

_LAST = (1 << 62) - 1
_OWN_SITE = "own-site="
_NAMES = ("https", "canonical", "longest", "earliest", "shortest-url")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a copy is preferred by: as the user wrote it, and the site that it names, if any.

    It ranks a copy by a number; the next criterion breaks ties.
    """

    name: str
    own_site: str = ""

    def rank(self, document: Document) -> int:
        """A number of 63 bits for a copy, lower is better."""
        url = item_url(document.key, document.url)
        match self.name:
            case "https":
                return int(not url.lower().startswith("https://"))
            case "canonical":
                return int(not document.canonical)
            case "longest":
                return -len(document.text or "")
            case "earliest":
                return _LAST if document.published is None else document.published
            case "shortest-url":
                return len(url) or _LAST
        return int(not url or site(url) != self.own_site)


def criteria_of(names: Iterable[str]) -> tuple[Criterion, ...]:
    """The criteria of names such as "own-site=news.example", "https", "longest".

    Raises:
        ValueError: a name is unknown; lists the known ones.
    """
    criteria = []
    for name in map(str.strip, names):
        own_site = name.removeprefix(_OWN_SITE) if name.startswith(_OWN_SITE) else ""
        if not own_site and name not in _NAMES:
            allowed = ", ".join([f"{_OWN_SITE}example.com", *_NAMES])
            raise ValueError(f"unknown criterion {name!r}; allowed are {allowed}")
        url = own_site if "://" in own_site else f"http://{own_site}/"
        criteria.append(Criterion(name, site(url) if own_site else ""))
    return tuple(criteria)


@dataclass(frozen=True, slots=True)
class Plan:
    """How documents are compared, as in an index with the same options.

    Attributes:
        scheme: of the fingerprints, with the secret in it.
        secret: 16 bytes that all hashes depend on.
        rule: which documents are near-duplicates.
        keys: documents that share one are compared.
        prefer: by which the better copy is chosen, the most important first.
    """

    scheme: Scheme
    secret: bytes
    rule: Rule
    keys: Bands | Blocks
    prefer: Sequence[Criterion] = ()

    @classmethod
    def make(
        cls,
        rule: Rule,
        secret: bytes,
        *,
        expected_size: int = 1_000_000,
        prefer: Sequence[Criterion] = (),
    ) -> Plan:
        """Make a plan; the arguments are those of an index, but for `prefer`.

        A corpus has no visits: each document is compared with all others.

        Raises:
            ValueError: as :class:`~scrapy_simhash.Index` does.
        """
        rule = replace(rule, known=None)
        keys = choose_keys(rule.scheme, rule.similarity, rule.distance, expected_size=expected_size)
        return cls(keyed(rule.scheme, secret), secret, rule, keys, prefer)

    @property
    def width(self) -> int:
        """The width of a fingerprint, in bytes."""
        return -(-self.scheme.bits // 8)
