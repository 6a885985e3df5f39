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
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from scrapy_simhash.report.subject import Subject

__all__ = ["Chart", "draw_charts"]

_WIDE, _NARROW = 560, 300


class Chart(NamedTuple):
    """A chart with what it says in words and as a table."""

    title: str
    summary: str
    wide: Markup
    narrow: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


_COLORS = {
    "field": "kind",
    "type": "nominal",
    "scale": {
        "domain": ["kept", "near-duplicates"],
        "range": ["var(--kept)", "var(--dropped)"],
    },
    "legend": {"title": None, "orient": "top"},
}
_PAGES = {"title": "pages", "tickMinStep": 1, "tickCount": 5}
_WHOLE = {"title": "distance in bits", "labelAngle": 0, "labelOverlap": True, "grid": False}

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


def draw_charts(subject: Subject) -> dict[str, Chart]:
    """All charts, by their names in the template."""
    charts = {"distances": _distances(subject)}
    kept = history.kept_times(subject.database, subject.namespace, subject.run)
    dropped = np.array([drop.created for drop in subject.duplicates])
    if len(kept) + len(dropped):
        charts["time"] = _over_time(kept, dropped)
    if subject.duplicates:
        sites = Counter(site(drop.url) or "(no site)" for drop in subject.duplicates)
        charts["sites"] = _by_site(sites)
    if subject.stats.get("checked"):
        charts["cost"] = _cost(subject.stats)
    return charts


def _over_time(kept: NDArray[np.float64], dropped: NDArray[np.float64]) -> Chart:
    times = np.concatenate([kept, dropped])
    first, last = times.min(), max(times.max(), times.min() + 1)
    edges = np.linspace(first, last, min(60, int(last - first) + 1) + 1)
    counts = {
        "kept": np.histogram(kept, edges)[0].tolist(),
        "near-duplicates": np.histogram(dropped, edges)[0].tolist(),
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
                "y": {"field": "count", "type": "quantitative", "axis": _PAGES},
                "color": _COLORS,
            },
        },
        200,
    )
    rows = [
        (format_time(start), one, other)
        for start, one, other in zip(
            edges[:-1].tolist(), counts["kept"], counts["near-duplicates"], strict=True
        )
    ]
    return Chart(
        "Kept and dropped over time",
        f"{len(kept):,} kept and {len(dropped):,} near-duplicates from {format_time(first)} to "
        f"{format_time(last)} UTC",
        wide,
        narrow,
        ("from (UTC)", "kept", "near-duplicates"),
        rows,
    )


def _distances(subject: Subject) -> Chart:
    dropped = Counter(drop.distance for drop in subject.duplicates)
    # Beyond twice the threshold lies nothing that it could be set to.
    far = max(2 * subject.limit + 2, 8)
    kept = {distance: count for distance, count in subject.nearest.items() if distance <= far}
    values = [
        {"distance": distance, "kind": kind, "count": counted.get(distance, 0)}
        for kind, counted in (("near-duplicates", dropped), ("kept", kept))
        for distance in range(far + 1)
    ]
    bars = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "distance", "type": "ordinal", "axis": _WHOLE},
            "y": {"field": "count", "type": "quantitative", "axis": _PAGES},
            "color": _COLORS,
        },
    }
    threshold = {
        "transform": [{"filter": f"datum.distance == {subject.limit} && datum.kind == 'kept'"}],
        "mark": {"type": "rule", "color": "var(--ink)", "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {
            "x": {"field": "distance", "type": "ordinal", "bandPosition": 1.05},
        },
    }
    wide, narrow = _drawn({"data": {"values": values}, "layer": [bars, threshold]}, 200)
    closest = min(kept, default=None)
    words = (
        "no page that was kept had another one near"
        if closest is None
        else f"the nearest pair that was kept is {closest} bits apart"
    )
    return Chart(
        "Distance to the nearest page",
        f"Near-duplicates are up to {subject.limit} bits apart (dashed line); {words}",
        wide,
        narrow,
        ("distance in bits", "similarity about", "near-duplicates", "kept, at least"),
        [
            (
                distance,
                f"{similarity_at(distance, subject.namespace.bits):.2f}",
                dropped.get(distance, 0),
                kept.get(distance, 0),
            )
            for distance in range(far + 1)
            if dropped.get(distance) or kept.get(distance)
        ],
    )


def _by_site(sites: Counter[str]) -> Chart:
    rows = [(shortened(name, 60), count) for name, count in sites.most_common(TOP)]
    if rest := sites.total() - sum(count for _, count in rows):
        rows.append(("all others", rest))
    axis = {"title": "near-duplicates", "tickMinStep": 1}
    wide, narrow = _bars(rows, axis, "var(--dropped)", 24 * len(rows))
    top, count = rows[0]
    return Chart(
        "Near-duplicates by site",
        f"{top} has the most, {count:,}",
        wide,
        narrow,
        ("site", "near-duplicates"),
        rows,
    )


def _cost(stats: Mapping[str, float]) -> Chart:
    checked = max(1.0, stats["checked"])
    parts = [
        (name, 1000 * stats.get(key, 0.0) / checked)
        for name, key in (
            ("text", "text_seconds"),
            ("fingerprint", "fingerprint_seconds"),
            ("index", "index/seconds"),
        )
    ]
    wide, narrow = _bars(parts, {"title": "ms per page"}, "var(--kept)", 90)
    return Chart(
        "Time spent per page",
        f"{sum(value for _, value in parts):.2f} ms per page in all; the index works in a thread "
        "of its own",
        wide,
        narrow,
        ("part", "ms per page"),
        [(name, f"{value:.3f}") for name, value in parts],
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
