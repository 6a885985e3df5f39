"""Figures of a report: key figures, other thresholds, groups, patterns of URLs, runs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from scrapy_simhash import history
from scrapy_simhash.item.sites import site
from scrapy_simhash.report.subject import sum_stats
from scrapy_simhash.report.times import format_time
from scrapy_simhash.report.verdict import skipped_counts
from scrapy_simhash.simhash.measure import SIMILARITIES, candidate_limit, similarity_at
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from scrapy_simhash.report.subject import Subject

__all__ = [
    "TOP",
    "Figure",
    "Group",
    "Part",
    "Threshold",
    "compared_runs",
    "key_figures",
    "list_groups",
    "list_parts",
    "other_thresholds",
    "shares",
    "url_pattern",
]

#: Of sites, groups and patterns of URLs so many are listed.
TOP = 15

# Of so many runs, the newest, two can be compared.
_RUNS = 100


class Figure(NamedTuple):
    """A number that stands by itself, as it is shown."""

    name: str
    value: str


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
        name: its URL as it is shown.
        link: its URL, if it is safe to follow.
        claim: the number of its claim.
        duplicates: how many it has.
    """

    name: str
    link: str | None
    claim: int
    duplicates: int


class Part(NamedTuple):
    """A part of addresses without which there is nothing less.

    Attributes:
        name: what it is called.
        counts: what is shown of it.
        example: one of the addresses, as it is shown.
        link: that address, if it is safe to follow.
    """

    name: str
    counts: Sequence[int]
    example: str
    link: str | None


def key_figures(subject: Subject) -> list[Figure]:
    """The numbers at the top of a report."""
    stats, counts = subject.stats, subject.counts
    unchanged = counts.get(history.SAME, 0)
    copies = sum(counts.values()) - unchanged
    near = sum(count for _, count in subject.kept.counts)
    found = [
        ("checked", stats.get("checked", 0)),
        ("claims stored", sum(row.claims for row in subject.runs)),
        ("copies", copies),
        ("unchanged", unchanged),
        ("kept although near", near),
        ("orphans", sum(row.orphans for row in subject.runs)),
    ]
    return [Figure(name, f"{value:,.0f}") for name, value in found if value or name == "copies"]


def compared_runs(subject: Subject) -> list[dict[str, Any]]:
    """What two runs can be compared by, the newest first."""
    found = []
    for row in subject.runs[:_RUNS]:
        stats = sum_stats([row.stats])
        counted = {
            "checked": stats.get("checked", 0),
            "new": stats.get("unique", 0),
            "copies": stats.get("duplicates", 0),
            "the same as before": stats.get("same", 0),
            "kept although near": stats.get("kept/other_facts", 0),
            "not compared": sum(count for _, count in skipped_counts(stats)),
            "unchecked": stats.get("failed_open", 0),
            "orphans": row.orphans,
        }
        spider = shortened(row.spider, 60)
        name = f"{row.id}: {spider}, {format_time(row.opened)}"
        found.append({"id": row.id, "spider": spider, "name": name, "counts": counted})
    return found


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
    found = history.largest_groups(subject.database, subject.namespace, subject.run, limit=TOP)
    return [
        Group(shortened(url or f"claim {claim}, gone", 500), _link(url), claim, count)
        for claim, count, url in found
    ]


def list_parts(subject: Subject) -> tuple[list[Part], list[Part]]:
    """The parts of addresses that say nothing, and those whose pages gave nothing new."""
    nothing, empty = history.repeating(subject.patterns)
    return (
        [_part(one, (one.compared, one.repeats, one.groups)) for one in nothing],
        [_part(one, (one.empty,)) for one in empty],
    )


def _part(one: history.Pattern, counts: Sequence[int]) -> Part:
    return Part(shortened(one.part, 200), counts, shortened(one.example, 200), _link(one.example))


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
