"""Figures of a report: sums, other thresholds, groups, patterns of URLs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from scrapy_simhash import history
from scrapy_simhash.history.drops import SAME
from scrapy_simhash.item.sites import same_site, site
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import limits, similarity_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from scrapy_simhash.report.subject import Report

__all__ = [
    "TOP",
    "key_figures",
    "list_groups",
    "other_thresholds",
    "shares",
    "similarity_of_limit",
    "skipped_counts",
    "sum_stats",
    "url_pattern",
]

TOP = 15

_SIMILARITIES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def sum_stats(stats: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The stats of several runs in one."""
    total: dict[str, float] = {}
    for one in stats:
        for name, value in one.items():
            if isinstance(value, (int, float)):
                short = name.removeprefix("simhash/")
                total[short] = total.get(short, 0) + value
    return total


def key_figures(report: Report, stats: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Name, value and a remark."""
    claims = sum(row.claims for row in report.runs)
    orphans = sum(row.orphans for row in report.runs)
    pending = sum(row.pending for row in report.runs)
    unchanged = report.counts.get(SAME, 0)
    total = sum(report.counts.values()) - unchanged
    checked = stats.get("checked", 0)
    share = f"{stats.get('duplicates', 0) / checked:.1%} of what was checked" if checked else ""
    still = f", {pending:,} pending" if pending else ""
    found = [
        ("Kept", f"{claims:,}", f"claims in the index{still}"),
        ("Near-duplicates", f"{total:,}", share or "are remembered"),
    ]
    if report.duplicates:
        same = sum(same_site(drop.url, drop.original or "") for drop in report.duplicates)
        on_site = same / len(report.duplicates)
        found += [
            ("On the same site", f"{on_site:.1%}", "of the near-duplicates"),
            ("Across sites", f"{1 - on_site:.1%}", "of the near-duplicates"),
        ]
    if unchanged:
        found.append(("Unchanged", f"{unchanged:,}", "fetched again and dropped"))
    for title, name, remark in (
        ("Checked", "checked", "pages or items, in all"),
        ("Same page again", "same", "its owner's own earlier version"),
        ("Released", "claims/released", "claimed, but not stored"),
        ("Not checked", "failed_open", "the index did not answer"),
    ):
        if stats.get(name):
            found.append((title, f"{stats[name]:,.0f}", remark))
    remedy = "scrapy simhash restore --orphans" if orphans else "nothing was left uncovered"
    found.append(("Orphans", f"{orphans:,}", remedy))
    found.append(("Index", f"{report.namespace.size:,}", f"claims, {report.namespace.plan}"))
    return found


def skipped_counts(stats: Mapping[str, float]) -> list[tuple[str, int]]:
    """Why pages were not compared, and how many."""
    return [
        (name.removeprefix("skipped/").replace("_", " "), int(value))
        for name, value in sorted(stats.items())
        if name.startswith("skipped/")
    ]


def other_thresholds(
    report: Report, nearest: Mapping[int, int]
) -> list[tuple[str, int, int, int, bool]]:
    """Threshold, its distance, what it would have kept, what dropped, whether it is the present."""
    if report.namespace.bits == 128:
        tried = [(f"{one:g}", limits(one)[1]) for one in _SIMILARITIES]
    else:
        around = range(max(0, report.limit - 3), report.limit + 4)
        tried = [(f"distance {one}", one) for one in around]
    distances = Counter(drop.distance for drop in report.duplicates)
    return [
        (
            name,
            limit,
            sum(count for distance, count in distances.items() if distance > limit),
            sum(count for distance, count in nearest.items() if distance <= limit),
            limit == report.limit,
        )
        for name, limit in tried
    ]


def list_groups(report: Report) -> list[tuple[str, str | None, int]]:
    """The original's URL as it is searched for and as a link, and how many duplicates it has."""
    return [
        (shortened(url or f"claim {claim}, gone", 500), _link(url), count)
        for claim, count, url in history.largest_groups(
            report.database, report.namespace, report.run
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
        for percent in range(70, 101):
            if limits(percent / 100)[1] == distance and percent % 5 == 0:
                return f"{percent / 100:g}"
    return f"about {similarity_at(distance, bits):.2f}"
