"""Figures of a report: key figures, other thresholds, groups, patterns of URLs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from scrapy_simhash import history
from scrapy_simhash.item.sites import same_site, site
from scrapy_simhash.report.differs import in_words
from scrapy_simhash.simhash.measure import SIMILARITIES, candidate_limit, similarity_at
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.report.subject import Subject

__all__ = [
    "TOP",
    "Figure",
    "Group",
    "Kept",
    "Threshold",
    "key_figures",
    "list_groups",
    "list_kept",
    "other_thresholds",
    "shares",
    "skipped_counts",
    "url_pattern",
]

#: Of sites and patterns of URLs so many are listed.
TOP = 15


class Figure(NamedTuple):
    """A number that stands by itself, as it is shown."""

    name: str
    value: str
    remark: str


class Threshold(NamedTuple):
    """A threshold that could be set instead, and what it would have changed.

    Attributes:
        name: what would be set.
        limit: the distance up to which documents are compared for it.
        kept: what was dropped and would have been kept.
        dropped: what was kept and would have been dropped.
        is_present: whether it is the present one.
    """

    name: str
    limit: int
    kept: int
    dropped: int
    is_present: bool


class Group(NamedTuple):
    """A page with its near-duplicates.

    Attributes:
        name: its URL as it is shown, and searched for.
        link: its URL, if it is safe to follow.
        duplicates: how many it has.
    """

    name: str
    link: str | None
    duplicates: int


class Kept(NamedTuple):
    """A page that was kept beside another one, as it is shown: see :class:`Group`."""

    name: str
    link: str | None
    other: str
    other_link: str | None
    reason: str


def key_figures(subject: Subject) -> list[Figure]:
    """The numbers at the top of a report."""
    stats = subject.stats
    claims = sum(row.claims for row in subject.runs)
    orphans = sum(row.orphans for row in subject.runs)
    pending = sum(row.pending for row in subject.runs)
    unchanged = subject.counts.get(history.SAME, 0)
    total = sum(subject.counts.values()) - unchanged
    checked = stats.get("checked", 0)
    share = f"{stats.get('duplicates', 0) / checked:.1%} of what was checked" if checked else ""
    still = f", {pending:,} pending" if pending else ""
    found = [
        Figure("Kept", f"{claims:,}", f"claims in the index{still}"),
        Figure("Near-duplicates", f"{total:,}", share or "are remembered"),
    ]
    if subject.duplicates:
        same = sum(same_site(drop.url, drop.original or "") for drop in subject.duplicates)
        on_site = same / len(subject.duplicates)
        found += [
            Figure("On the same site", f"{on_site:.1%}", "of the near-duplicates"),
            Figure("Across sites", f"{1 - on_site:.1%}", "of the near-duplicates"),
        ]
    if near := sum(count for _, count in subject.kept.counts):
        found.append(Figure("Kept all the same", f"{near:,}", "the text was near, the rest not"))
    if unchanged:
        found.append(Figure("Unchanged", f"{unchanged:,}", "fetched again and dropped"))
    for title, name, remark in (
        ("Checked", "checked", "pages or items, in all"),
        ("Same page again", "same", "its owner's own earlier version"),
        ("Released", "claims/released", "claimed, but not stored"),
        ("Not checked", "failed_open", "the index did not answer"),
    ):
        if stats.get(name):
            found.append(Figure(title, f"{stats[name]:,.0f}", remark))
    remedy = "scrapy simhash restore --orphans" if orphans else "nothing was left uncovered"
    found.append(Figure("Orphans", f"{orphans:,}", remedy))
    keys = shortened(subject.namespace.plan, 80)
    found.append(
        Figure(
            "Index",
            f"{subject.namespace.size:,}",
            f"claims, {keys}",
        )
    )
    return found


def skipped_counts(stats: Mapping[str, float]) -> list[tuple[str, int]]:
    """Why pages were not compared, and how many."""
    return [
        (name.removeprefix("skipped/").replace("_", " "), int(value))
        for name, value in sorted(stats.items())
        if name.startswith("skipped/")
    ]


def other_thresholds(subject: Subject) -> list[Threshold]:
    """What other thresholds would have changed, as far as that is known from what was met."""
    if subject.similarity is not None:
        return [
            _other_similarity(subject, one) for one in sorted({*SIMILARITIES, subject.similarity})
        ]
    distances = Counter(drop.distance for drop in subject.duplicates)
    return [
        Threshold(
            f"distance {one}",
            one,
            sum(count for distance, count in distances.items() if distance > one),
            sum(count for distance, count in subject.nearest.items() if distance <= one),
            one == subject.limit,
        )
        for one in range(max(0, subject.limit - 3), subject.limit + 4)
    ]


def _other_similarity(subject: Subject, similarity: float) -> Threshold:
    bits = subject.namespace.bits
    return Threshold(
        f"{similarity:g}",
        candidate_limit(similarity),
        # Sums of fractions: what is equal may fall short by rounding.
        sum(drop.similarity < similarity - 1e-9 for drop in subject.duplicates),
        sum(
            count
            for distance, count in subject.nearest.items()
            if similarity_at(distance, bits) >= similarity
        ),
        similarity == subject.similarity,
    )


def list_groups(subject: Subject) -> list[Group]:
    """The pages with the most near-duplicates."""
    return [
        Group(shortened(url or f"claim {claim}, gone", 500), _link(url), count)
        for claim, count, url in history.largest_groups(
            subject.database, subject.namespace, subject.run
        )
    ]


def list_kept(subject: Subject) -> list[Kept]:
    """The newest of the pages that were kept although another one's text was near."""
    return [
        Kept(
            shortened(pair.url or f"claim {pair.claim}", 500),
            _link(pair.url),
            shortened(pair.other or f"claim {pair.beside}, gone", 500),
            _link(pair.other),
            in_words(pair.differs),
        )
        for pair in subject.kept.pairs
    ]


def shares(counted: Counter[str]) -> list[tuple[str, int, str]]:
    """The most common names, their counts, and their shares of all."""
    total = max(1, counted.total())
    return [(name, count, f"{count / total:.1%}") for name, count in counted.most_common(TOP)]


def _link(url: str | None) -> str | None:
    """A URL that is safe to follow, and leads where it says."""
    if url and url.lower().startswith(("http://", "https://")) and shortened(url, 500) == url:
        return url
    return None


_NUMBER = re.compile(r"\d+")
_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8,}(-[0-9a-fA-F]{4,})*")


def url_pattern(url: str) -> str:
    """What URLs of a kind have in common: their site, their path less its numbers, their query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    segments = [_segment(segment) for segment in parts.path[:1000].split("/")[:8]]
    names = sorted({name for name, _ in parse_qsl(parts.query[:1000], keep_blank_values=True)})
    query = f"?{'&'.join(names)}" if names else ""
    return shortened(f"{site(url)}{'/'.join(segments)}{query}", 120)


def _segment(segment: str) -> str:
    if _IDENTIFIER.fullmatch(segment) and any(map(str.isdigit, segment)):
        return "{id}"
    if len(segment) > 24:
        return "{slug}"
    return _NUMBER.sub("{number}", segment)
