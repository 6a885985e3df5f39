"""Figures of a report: key figures, other thresholds, groups, patterns of URLs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from scrapy_simhash import history
from scrapy_simhash.item.sites import same_site, site
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import SIMILARITIES, limits, similarity_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.report.subject import Subject

__all__ = [
    "TOP",
    "Figure",
    "Group",
    "Threshold",
    "key_figures",
    "list_groups",
    "other_thresholds",
    "shares",
    "similarity_of_limit",
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
        limit: the distance that it means.
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
    found.append(
        Figure("Index", f"{subject.namespace.size:,}", f"claims, {subject.namespace.plan}")
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
    if subject.namespace.bits == 128:
        tried = [(f"{one:g}", limits(one)[1]) for one in SIMILARITIES]
    else:
        around = range(max(0, subject.limit - 3), subject.limit + 4)
        tried = [(f"distance {one}", one) for one in around]
    distances = Counter(drop.distance for drop in subject.duplicates)
    return [
        Threshold(
            name,
            limit,
            sum(count for distance, count in distances.items() if distance > limit),
            sum(count for distance, count in subject.nearest.items() if distance <= limit),
            limit == subject.limit,
        )
        for name, limit in tried
    ]


def list_groups(subject: Subject) -> list[Group]:
    """The pages with the most near-duplicates."""
    return [
        Group(shortened(url or f"claim {claim}, gone", 500), _link(url), count)
        for claim, count, url in history.largest_groups(
            subject.database, subject.namespace, subject.run
        )
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


def similarity_of_limit(distance: int, bits: int) -> str:
    """The similarity that was set, if a usual one means this distance; else what it is about."""
    if bits == 128:
        for similarity in SIMILARITIES:
            if limits(similarity)[1] == distance:
                return f"{similarity:g}"
    return f"about {similarity_at(distance, bits):.2f}"
