"""What a report shows around its table: histograms, groups, kinds of URLs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from scrapy_simhash.item.urls import site, split_url
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import format_time, plural, shortened

#: Rows of each list, such as the largest groups.
TOP = 15

# Similarities are drawn from this one on, in bins of this width.
_LEAST, _WIDTH = 0.5, 0.01

# Similarities are sums of fractions: one on the edge of a bin may fall short by rounding.
_ROUNDING = 1e-9


class Histogram(NamedTuple):
    """Items of two kinds, counted in bins.

    The summary is a sentence without a full stop; the column says what the bins are, each of which
    has a label and its two counts, which are stacked. Ticks are labels of the horizontal axis,
    evenly spaced, and the threshold is where a dashed line stands, in bins.
    """

    title: str
    summary: str
    column: str
    kinds: tuple[str, str]
    bins: Sequence[tuple[str, int, int]]
    ticks: Sequence[str]
    threshold: float | None = None

    @property
    def top(self) -> int:
        """The end of the vertical axis: even, so that half of it can be labelled."""
        most = max(one + other for _, one, other in self.bins)
        return max(2, most + most % 2)


def histograms(subject: Subject) -> Iterator[Histogram]:
    """Those for which there is something to draw."""
    kept = sum(map(Counter, subject.times.values()), Counter[int]())
    dropped = Counter(int(drop.created) for drop in subject.drops)
    if seconds := {*kept, *dropped}:
        first, last = min(seconds), max(*seconds, min(seconds) + 1)
        edges = np.linspace(first, last, min(60, last - first + 1) + 1)
        labels = [format_time(edge) for edge in edges.tolist()]
        is_one_day = labels[0][:10] == labels[-1][:10]
        middle = format_time((first + last) / 2)
        yield Histogram(
            "New and repeated over time",
            f"{kept.total():,} new and {dropped.total():,} repeated items from {labels[0]} to "
            f"{labels[-1]} UTC",
            "from (UTC)",
            ("new", "repeated"),
            _binned(edges, labels, kept, dropped),
            [label[11:] if is_one_day else label[:16] for label in (labels[0], middle, labels[-1])],
        )
    if any(subject.nearest.values()) or any(
        (drop.similarity or 0.0) < 1 for drop in subject.duplicates
    ):
        yield _similarities(subject)


def _similarities(subject: Subject) -> Histogram:
    """Without the equal texts, beside which all others would be too small to see."""
    found = Counter((drop.similarity or 0.0) + _ROUNDING for drop in subject.duplicates)
    equal = sum(count for similarity, count in found.items() if similarity >= 1)
    nearest = Counter[float]()
    for counts in subject.nearest.values():
        for distance, count in counts.items():
            near = similarity_at(distance, subject.namespace.bits)
            nearest[min(1, near + _ROUNDING)] += count
    edges = np.linspace(_LEAST, 1, round((1 - _LEAST) / _WIDTH) + 1)
    below = Counter({similarity: count for similarity, count in found.items() if similarity < 1})
    return Histogram(
        "Similarity to the nearest item",
        f"The dashed line is the threshold, {subject.threshold:.2g}. Not drawn: {equal:,} of "
        f"{found.total():,} {plural(found.total(), 'duplicate')}, with the text of their original",
        "similarity from",
        ("kept, estimated", "dropped"),
        _binned(edges, [f"{edge:.2f}" for edge in edges.tolist()], nearest, below),
        [f"{0.5 + tick / 10:.1f}" for tick in range(6)],
        max(0.0, (subject.threshold - _LEAST) / _WIDTH),
    )


def _binned(
    edges: NDArray[np.float64], labels: Sequence[str], *counts: Mapping[Any, int]
) -> list[tuple[str, int, int]]:
    """How many of both kinds are in each bin."""
    one, other = (
        np.histogram([*counted], edges, weights=[*counted.values()])[0].astype(int).tolist()
        for counted in counts
    )
    return list(zip(labels[:-1], one, other, strict=True))


def shares(counted: Counter[str]) -> list[tuple[str, int, str]]:
    """The most common names, their counts, and their shares of all."""
    total = max(1, counted.total())
    return [
        (shortened(name, 120), count, f"{count / total:.1%}")
        for name, count in counted.most_common(TOP)
    ]


_NUMBER = re.compile(r"\d+")
_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8,}(-[0-9a-fA-F]{4,})*")


@lru_cache(maxsize=1 << 17)
def url_pattern(url: str) -> str:
    """What URLs of one kind share: site, path without numbers, names of the query."""
    try:
        parts = split_url(url)
    except ValueError:
        return "(not a URL)"
    segments = [_segment(segment) for segment in parts.path[:1000].split("/")[:8]]
    names = sorted({name for name, _ in parse_qsl(parts.query[:1000], keep_blank_values=True)})
    query = f"?{'&'.join(names)}" if names else ""
    return f"{site(url)}{'/'.join(segments)}{query}"


def _segment(segment: str) -> str:
    if _IDENTIFIER.fullmatch(segment) and any(map(str.isdigit, segment)):
        return "{id}"
    if len(segment) > 24:
        return "{slug}"
    return _NUMBER.sub("{number}", segment)
