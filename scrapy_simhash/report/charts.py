"""The charts of a report, drawn by Vega-Lite."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import vl_convert
from markupsafe import Markup

from scrapy_simhash import history
from scrapy_simhash.item.sites import site
from scrapy_simhash.report.figures import TOP
from scrapy_simhash.report.times import format_time
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.report.subject import Subject

__all__ = ["Chart", "draw_charts"]

_WIDE, _NARROW = 560, 300

# The similarities that are drawn begin here, and so many bins make 1.
_LEAST, _BINS = 0.5, 100


class Chart(NamedTuple):
    """A chart with what it says in words and as a table."""

    title: str
    summary: str
    wide: Markup
    narrow: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


_ITEMS = {"title": "items", "tickMinStep": 1, "tickCount": 5}

# The colours are those of the page, so that they change with it.
_CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--ink)",
        "gridColor": "var(--line)",
        "domainColor": "var(--muted)",
        "tickColor": "var(--muted)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelSeparation": 8,
    },
    "legend": {"labelColor": "var(--ink)", "labelFontSize": 13},
}


def _colors(kept: str, dropped: str) -> dict[str, Any]:
    scale = {"domain": [kept, dropped], "range": ["var(--kept)", "var(--dropped)"]}
    legend = {"title": None, "orient": "top"}
    return {"field": "kind", "type": "nominal", "scale": scale, "legend": legend}


def draw_charts(subject: Subject) -> dict[str, Chart]:
    """All charts, by their names in the template."""
    charts = {}
    kept = history.kept_times(subject.database, subject.namespace, subject.run)
    dropped = np.array([drop.created for drop in subject.drops])
    if len(kept) + len(dropped):
        charts["time"] = _over_time(kept, dropped)
    if subject.nearest or any(drop.similarity < 1 for drop in subject.duplicates):
        charts["similarities"] = _similarities(subject)
    if subject.duplicates:
        sites = Counter(site(drop.url) or "(no site)" for drop in subject.duplicates)
        charts["sites"] = _by_site(sites)
    return charts


def _over_time(kept: NDArray[np.float64], dropped: NDArray[np.float64]) -> Chart:
    times = np.concatenate([kept, dropped])
    first, last = times.min(), max(times.max(), times.min() + 1)
    edges = np.linspace(first, last, min(60, int(last - first) + 1) + 1)
    counts = {
        "new": np.histogram(kept, edges)[0].tolist(),
        "repeated": np.histogram(dropped, edges)[0].tolist(),
    }
    values = [
        {"from": start * 1000, "to": end * 1000, "kind": kind, "count": count}
        for kind, counted in counts.items()
        for start, end, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counted, strict=True)
    ]
    wide, narrow = _drawn(
        {
            "data": {"values": values},
            "mark": {"type": "bar", "binSpacing": 0},
            "encoding": {
                "x": {
                    "field": "from",
                    "type": "temporal",
                    "bin": "binned",
                    "scale": {"type": "utc"},
                    "axis": {"title": "time (UTC)", "grid": False, "labelOverlap": True},
                },
                "x2": {"field": "to"},
                "y": {"field": "count", "type": "quantitative", "axis": _ITEMS},
                "color": _colors("new", "repeated"),
            },
        },
        200,
    )
    rows = [
        (format_time(start), one, other)
        for start, one, other in zip(
            edges[:-1].tolist(), counts["new"], counts["repeated"], strict=True
        )
    ]
    return Chart(
        "New and repeated over time",
        f"{len(kept):,} new and {len(dropped):,} repeated from {format_time(first)} to "
        f"{format_time(last)} UTC",
        wide,
        narrow,
        ("from (UTC)", "new", "repeated"),
        rows,
    )


def _similarities(subject: Subject) -> Chart:
    """How near things were: those that are equal would hide all the others."""
    bits, width = subject.namespace.bits, 1 / _BINS
    # Sums of fractions: what is just at the edge of a bin may fall short by rounding.
    found = np.array([drop.similarity for drop in subject.duplicates]) + 1e-9
    equal = int((found >= 1).sum())
    known = {distance: similarity_at(distance, bits) for distance in subject.nearest}
    edges = np.linspace(_LEAST, 1, round((1 - _LEAST) * _BINS) + 1)
    counts = {
        "kept": np.histogram(
            [min(1.0, known[distance] + 1e-9) for distance in known],
            edges,
            weights=[subject.nearest[distance] for distance in known],
        )[0].astype(int),
        "left out": np.histogram(found[found < 1], edges)[0],
    }
    values = [
        {"from": start, "to": start + width, "kind": kind, "count": count}
        for kind, counted in counts.items()
        for start, count in zip(edges[:-1].tolist(), counted.tolist(), strict=True)
    ]
    least = subject.similarity
    if least is None:
        least = similarity_at(subject.limit, bits)
    axis = {"title": "similarity", "format": ".2f", "grid": False, "labelOverlap": True}
    bars = {
        "mark": {"type": "bar", "binSpacing": 0},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "bin": "binned",
                "scale": {"domain": [_LEAST, 1]},
                "axis": axis,
            },
            "x2": {"field": "to"},
            "y": {"field": "count", "type": "quantitative", "axis": _ITEMS},
            "color": _colors("kept", "left out"),
        },
    }
    threshold = {
        "data": {"values": [{"least": max(_LEAST, least)}]},
        "mark": {"type": "rule", "color": "var(--ink)", "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": {"field": "least", "type": "quantitative"}},
    }
    wide, narrow = _drawn({"data": {"values": values}, "layer": [bars, threshold]}, 200)
    return Chart(
        "How similar they were",
        f"From a similarity of {least:.2g} on (dashed line) things are near. Copies with the very "
        f"text of what is stored are not drawn here: {equal:,} of {len(found):,}",
        wide,
        narrow,
        ("similarity from", "kept, about and at least", "left out"),
        [
            (f"{start:.2f}", *both)
            for start, *both in zip(
                edges[:-1].tolist(), *(counts[kind].tolist() for kind in counts), strict=True
            )
            if any(both)
        ],
    )


def _by_site(sites: Counter[str]) -> Chart:
    rows = [(shortened(name, 60), count) for name, count in sites.most_common(TOP)]
    axis = {"title": "copies", "tickMinStep": 1}
    wide, narrow = _bars(rows, axis, "var(--dropped)", 24 * len(rows))
    (top, count), others = rows[0], len(sites) - len(rows)
    rest = (
        f"; {sites.total() - sum(n for _, n in rows):,} from {others:,} {plural(others, 'other')}"
    )
    return Chart(
        "Sites that repeat",
        f"{top} has the most, {count:,} of {sites.total():,}{rest if others else ''}",
        wide,
        narrow,
        ("site", "copies"),
        rows,
    )


def _bars(
    rows: Sequence[tuple[str, float]], axis: Mapping[str, Any], color: str, height: int
) -> tuple[Markup, Markup]:
    """Named bars, one below the other."""
    return _drawn(
        {
            "data": {"values": [{"name": name, "count": count} for name, count in rows]},
            "mark": {"type": "bar", "color": color},
            "encoding": {
                "y": {
                    "field": "name",
                    "type": "nominal",
                    "sort": None,
                    "axis": {"title": None, "labelLimit": 150},
                },
                "x": {
                    "field": "count",
                    "type": "quantitative",
                    "axis": {"tickCount": 5, **axis},
                },
            },
        },
        height,
    )


def _drawn(chart: Mapping[str, Any], height: int) -> tuple[Markup, Markup]:
    """A chart for a wide screen, and one for a phone."""
    drawn = []
    for width in (_WIDE, _NARROW):
        svg = vl_convert.vegalite_to_svg(
            {
                "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
                "config": _CONFIG,
                "width": width,
                # Letters of the browser may be wider than those that it is laid out for.
                "padding": {"left": 16, "top": 5, "right": 5, "bottom": 5},
                "autosize": {"type": "fit-x", "contains": "padding"},
                "height": height,
                **chart,
            },
            # What a chart shows is in it.
            allowed_base_urls=[],
        )
        # Vega escapes the texts in it.
        drawn.append(Markup(svg))  # noqa: S704
    return drawn[0], drawn[1]
