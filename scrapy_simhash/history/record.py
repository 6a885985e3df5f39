"""The record of a decision, which commands, report and JSON share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from scrapy_simhash.db.values import ComparedBy
from scrapy_simhash.index.verdict import OF_TEXT
from scrapy_simhash.index.words import UNCHANGED, difference_in_words, likeness_in_words
from scrapy_simhash.item.facts import Values, without_repeated
from scrapy_simhash.item.folding import are_state
from scrapy_simhash.item.keys import UNIDENTIFIED, item_url, lister_of
from scrapy_simhash.item.names import name_of
from scrapy_simhash.item.urls import same_site, view_of
from scrapy_simhash.visible import iso_time, shortened

# Characters shown of a host or a parameter in a cause.
_LONGEST_NAME = 40
# Those of the name of an entry.
_LONGEST_ENTRY = 80


class Content(NamedTuple):
    """A text, and the short values of fields kept beside it."""

    text: str | None
    values: Mapping[str, str]


NOTHING = Content(None, MappingProxyType({}))


class Record(NamedTuple):
    """What was decided on an item, by comparing it with a stored one.

    The stored one is that of which it was a copy, or beside which it was kept; of a change since
    earlier crawls, what was stored before. docs/commands.md says what its names in JSON mean.

    Attributes:
        page, original_page: the URLs of both pages, cut; that from which an item was moved. None if
            the stored item was deleted and its URL is not known.
        original_key: the identity key of the stored item.
        id: of a dropped item, the numbers of its namespace and its sighting, such as "1-17".
        compared_by: what was compared, see `index.batch.how_compared`.
        is_orphan: whether the stored item was not stored in the end.
        has_item: whether the item is in quarantine.
        first_seen: when the stored item was claimed.
        noted: of a change, the old and the new value of each field; of a new item, those of
            `formerly` and its own.
        formerly: of a new item, the URL of a similar one that went at the same visit.
        places: the numbers of the texts of the item and of the stored one.
        own, stored: what is kept of each, see `with_contents`.
    """

    status: str
    page: str
    key: str = ""
    original_page: str | None = None
    original_key: str | None = None
    created: float = 0.0
    run: int = 0
    namespace: str = ""
    group: str | None = None
    id: str | None = None
    similarity: float | None = None
    estimated: bool = False
    distance: int | None = None
    differs: str = ""
    compared_by: int = ComparedBy.TEXT
    is_orphan: bool = False
    has_item: bool = False
    first_seen: float | None = None
    noted: Mapping[str, Sequence[str | None]] = MappingProxyType({})
    formerly: str | None = None
    places: tuple[int, int] = (0, 0)
    own: Content = NOTHING
    stored: Content = NOTHING

    @property
    def url(self) -> str:
        """The URL of the item: its own, if it has one, else that of its page."""
        return item_url(self.key, self.page)

    @property
    def name(self) -> str | None:
        """What tells an entry of a list without a URL from others: its title, else its values."""
        if not self.key.startswith(UNIDENTIFIED):
            return None
        values = self.own.values
        titles = [values[name] for name in values if "title" in name_of(name).marks]
        text = ", ".join(titles or values.values()) or self.own.text
        return text and shortened(text, _LONGEST_ENTRY)

    @property
    def original(self) -> str | None:
        """The URL of the stored item, or the former one of an item that was moved."""
        return item_url(self.original_key or "", self.original_page or "") or None

    @property
    def original_id(self) -> int:
        """The number of the stored item's claim; 0 if there is none."""
        return self.places[1]

    @property
    def listed_by(self) -> str:
        """The site that lists the item, if its URL is of another site; else ""."""
        return lister_of(self.key)

    @property
    def reason(self) -> str:
        """Why it was dropped or kept, in words; "" for a change."""
        if self.differs:
            return difference_in_words(self.differs)
        if self.status == UNCHANGED:
            return UNCHANGED
        if self.is_change:
            return ""
        is_equal = self.similarity == 1 and not self.estimated
        shared = likeness_in_words(self.compared_by, is_equal=is_equal)
        return f"{shared}, but the original was not stored in the end" if self.is_orphan else shared

    @property
    def how(self) -> str:
        """What its URL has in common with that of its original, as a phrase.

        Of a change, where the item was before, and which site lists it.
        """
        if self.is_change:
            told = {"listed by": self.listed_by, "from": self.original, "formerly": self.formerly}
            return "; ".join(f"{what} {where}" for what, where in told.items() if where)
        if self.status == UNCHANGED:
            return "unchanged since an earlier crawl"
        return _cause_of(self.url, self.original) if self.original else "original deleted"

    @property
    def is_change(self) -> bool:
        """Whether it tells what has changed since earlier crawls."""
        return self.status in STATUSES

    @property
    def fields(self) -> Values:
        """The short values that differ, by name: the stored one, then the item's own.

        Facts of the page that repeat a field are left out. The text of a change has no values.
        There are none if those of one item are not kept.
        """
        noted = without_repeated(self.noted)
        if self.status == "changed" and self.similarity not in {None, 1.0}:
            noted.setdefault(OF_TEXT, (None, None))
        return noted or differing_values(self.own.values, self.stored.values, self.differs)

    def as_json(self) -> dict[str, Any]:
        """What programs get of it, under the names that docs/commands.md has; None for nothing."""
        return {
            "status": self.status,
            "url": self.url or None,
            "original": self.original,
            "formerly": self.formerly,
            "similarity": None if self.similarity is None else round(self.similarity, 4),
            "estimated": self.estimated,
            "distance": self.distance,
            "reason": self.reason or None,
            "differs": self.differs or None,
            "fields": self.fields,
            "created": iso_time(self.created),
            "run": self.run,
            "namespace": self.namespace,
            "group": self.group,
            "key": self.key,
            "name": self.name,
            "listed_by": self.listed_by or None,
            "id": self.id,
        }


#: What may have happened to an item since earlier crawls.
STATUSES = ("new", "changed", "moved", "missing", "gone", "back")


def differing_values(
    own: Mapping[str, str], stored: Mapping[str, str], first: str | None = None
) -> Values:
    """The short values of two items that differ, by name, but for their state.

    None if those of one are not kept.
    """
    names = sorted({*own, *stored}, key=lambda name: (name != first, name))
    both = {name: (stored.get(name), own.get(name)) for name in names if own and stored}
    differing = {
        name: values
        for name, values in both.items()
        if values[0] != values[1] and (name == first or not are_state(name, values))
    }
    return without_repeated(differing, first)


@lru_cache(maxsize=1 << 17)
def _cause_of(url: str, original: str) -> str:
    """How the URL of a duplicate differs from that of its original."""
    if url == original:
        return "listed again under the same URL"
    try:
        new, old = urlsplit(url), urlsplit(original)
    except ValueError:
        return "at another URL"
    is_near = same_site(url, original)
    ours, theirs = ([*filter(None, one.path.split("/"))] for one in (new, old))
    # Every site has a first page.
    if ours == theirs and (is_near or ours):
        return _on_one_path(new, old)
    if not is_near:
        return "on another site"
    if view_of(url, original):
        return "another view of the page, such as for printing"
    return "in another folder" if ours[-1:] == theirs[-1:] != [] else "elsewhere on the site"


def _on_one_path(new: SplitResult, old: SplitResult) -> str:
    """How two URLs with the same path differ."""
    hosts = sorted({one.netloc.rpartition("@")[2].lower() for one in (new, old)})
    given = {*new.query.split("&")} ^ {*old.query.split("&")}
    names = sorted({part.partition("=")[0] for part in given} - {""})
    shown = [f"`{shortened(name, _LONGEST_NAME)}`" for name in (*hosts, *names[:3])]
    parts = ["same path"]
    if len(hosts) > 1:
        parts.append(f"on {' and '.join(shown[:2])}")
    if names:
        parts.append(f"other {', '.join(shown[len(hosts) :])}{' …' if len(names) > 3 else ''}")
    if len(parts) > 1:
        return ", ".join(parts)
    is_here = new.fragment == old.fragment
    return "the same URL, written differently" if is_here else "elsewhere on the page"
