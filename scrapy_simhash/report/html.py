"""The HTML report: one file that opens offline, asks nothing of anybody, and hides nothing.

Every chart is drawn here, by Vega-Lite, as inline SVG. The drops and the texts are in the file as
compressed JSON, which its script unpacks on demand and shows as text only. A
Content-Security-Policy allows that one script and that one style sheet, by their hashes, and
nothing else.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scrapy_simhash.history import drops as history
from scrapy_simhash.history.drops import SAME
from scrapy_simhash.item.sites import same_site, site
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.visible import shortened, visible
from scrapy_simhash.simhash.measure import limits, similarity_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.drops import Drop, Namespace, RunRow

__all__ = ["write_report"]

#: Bounds of what is in one file: rows of the table, differences, and bytes of these.
MOST_ROWS, MOST_DIFFERENCES, MOST_BYTES = 50_000, 5_000, 8_000_000

# Differences that are unpacked together.
_BLOCK = 40

_TOP = 15
_WIDE, _NARROW = 560, 300
_SIMILARITIES = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def write_report(
    database: Database,
    path: str | Path,
    *,
    run: int | None = None,
    namespace: str | None = None,
    limit: int | None = None,
) -> None:
    """Write the report.

    Args:
        database: what it is about.
        path: of the file; one that is there is replaced once the new one is complete.
        run: the run it is about; all of them otherwise.
        namespace: which one; may be left out where there is one only.
        limit: the distance up to which documents are near-duplicates; otherwise the largest one of
            a drop, or what a similarity of 0.9 means if nothing was dropped.

    Raises:
        LookupError: there is no such namespace or run.
        OSError: the file can't be written.
        IndexUnavailable: the database did not answer in time.
    """
    chosen = history.choose_namespace(database, namespace)
    runs = history.runs(database, chosen)
    if run is not None:
        runs = [row for row in runs if row.id == run]
        if not runs:
            raise LookupError(f"the namespace {chosen.name!r} has nothing of a run {run}")
    drops = history.drops(database, chosen, run, limit=MOST_ROWS)
    if limit is None:
        limit = max((drop.distance for drop in drops), default=limits(0.9)[1])
    counts = history.count_drops(database, chosen, run)
    page = _render(_Report(database, chosen, run, runs, drops, counts, limit))
    target = Path(path)
    beside = target.with_name(f"{target.name}.new")
    beside.write_text(page, encoding="utf-8", newline="\n")
    beside.replace(target)


class _Report(NamedTuple):
    """What a report is about."""

    database: Database
    namespace: Namespace
    run: int | None
    runs: Sequence[RunRow]
    drops: Sequence[Drop]
    counts: Mapping[str, int]
    limit: int

    @property
    def duplicates(self) -> list[Drop]:
        """The drops that are another page's near-duplicates, not their own unchanged selves."""
        return [drop for drop in self.drops if drop.action != SAME]


class _Chart(NamedTuple):
    """A chart with what it says in words and as a table."""

    title: str
    summary: str
    wide: Markup
    narrow: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def _render(report: _Report) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["time"] = _time
    environment.filters["shortened"] = shortened
    style, script = _template("report.css"), _template("report.js")
    blocks, explained = _differences(report)
    rows, originals = _rows(report, explained)
    nearest = history.nearest_kept(report.database, report.namespace, report.run)
    stats = _added([row.stats for row in report.runs])
    return environment.from_string(_template("report.html")).render(
        policy=_policy(style, script),
        # Both are ours, and neither has a closing tag in it.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        namespace=report.namespace,
        database=str(report.database),
        limit=report.limit,
        similarity=_similarity(report.limit, report.namespace.bits),
        run=report.runs[0] if report.run is not None else None,
        runs=report.runs,
        written=datetime.now(UTC).timestamp(),
        figures=_figures(report, stats),
        skipped=_skipped(stats),
        charts=_charts(report, nearest, stats),
        others=_other_thresholds(report, nearest),
        patterns=_shares(Counter(_pattern(drop.url) for drop in report.duplicates)),
        groups=_groups(report),
        total=sum(report.counts.values()),
        shown=len(report.drops),
        explained=len(explained),
        without=len(report.drops) - len(explained),
        rows=_packed(
            {
                "rows": rows,
                "originals": originals,
                "bits": report.namespace.bits,
                "block": _BLOCK,
            }
        ),
        blocks=blocks,
        longest=LONGEST,
    )


def _policy(style: str, script: str) -> str:
    def hashed(content: str) -> str:
        digest = base64.b64encode(sha256(content.encode()).digest()).decode()
        return f"'sha256-{digest}'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


# Figures


def _added(stats: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The stats of several runs in one."""
    total: dict[str, float] = {}
    for one in stats:
        for name, value in one.items():
            if isinstance(value, (int, float)):
                short = name.removeprefix("simhash/")
                total[short] = total.get(short, 0) + value
    return total


def _figures(report: _Report, stats: Mapping[str, float]) -> list[tuple[str, str, str]]:
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


def _skipped(stats: Mapping[str, float]) -> list[tuple[str, int]]:
    return [
        (name.removeprefix("skipped/").replace("_", " "), int(value))
        for name, value in sorted(stats.items())
        if name.startswith("skipped/")
    ]


def _other_thresholds(
    report: _Report, nearest: Mapping[int, int]
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


def _groups(report: _Report) -> list[tuple[str, str | None, int]]:
    """The original's URL as it is searched for and as a link, and how many duplicates it has."""
    return [
        (shortened(url or f"claim {claim}, gone", 500), _link(url), count)
        for claim, count, url in history.largest_groups(
            report.database, report.namespace, report.run
        )
    ]


def _shares(counted: Counter[str]) -> list[tuple[str, int, str]]:
    total = max(1, counted.total())
    return [(name, count, f"{count / total:.1%}") for name, count in counted.most_common(_TOP)]


# The table and its differences


def _rows(report: _Report, explained: Mapping[int, int]) -> tuple[list[list[Any]], list[list[Any]]]:
    """The rows of the table, each with the place of its original in a list of these."""
    originals: dict[int, int] = {}
    listed: list[list[Any]] = []
    rows: list[list[Any]] = []
    for drop in report.drops:
        place = originals.setdefault(drop.claim, len(originals))
        if place == len(listed):
            seen = None if drop.first_seen is None else int(drop.first_seen)
            listed.append([shortened(drop.original or f"claim {drop.claim}, gone", 500), seen])
        rows.append(
            [
                shortened(drop.url or drop.key, 500),
                place,
                drop.distance,
                int(drop.created),
                drop.action + (", orphan" if drop.orphaned else ""),
                drop.run,
                explained.get(drop.id, -1),
            ]
        )
    return rows, listed


def _differences(report: _Report) -> tuple[list[str], dict[int, int]]:
    """The differences, packed in blocks, and which drop has which number.

    The drops that are farthest from their original come first: they are what to look at.
    """
    ordered = iter(sorted(report.drops, key=lambda drop: (-drop.distance, drop.claim)))
    blocks: list[str] = []
    explained: dict[int, int] = {}
    left = MOST_BYTES
    while left > 0 and len(explained) < MOST_DIFFERENCES:
        part = list(islice(ordered, _BLOCK))
        if not part:
            break
        wanted = [(drop.claim, number) for drop in part for number in (0, drop.id)]
        kept = history.texts(report.database, report.namespace, wanted)
        originals: dict[str, str] = {}
        changes: dict[int, Any] = {}
        for drop in part:
            first, second = kept.get((drop.claim, 0)), kept.get((drop.claim, drop.id))
            if first is None or second is None:
                continue
            first, second = (visible(one[:LONGEST])[:LONGEST] for one in (first, second))
            originals[str(drop.claim)] = first
            number = len(blocks) * _BLOCK + len(changes)
            changes[number] = [str(drop.claim), difference(first, second)]
            explained[drop.id] = number
        if changes:
            blocks.append(_packed({"originals": originals, "changes": changes}))
            left -= len(blocks[-1])
    return blocks, explained


def _packed(value: Any) -> str:
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()


def _link(url: str | None) -> str | None:
    """A URL that is safe to follow, and leads where it says."""
    if url and url.lower().startswith(("http://", "https://")) and shortened(url, 500) == url:
        return url
    return None


# Charts


def _charts(
    report: _Report, nearest: Mapping[int, int], stats: Mapping[str, float]
) -> dict[str, _Chart]:
    charts = {"distances": _distances(report, nearest)}
    kept = history.kept_times(report.database, report.namespace, report.run)
    dropped = np.array([drop.created for drop in report.duplicates])
    if len(kept) + len(dropped):
        charts["time"] = _over_time(kept, dropped)
    if report.duplicates:
        sites = Counter(site(drop.url) or "(no site)" for drop in report.duplicates)
        charts["sites"] = _bars(
            "Near-duplicates by site",
            "site",
            [(shortened(name, 60), count) for name, count in sites.most_common(_TOP)],
            rest=sites.total() - sum(count for _, count in sites.most_common(_TOP)),
        )
    if stats.get("checked"):
        charts["cost"] = _cost(stats)
    return charts


def _over_time(kept: NDArray[np.float64], dropped: NDArray[np.float64]) -> _Chart:
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
        (_time(start), one, other)
        for start, one, other in zip(
            edges[:-1].tolist(), counts["kept"], counts["near-duplicates"], strict=True
        )
    ]
    return _Chart(
        "Kept and dropped over time",
        f"{len(kept):,} kept and {len(dropped):,} near-duplicates from {_time(first)} to "
        f"{_time(last)} UTC",
        wide,
        narrow,
        ("from (UTC)", "kept", "near-duplicates"),
        rows,
    )


def _distances(report: _Report, nearest: Mapping[int, int]) -> _Chart:
    dropped = Counter(drop.distance for drop in report.duplicates)
    # Beyond twice the threshold lies nothing that it could be set to.
    far = max(2 * report.limit + 2, 8)
    kept = {distance: count for distance, count in nearest.items() if distance <= far}
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
        "transform": [{"filter": f"datum.distance == {report.limit} && datum.kind == 'kept'"}],
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
    return _Chart(
        "Distance to the nearest page",
        f"Near-duplicates are up to {report.limit} bits apart (dashed line); {words}",
        wide,
        narrow,
        ("distance in bits", "similarity about", "near-duplicates", "kept, at least"),
        [
            (
                distance,
                f"{similarity_at(distance, report.namespace.bits):.2f}",
                dropped.get(distance, 0),
                kept.get(distance, 0),
            )
            for distance in range(far + 1)
            if dropped.get(distance) or kept.get(distance)
        ],
    )


def _bars(title: str, name: str, counted: Sequence[tuple[str, int]], rest: int) -> _Chart:
    rows = [*counted, *([("all others", rest)] if rest else [])]
    wide, narrow = _drawn(
        {
            "data": {"values": [{"name": one, "count": count} for one, count in rows]},
            "mark": {"type": "bar", "color": "var(--dropped)"},
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
                    "axis": {"title": "near-duplicates", "tickCount": 5, "tickMinStep": 1},
                },
            },
        },
        24 * len(rows),
    )
    top, count = rows[0]
    return _Chart(
        title, f"{top} has the most, {count:,}", wide, narrow, (name, "near-duplicates"), rows
    )


def _cost(stats: Mapping[str, float]) -> _Chart:
    checked = max(1.0, stats["checked"])
    parts = [
        (name, 1000 * stats.get(key, 0.0) / checked)
        for name, key in (
            ("text", "text_seconds"),
            ("fingerprint", "fingerprint_seconds"),
            ("index", "index/seconds"),
        )
    ]
    wide, narrow = _drawn(
        {
            "data": {"values": [{"name": name, "count": value} for name, value in parts]},
            "mark": {"type": "bar", "color": "var(--kept)"},
            "encoding": {
                "y": {"field": "name", "type": "nominal", "sort": None, "axis": {"title": None}},
                "x": {
                    "field": "count",
                    "type": "quantitative",
                    "axis": {"title": "ms per page", "tickCount": 5},
                },
            },
        },
        90,
    )
    return _Chart(
        "Time spent per page",
        f"{sum(value for _, value in parts):.2f} ms per page in all; the index works in a thread "
        "of its own",
        wide,
        narrow,
        ("part", "ms per page"),
        [(name, f"{value:.3f}") for name, value in parts],
    )


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


# Words


_NUMBER = re.compile(r"\d+")
_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8,}(-[0-9a-fA-F]{4,})*")


def _pattern(url: str) -> str:
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


def _similarity(distance: int, bits: int) -> str:
    """The similarity that was set, if a usual one means this distance; else what it is about."""
    if bits == 128:
        for percent in range(70, 101):
            if limits(percent / 100)[1] == distance and percent % 5 == 0:
                return f"{percent / 100:g}"
    return f"about {similarity_at(distance, bits):.2f}"


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


@cache
def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
